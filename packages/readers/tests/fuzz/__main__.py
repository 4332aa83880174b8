"""`make fuzz`: each of our own parsers under libFuzzer (atheris), a process for each target.

The targets are those of `support/fuzz_targets.py`, which may raise DocumentError and nothing else. What libFuzzer finds
worth keeping stays below the directory given, so that a later run goes on from it."""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
_LONGEST = 65_536  # bytes of an input
_ONE_INPUT_S = 20
_MEMORY_MB = 2_048  # libFuzzer's own needs included


def fuzz(name: str, corpus: Path, arguments: list[str]) -> None:
    """In a process of its own, never to return: libFuzzer ends it."""
    import atheris  # only here: the other uses of this folder do without

    with atheris.instrument_imports(include=["readers"]):
        from fuzz_targets import load

        target = load(name)
    from readers.errors import DocumentError

    def one(data: bytes) -> None:
        try:
            target.read(data)
        except DocumentError:
            return

    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        if len(seed) <= _LONGEST:
            (corpus / f"seed-{number:03}").write_bytes(seed)
    atheris.Setup([sys.argv[0], str(corpus), *arguments], one)
    atheris.Fuzz()


def _run(name: str, place: Path, seconds: int) -> tuple[str, int]:
    log = place / f"{name}.log"
    found = place / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE), "--one", name, "--corpus", str(place), "--seconds", str(seconds)]
    began = time.monotonic()
    with log.open("wb") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    lines = log.read_text(errors="replace").splitlines()
    shown = [line for line in lines if "Uncaught Python exception" in line or "ERROR: libFuzzer" in line]
    where = [line for line in lines if line.startswith(("Done ", "stat::number_of_executed_units"))]
    if status and not shown:
        shown = lines[-1:]
    if not status and (lasted := time.monotonic() - began) < seconds:
        shown, status = [f"ended after {lasted:.0f} of {seconds} s"], 1
    return f"{name:20} {'; '.join(shown) or 'nothing found'}  {where[-1] if where else ''}", status


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--only", default="", help="targets, separated by commas; all of them if not given")
    parser.add_argument("--corpus", type=Path, default=Path(".fuzz/corpus"), help="where inputs and logs are kept")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        options = {
            "max_total_time": chosen.seconds,
            "max_len": _LONGEST,
            "timeout": _ONE_INPUT_S,
            "rss_limit_mb": _MEMORY_MB,
            "artifact_prefix": f"{chosen.corpus / 'found' / chosen.one}/",
            "print_final_stats": 1,
        }
        fuzz(chosen.one, chosen.corpus / chosen.one, [f"-{key}={value}" for key, value in options.items()])
    from fuzz_targets import names as all_names  # not before imports are instrumented

    names = [n for n in all_names() if not chosen.only or n in chosen.only.split(",")]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda name: _run(name, chosen.corpus, chosen.seconds), names))
    for line, _ in results:
        print(line)
    bad = [name for name, (_, status) in zip(names, results, strict=True) if status]
    if bad:
        print(
            f"\ninputs that broke a promise: {chosen.corpus}/found; the logs: {chosen.corpus}/NAME.log ({', '.join(bad)})"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
