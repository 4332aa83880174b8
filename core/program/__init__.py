"""A process of ours: how it begins, how it is asked to stop, and how it ends."""
