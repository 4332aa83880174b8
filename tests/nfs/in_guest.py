"""Inside the guest: a discovery job on the NFS mount, between two readings of the client's and the server's counters.

Run by `tests/nfs` as `in_guest.py WORK NAME`: the corpus is WORK/corpus, and WORK/NAME/ gets what was seen."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FILER = Path("/run/filer")
SCRATCH = Path("/var/tmp/edbench")  # the guest's own memory
MOUNTSTATS, NFSD = Path("/proc/self/mountstats"), Path("/proc/net/rpc/nfsd")


def drop_caches() -> None:
    """What was written goes out, and nothing that was read stays."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def read_counters(place: Path) -> None:
    """Client's and server's counters into `place`."""
    place.mkdir(parents=True)
    for source in (MOUNTSTATS, NFSD):
        (place / source.name).write_bytes(source.read_bytes())


def edbench(out: Path, *arguments: str) -> int:
    """One command with its storage on the filer; what it printed goes into a file, its exit status comes back."""
    env = os.environ | {
        "EDBENCH_STORAGE": str(FILER / "storage"),
        "EDBENCH_SCRATCH": str(SCRATCH),
        "MPLCONFIGDIR": "/var/tmp/matplotlib",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with (out / f"{arguments[0]}.txt").open("wb") as text:
        command = [sys.executable, "-m", "cli", *arguments]
        return subprocess.run(command, env=env, stdout=text, stderr=subprocess.STDOUT, check=False).returncode


def main(work: Path, name: str) -> None:
    """Copy, forget, read the counters, discover, read them again, verify, show."""
    out = work / name
    shutil.copytree(work / "corpus", FILER / "corpus")
    drop_caches()
    read_counters(out / "before")
    corpus, result = str(FILER / "corpus"), str(out / "result.json")
    status = {
        "discover": edbench(
            out, "discover", corpus, "--workers", "1", "--slots", "2", "-o", "json", "--output-file", result
        )
    }
    read_counters(out / "after")
    status["verify"] = edbench(out, "verify", "last")
    status["job"] = edbench(out, "job", "show", "last")
    shutil.copytree(SCRATCH / "logs", out / "logs")
    (out / "status.json").write_text(json.dumps(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
