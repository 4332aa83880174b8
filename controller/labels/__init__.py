"""Labels that precede figures: when each is given, what to do about it, and what of a job decides it."""
