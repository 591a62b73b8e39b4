"""`python -m studies.claims`: write docs/reproduce/claims.md again."""

from studies.claims.page import write

print(f"written: {write()}")
