"""The emulated filer, as jobs use it."""
