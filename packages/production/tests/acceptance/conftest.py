"""An installation of one test's own, driven by the `edbench` command."""

from __future__ import annotations

from installation import attached, bench

__all__ = ["attached", "bench"]
