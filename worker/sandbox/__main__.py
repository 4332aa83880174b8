"""`python -m worker.sandbox`: see `worker.sandbox.main`."""

from __future__ import annotations

from core.program import begin

if __name__ == "__main__":
    begin("worker.sandbox.main")
