"""Graphs: read from files or memory, cleaned once, kept as immutable arrays."""
