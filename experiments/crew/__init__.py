"""The crew as experiments use it: its members are looked at, leased for a run with databases of its own, and given back."""
