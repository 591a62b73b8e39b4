"""The study of gamma for language models: a small real model, real questions, the rivals beside."""
