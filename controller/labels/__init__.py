"""Labels that stand before figures: when each is given, what to do about it, and what of a job tells."""
