"""Compound files and the objects in them."""
