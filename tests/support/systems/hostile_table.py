"""What hostile files cost a real installation, a line each:
`PYTHONPATH=tests/support/samples:packages/readers/tests/support python tests/support/systems/hostile_table.py [row …]`.

Not a test: it takes minutes. The tests of the same bounds are integration/worker/test_worker_budgets.py and
acceptance/test_killer.py.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import installation
from hostile import announcing_zip, data_uris, zipped_again
from installation import Bench
from unpacking import make_zip

installation.COMMAND_SECONDS = 7_200.0  # on a slow machine the largest row takes longer than a test may
SUPPORT = Path(__file__).resolve().parents[1]


def _fonts(fonts: int) -> bytes:
    table = b"".join(b"{\\f%d\\fnil F%d;}" % (n, n) for n in range(fonts))
    return b"{\\rtf1{\\fonttbl" + table + b"}" + b"x" * 100 + b"}"


def _ranges() -> bytes:
    zipped = announcing_zip(4_000, 64_000_000, shared=False, padding=70_000_000)
    return gzip.compress(zipped.replace(bytes(720_000), random.Random(1).randbytes(720_000), 1), 9, mtime=0)


ROWS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "uris": ("page.html.gz.gz", lambda: zipped_again(data_uris(150_000))),
    "more-uris": ("page.html.gz.gz", lambda: zipped_again(data_uris(600_000))),
    "rtf": ("rtfs.zip", lambda: make_zip({f"{n}.rtf": _fonts(60_000 + n) for n in range(10)})),
    "hangs": ("hangs.zip", lambda: make_zip({f"{n}.bin": b"KILLER hang" for n in range(10)})),
    "killers": ("killers.zip", lambda: make_zip({f"{n}.bin": b"KILLER children" for n in range(300)})),
    "text-killers": ("killers.zip", lambda: make_zip({f"{n}.bin": b"KILLER text" for n in range(300)})),
    "ranges": ("big.zip.gz", _ranges),
}


def _run(row: str) -> str:
    name, make = ROWS[row]
    home = Path(tempfile.mkdtemp(prefix="edbench hostile "))
    home.chmod(0o711)
    try:
        source = home / "source" / "ann"
        source.mkdir(parents=True)
        data = make()
        (source / name).write_bytes(data)
        for n in range(5):
            (source / f"innocent {n}.txt").write_text(f"innocent {n}")
        bench = Bench(home=home, corpus=home / "source")
        bench.env |= {
            "PYTHONPATH": os.pathsep.join((str(SUPPORT / "plugins"), str(SUPPORT.parents[1]))),
            "EDBENCH_PLUGINS": "killer_plugin",
            "EDBENCH_SLOT_MEMORY_MB": "256",
        }
        begun = time.monotonic()
        done = bench.edbench("discover", str(home / "source"), "--workers", "1", "--slots", "2", check=None)
        took = time.monotonic() - begun
        logs = "".join(p.read_text(errors="replace") for p in (bench.scratch / "logs").glob("*.log"))
        deaths = logs.count(") ended with ") - logs.count("ended with exit status 0")
        shown = bench.edbench("job", "show", "last", check=None).stdout
        checked = bench.edbench("verify", "last", "--internal", check=None).returncode
        return (
            f"{row} ({len(data)} bytes): rc {done.returncode}, {took:.0f} s, {deaths} slot deaths,"
            f" verify --internal {checked}\n{shown}\n{done.stderr[-600:] if done.returncode else ''}"
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)


for chosen in sys.argv[1:] or ROWS:
    print(_run(chosen), flush=True)
