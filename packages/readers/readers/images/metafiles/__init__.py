"""Metafiles of Windows: what they write."""
