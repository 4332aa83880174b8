"""An installation of one test's own, driven by the `edbench` command."""

from installation import attached, bench

__all__ = ["attached", "bench"]
