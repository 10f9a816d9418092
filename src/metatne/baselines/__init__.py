"""The paper's other methods, and controls that it lacks: each a file, each behind one contract."""
