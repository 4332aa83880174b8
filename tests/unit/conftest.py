"""Samples are written with the same bytes at every run."""

import steady_samples  # noqa: F401
