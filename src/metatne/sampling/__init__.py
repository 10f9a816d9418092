"""What a training step looks at: node pairs, label splits and tasks."""
