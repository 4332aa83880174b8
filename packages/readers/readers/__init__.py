"""Readers of formats, by family: bytes in, children and text out.

`base.py` defines what a handler is, `registry.py` gathers the handlers."""
