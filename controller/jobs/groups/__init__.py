"""Groups: one job over several databases."""
