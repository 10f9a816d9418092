"""Learning a network from a graph and its known labels."""
