"""The paper's tables and figures, each a study that a command reproduces."""
