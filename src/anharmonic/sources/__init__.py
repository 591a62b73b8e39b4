"""Data that may be larger than memory: files, folders, globs and object stores, read in batches."""

from anharmonic.sources.dataset import Dataset
from anharmonic.sources.rows import Aside, Rows, Shard
from anharmonic.sources.source import Source, files

__all__ = ["Aside", "Dataset", "Rows", "Shard", "Source", "files"]
