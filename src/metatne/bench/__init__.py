"""Measurements of speed and memory, each against what it is to be compared with."""
