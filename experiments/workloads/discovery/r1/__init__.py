"""Report R1 on an emulated site: what its figures ask for, what ours say, and by which parameters."""
