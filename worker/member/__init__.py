"""A worker as a member of the crew: its agent at the broker, and what it counts for a run."""
