"""`make test-mutants`: many damaged files, read as `edbench inspect` reads them; every broken promise is printed."""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from core.records import JobOptions, Limits
from core.settings import Settings
from mutants.changes import mutated
from mutants.originals import Original, Turns, originals
from readers.errors import ExceptionCode
from readers.records import TextState
from worker.inspect.tree import inspect_paths
from worker.slots.slot import preload

_SHOWN = 6  # examples of one finding
_SLICE = 150  # mutants on disk at a time: so few that readers are loaded, and watched, in the processes that read
_STATES_WITHOUT_A_REASON = {"ok", "guessed", "empty", "no_text_layer", "truncated_by_limit"}
_STATES_WITH_A_REASON = {s.value for s in TextState} - _STATES_WITHOUT_A_REASON
_CODES = {code.value for code in ExceptionCode}
_DIED = {"killed_parser", "timeout", "memory"}
Findings = dict[str, list[str]]  # by the number of the mutant


def mutant(turns: Turns, seed: int, number: int) -> tuple[Original, bytes]:
    """An original, and the bytes of one mutant of it; with seed 0 those of the original."""
    original = turns.original(number)
    if seed == 0:
        return original, original.data
    random = Random(f"{seed}/{number}")
    others = [turns.original(random.randrange(1 << 20)).data for _ in range(3)]
    return original, mutated(random, original.data, others)


def read(
    numbers: Iterable[int], turns: Turns, asked: argparse.Namespace, place: Path, totals: Counter[str]
) -> Findings:
    """Write these mutants to disk, read them, and compare what comes out with what is promised of every file."""
    for name in ("in", "tmp", "cwd"):
        (place / name).mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(place / "tmp")
    os.environ["EDBENCH_MUTANTS"] = str(place)
    os.chdir(place / "cwd")
    lines: dict[str, list[Mapping[str, Any]]] = {f"{number:06}": [] for number in numbers}
    for number in lines:
        original, data = mutant(turns, asked.seed, int(number))
        file = place / "in" / number / original.file_name
        file.parent.mkdir()
        file.write_bytes(data)
    options = JobOptions(limits=Limits(item_seconds=asked.seconds))
    plugins = ("mutants.watch", *asked.plugin)
    for line in inspect_paths(
        [str(place / "in")], options, processes=asked.processes, memory_mb=asked.memory_mb, plugins=plugins
    ):
        reported = json.loads(line) if isinstance(line, bytes) else line
        lines[reported["container_path"][0].partition("/")[0]].append(reported)
    found: Findings = defaultdict(list)
    for number, own in lines.items():
        found[number] += _judged(own)
        totals["items"] += len(own)
        totals["exceptions"] += sum(len(line["exceptions"]) for line in own)
    if (place / "notes").exists():
        for number, what in map(json.loads, (place / "notes").read_text().splitlines()):
            found[number].append(what)
    for left in (*(place / "cwd").iterdir(), *(place / "tmp").iterdir()):
        found[f"{min(lines)} to {max(lines)}"].append(f"left behind: {left.name}")
    return found


def _judged(lines: list[Mapping[str, Any]]) -> Iterable[str]:
    if sum(line["parent"] is None for line in lines) != 1:
        yield "the loose file has not one line"
    if len({line["id"] for line in lines}) != len(lines):
        yield "an item has two lines"
    for line in lines:
        codes, what = line["exceptions"], line["media_type"]
        if line["text_state"] in _STATES_WITH_A_REASON and not codes:
            yield f"text {line['text_state']} without an exception: {what}"
        if unknown := set(codes) - _CODES:
            yield f"no such code: {unknown}"
        if died := _DIED & set(codes):
            yield f"{died.pop()}: {what}"
        if "\\u0000" in json.dumps(line["metadata"]):
            yield f"NUL in metadata: {what}"
        counts = line["children"]
        known = counts and counts["announced"] is not None and not counts["remainder_unknown"]
        if known and counts["announced"] != counts["emitted"] + counts["failed"]:
            yield f"count: {what}: {counts}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-mutants")
    parser.add_argument("--count", type=int, default=20_000, help="mutants")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1, help="0: the files as they are")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory-mb", type=int, default=1024, help="private memory of a process, as of a slot")
    parser.add_argument("--seconds", type=float, default=60.0, help="deadline of an item")
    parser.add_argument("--files", type=Path, help="the files of this directory instead")
    parser.add_argument("--plugin", action="append", default=[], help="read with this plugin too")
    parser.add_argument("--only", default="", help="names of originals that hold this")
    parser.add_argument("--save", type=Path, help="write the one mutant --first here, and do no more")
    asked = parser.parse_args()
    every = (
        originals()
        if asked.files is None
        else [Original(p.name, p.name, p.read_bytes()) for p in asked.files.iterdir()]
    )
    turns = Turns([one for one in every if asked.only in one.name])
    if asked.save:
        original, data = mutant(turns, asked.seed, asked.first)
        asked.save.write_bytes(data)
        print(f"{asked.save}: a mutant of {original.name}")
        return 0
    preload(Settings(sandbox=False))
    numbers, start, totals = range(asked.first, asked.first + asked.count), time.monotonic(), Counter[str]()
    by_kind: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="edbench-mutants-") as home:
        for begin in range(0, asked.count, _SLICE):
            place = Path(home) / str(begin)
            place.mkdir()
            for number, findings in read(numbers[begin : begin + _SLICE], turns, asked, place, totals).items():
                for finding in findings:
                    by_kind[re.sub(r"\d+", "N", re.sub(r"'.*'", "", finding))].append(f"{number}: {finding[:600]}")
            os.chdir(home)
            shutil.rmtree(place)
    for kind, found in sorted(by_kind.items(), key=lambda one: len(one[1])):
        print(f"\n{len(found)} × {kind}", *found[:_SHOWN], sep="\n    ")
    print(
        f"{asked.count:,} mutants, seed {asked.seed}: {totals['items']:,} items, {totals['exceptions']:,} exceptions,"
        f" {time.monotonic() - start:,.0f} s; {len(by_kind)} kinds of findings"
    )
    return 1 if by_kind else 0


if __name__ == "__main__":
    sys.exit(main())
