"""One file an index engine, behind one interface."""
