"""Using a trained network on a novel label."""
