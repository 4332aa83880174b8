"""Labels that precede figures: when each is given, what to do about it, and the data of a job that decide it."""
