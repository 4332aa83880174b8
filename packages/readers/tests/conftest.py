"""Samples are written with the same bytes at every run."""

from __future__ import annotations

import steady_samples  # noqa: F401
