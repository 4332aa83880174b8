"""`make test-nfs`: a small discovery job on a real NFS mount; calls, wire ops and the server's counts held together.

The mount is in a software-emulated guest (`../shared/tools/nfs-lab`), ten to twenty times slower than this machine:
some ten minutes for each way to mount. Skips where there is no such tool; fails there when CI=true. Prints the table of
docs/dev/nfs-counts.md. Arguments: some of the names below, or none for all."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(REPOSITORY)]

from comparison import Row, compare  # noqa: E402
from counters import grown  # noqa: E402

LAB = REPOSITORY.parent / "shared/tools/nfs-lab"
MOUNTS = {
    "v3": ("--nfs", "3"),
    "v4.2": ("--nfs", "4.2"),
    "v4.2-nconnect4": ("--nfs", "4.2", "--nconnect", "4"),
}
EXPANSIONS = {"calls-v3": ("--nfs", "3"), "calls-v4.2": ("--nfs", "4.2")}  # each call by itself, not a job
# Tests of `make test-filers`, on this mount.
TESTS = {"tests-v3": ("--nfs", "3"), "tests-v4.2": ("--nfs", "4.2")}
SECONDS = 2_400  # for one of them
SLOWER = 20  # than this machine
FILERS = REPOSITORY / "tests/acceptance/filers"
SCALE = "0.0001"


def skip(reason: str) -> int:
    """Say why not; a failure where CI asks for everything."""
    print(f"make test-nfs: {reason}", file=sys.stderr)
    return 1 if os.environ.get("CI") == "true" else 0


def run_one(name: str, work: Path) -> list[str]:
    """One way to mount: the job, its table; what was not as it should be."""
    (work / name).mkdir()
    guest = [sys.executable, str(Path(__file__).parent / "in_guest.py"), str(work), name]
    lab = [str(LAB), *MOUNTS[name], "--rw", str(work), "--", *guest]
    ended = guest_run(lab, work / name / "lab.txt")
    out = work / name
    if ended or not (out / "status.json").is_file():
        return [f"{name}: the guest ended with {ended}: {tail(out / 'lab.txt')}"]
    status = json.loads((out / "status.json").read_text())
    failed = [f"{name}: edbench {command}: {tail(out / f'{command}.txt')}" for command, code in status.items() if code]
    if (out / "result.json").is_file():
        seen = grown(out / "before", out / "after")
        result = json.loads((out / "result.json").read_text())
        rows = list(compare(result, seen))
        print_table(name, rows, seen.connections, result)
        failed += [f"{name}: {row.what}: not {row.held}" for row in rows if not row.fine]
        failed += wire_problems(name, result, seen.wire_read)
        print(tail(out / "verify.txt", 200), flush=True)
    return failed


def run_calls(name: str, work: Path) -> list[str]:
    """Each call by itself on one way to mount: the wire ops and the server's of each, a call; what went wrong."""
    out = work / name
    out.mkdir()
    guest = [sys.executable, str(Path(__file__).parent / "expansion_in_guest.py"), str(work), name]
    ended = guest_run([str(LAB), *EXPANSIONS[name], "--rw", str(work), "--", *guest], out / "lab.txt")
    if ended or not (out / "steps.json").is_file():
        return [f"{name}: the guest ended with {ended}: {tail(out / 'lab.txt')}"]
    print(f"\n{name}\n\n| step | calls | wire ops a call | server's operations a call |\n|---|---:|---|---|")
    for step in json.loads((out / "steps.json").read_text()):
        each = (
            ", ".join(f"{op} {count / step['calls']:.3g}" for op, count in sorted(step[where].items()))
            for where in ("wire", "server")
        )
        print(f"| {step['step']} | {step['calls']} | {' | '.join(each)} |")
    print(flush=True)
    return []


def run_tests(name: str, work: Path) -> list[str]:
    """Tests of shared file systems on one way to mount; another client is whoever works on the server beside it."""
    (work / name).mkdir()
    chosen = [str(FILERS / f"real_filers_{one}.py") for one in ("calls", "open")]
    settings = ["env", "FILERS_MOUNT=nfs:/run/filer:/run/export", f"TESTS_SLOWER={SLOWER}"]
    tests = [*settings, sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *chosen, "-k", "not delete"]
    shown = work / name / "lab.txt"
    ended = guest_run([str(LAB), *TESTS[name], "--rw", str(work), "--", *tests], shown)
    print(f"\n{name}\n\n{tail(shown, 4_000)}", flush=True)
    return [f"{name}: the tests ended with {ended}"] if ended else []


def guest_run(command: Sequence[str], message: Path) -> int:
    """The guest's exit status; it and all it started are gone afterwards, also when it takes too long."""
    with message.open("wb") as out:
        lab = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return lab.wait(SECONDS)
        except subprocess.TimeoutExpired:
            out.write(f"\nnot done in {SECONDS} s".encode())
            return 124
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(lab.pid, signal.SIGKILL)


def wire_problems(name: str, result: dict[str, object], wire_read: int) -> list[str]:
    """The share in the result comes from samples once a second; over the whole job it must be the mount's own count."""
    wire = result.get("wire")
    if not isinstance(wire, dict):
        return [f"{name}: the result has no wire-read share"]
    reported = wire["total"]["wire_read_bytes"]
    print(f"wire-read by samples {reported:,}, by the mount {wire_read:,}; by phase:")
    for phase, share in wire["phases"].items():
        ratio = "-" if share["ratio"] is None else f"{share['ratio']:.2f}"
        print(f"  {phase:9} calls {share['call_read_bytes']:>12,}  wire {share['wire_read_bytes']:>12,}  {ratio}")
    return (
        []
        if abs(reported - wire_read) <= 0.1 * wire_read
        else [f"{name}: samples say {reported}, the mount {wire_read}"]
    )


def print_table(name: str, rows: Sequence[Row], connections: int, result: dict[str, object]) -> None:
    """One table in Markdown."""
    print(f"\n{name}, {connections} connection(s), {result['items']} items, {result['elapsed_s']} s in the guest\n")
    print("| counted | calls | wire | server | held to | |\n|---|---:|---:|---:|---|---|")
    for row in rows:
        numbers = " | ".join("" if n is None else f"{n:,}" for n in (row.calls, row.wire, row.server))
        print(f"| {row.what} | {numbers} | {row.held} | {'yes' if row.fine else 'NO'} |")
    print(flush=True)


def tail(path: Path, characters: int = 1_000) -> str:
    """The end of what a program said."""
    return path.read_text(errors="replace")[-characters:].strip() if path.is_file() else "(nothing)"


def main(names: Sequence[str]) -> int:
    """All or some ways to mount; 1 when anything was not as it should be."""
    if not LAB.is_file():
        return skip(f"skipped: there is no {LAB.relative_to(REPOSITORY.parent)} beside the repository")
    if os.geteuid() != 0:
        return skip("skipped: the guest needs root")
    known = (*MOUNTS, *EXPANSIONS, *TESTS)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"make test-nfs: no {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="edbench-nfs-") as place:
        work = Path(place)
        if set(names or MOUNTS) & set(MOUNTS):
            corpus = [
                sys.executable,
                "-m",
                "cli",
                "corpus",
                "generate",
                str(work / "corpus"),
                "--scale",
                SCALE,
                "--seed",
                "7",
            ]
            subprocess.run(corpus, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
        for name in names or known:
            run = run_calls if name in EXPANSIONS else run_tests if name in TESTS else run_one
            failed += run(name, work)
    print("\n".join(failed) or "calls, wire ops and the server's counts agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
