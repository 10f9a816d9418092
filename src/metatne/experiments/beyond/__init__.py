"""Studies beyond the paper: what the default owes to its parts, and what it can do besides."""
