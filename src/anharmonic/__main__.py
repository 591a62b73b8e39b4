"""`python -m anharmonic` is `anharmonic`."""

from anharmonic.cli import main

if __name__ == "__main__":
    main()
