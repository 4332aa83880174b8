"""`make bench`: every speed and memory figure, measured on this machine. Nothing here is a test."""
