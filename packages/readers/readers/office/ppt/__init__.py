"""PowerPoint before 2007."""
