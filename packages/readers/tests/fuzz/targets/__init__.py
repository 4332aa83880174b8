"""One module for each of our own parsers; see `fuzz/__main__.py`."""
