"""The papers' tables and figures, the paper's figure beside the measured one."""
