"""One module for each of our own parsers; see `tests/fuzz/__main__.py`."""
