"""The calls in `--json` against what the kernel saw the slots do (design §4)."""

import re
from collections import Counter
from pathlib import Path

from debian_programs import program
from installation import Bench
from strace_counts import SYSCALLS, kernel_counts


def _slots(directory: Path, roots: list[str]) -> list[str]:
    """Traces of the slots: forked without execve, and they opened something below the roots. The reporter, forked too,
    only asks the file system there how full it is."""
    texts = (path.read_text(errors="replace") for path in directory.iterdir())
    opened = re.compile(rf"^openat2?\(.*({'|'.join(re.escape(root) for root in roots)})", re.M)
    return [text for text in texts if "execve(" not in text and opened.search(text)]


def test_calls_of_a_job_are_the_system_calls_of_its_slots(bench: Bench, tiny: Path, tmp_path: Path) -> None:
    """Number, errors and bytes of every op equal what the kernel did for the slots: none missed, none made up."""
    program("strace", "strace")
    traces = tmp_path / "traces"
    traces.mkdir()
    which = ("-e", f"trace={SYSCALLS},execve", "-o", str(traces / "t"))
    strace = ["strace", "--seccomp-bpf", "-ff", "-y", "-s", "0", *which]
    crew = ("--workers", "1", "--slots", "2")
    bench.end(bench.furnish().start_afresh("discover", str(tiny), *crew, *bench.to_result, under=strace))
    found = bench.result()
    assert found["calls_complete"]
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    roots = [str(tiny / "data"), str(bench.storage)]
    for trace in _slots(traces, roots):
        for total, part in zip((calls, errors, moved), kernel_counts(trace, roots), strict=True):
            total.update(part)
    assert {op: total["count"] for op, total in found["calls"].items()} == dict(calls)
    assert {op: t["errors"] for op, t in found["calls"].items() if t["errors"]} == dict(errors)
    for op in ("read", "write"):
        assert found["calls"][op]["bytes"] == moved[op]
