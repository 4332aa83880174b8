"""The HTTP API, version 1, under /api/v1."""
