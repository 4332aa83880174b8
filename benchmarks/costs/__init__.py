"""What parts of the work cost: processor seconds with a part and without it, or of the part alone."""
