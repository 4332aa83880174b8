"""Excel before 2007."""
