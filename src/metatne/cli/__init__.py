"""The command line: thin layers over the library, one file a command group."""

from metatne.cli.app import app, main

__all__ = ["app", "main"]
