"""`python -m queue_manager`: see `queue_manager.main`."""

from __future__ import annotations

from core.program import begin

if __name__ == "__main__":
    begin("queue_manager.main")
