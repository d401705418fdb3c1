"""`python -m coven` is the command line."""

from coven.cli import main

main()
