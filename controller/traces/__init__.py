"""What can be done with a trace besides replaying it: look at it, export it, import one, merge several."""
