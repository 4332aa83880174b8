"""Jobs that write files out of other jobs' items."""
