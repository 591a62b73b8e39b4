"""`python -m studies wine`: a study measured again, in a checkout of the repository."""

from studies.command import main

main()
