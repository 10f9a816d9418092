"""Readers, one format a file; `read_graph` is their door."""
