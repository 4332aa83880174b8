"""Modules of the parsers that are not asked as a format's handler is; see `fuzz/__main__.py`."""
