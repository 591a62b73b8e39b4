"""Every claim of the papers, one line each."""
