"""`python -m controller.filer.watch`: watches the emulated filer of its environment until SIGTERM, then prints what its
stations did, as one line of JSON.

For commands that cannot see the arbiter themselves, because the workers share it inside containers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping

from controller.filer.emulated import watched_filer
from core.errors import EdbenchError, UsageError
from core.program.stopping import Stop
from core.settings import read_settings


def main(env: Mapping[str, str]) -> int:
    """Exit status: 0 after a signal, 2 for unusable settings, 1 for anything else."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with watched_filer(read_settings(env)) as watch:
            print("watching", flush=True)  # noqa: T201 — whoever started this waits for it
            stop.wait()
            print(json.dumps({"began": watch.began, **watch.figures()}), flush=True)  # noqa: T201
    except EdbenchError as error:
        sys.stderr.write(f"filer_watch: {error}\n")
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
