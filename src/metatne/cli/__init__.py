"""The command line: thin layers over the library."""
