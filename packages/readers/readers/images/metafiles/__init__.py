"""Metafiles of Windows: the text in them."""
