"""The crew as experiments use it: its members are checked, leased for a run with databases of its own, and returned."""
