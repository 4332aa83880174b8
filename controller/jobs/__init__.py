"""Jobs: their creation, control, progress and results."""
