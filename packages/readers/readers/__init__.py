"""Readers of formats, by family: bytes in, children and text out.

`base.py` says what a handler is, `registry.py` gathers them.
"""
