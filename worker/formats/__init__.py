"""One file a format family; `registry.py` gathers them, `base.py` says what a handler is."""
