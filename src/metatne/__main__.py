"""`python -m metatne`: the command line."""

from metatne.cli import main

main()
