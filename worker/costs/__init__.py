"""What items may cost, and what they did cost."""
