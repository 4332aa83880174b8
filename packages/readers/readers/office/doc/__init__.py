"""Word before 2007."""
