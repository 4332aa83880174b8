"""Storage by storage, step by step: what fails becomes an entry that says why, and the rest goes on."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.bench_home import EDBENCH
from benchmarks.results import record
from benchmarks.results.bench import Bench, NotOfThis, StepFailed, finished, given_up
from benchmarks.results.sizes import Sizes
from benchmarks.results.steps import Step, steps
from benchmarks.results.storages import CannotBeHad, Storage, own_directory
from core.errors import EdbenchError
from core.mounts import MountEntry, holding, read_mountinfo

STATE = record.REPOSITORY / ".results"
RECORDING = "recording"  # in it: what all storages are given to play
_SIZE = "size"  # in it: of which sizes
_LOOK_S = 1.0  # how long it is looked at how busy processors are before a step
_RECORDED_ON = Storage(name="ext4", title="ext4", about="", kind="loop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What is to be measured, and until when."""

    storages: Sequence[Storage]
    sizes: Sizes
    minutes: float | None
    began: float  # monotonic
    places: dict[str, int]  # of a storage on the page

    def carry_out(self) -> None:
        """Each storage is published as soon as it is done."""
        recording = STATE / RECORDING
        if not (recording / "trace").exists():
            say("recording: a job on ext4")
            _record(recording, self.sizes)
        elif (recording / _SIZE).exists():
            _refuse_mixed("the job that is played", (recording / _SIZE).read_text(), self.sizes)
        for number, storage in enumerate(self.storages):
            until = self._until(storage.share / sum(one.share for one in self.storages[number:]))
            if until is not None and until <= time.monotonic():
                say(f"{storage.name}: no time is left; what was published of it before stays")
                continue
            self._one(storage, recording, until)
            weight = record.publish(STATE / storage.name, record.PUBLISHED / storage.name)
            say(f"{storage.name}: published, {weight / 1e3:,.0f} kB")

    def _until(self, share: float) -> float | None:
        """Its share of what is left of the time; what one does not need the next ones have."""
        if self.minutes is None:
            return None
        now = time.monotonic()
        return now + max(0.0, self.began + self.minutes * 60 - now) * share

    def _one(self, storage: Storage, recording: Path, until: float | None) -> None:
        state = STATE / storage.name
        kept = _begun(state, storage, self.sizes, self.places.get(storage.name, 99))
        done = {entry["name"] for entry in kept["steps"] if not entry["again"]}
        missing = [step for step in steps() if step.name not in done]
        if not missing and kept["why_not"] is None:
            say(f"{storage.name}: all of it is there already")
            return
        kept["why_not"] = None
        try:
            with own_directory() as work, storage.up(work) as place:
                mount = _mounted(place.directory)
                kept["mount"] = f"{mount.kind} {','.join(mount.options)}" if mount and not place.s3 else None
                bench = Bench(storage=storage, place=place, mount=mount, sizes=self.sizes, work=work, state=state,
                              trace=recording / "trace", corpus=recording / "corpus")  # fmt: skip
                for step in missing:
                    _make(bench, step, kept, until)
                    record.write(state, kept)
        except CannotBeHad as why:
            say(f"{storage.name}: {why}")
            kept["why_not"] = str(why)
        record.write(state, kept)


def _begun(state: Path, storage: Storage, sizes: Sizes, place: int) -> dict[str, Any]:
    """What an interrupted command left, or a new record. Raises StepFailed for one of other sizes."""
    with contextlib.suppress(FileNotFoundError):
        kept = record.read(state)
        _refuse_mixed(storage.name, str(kept["size"]), sizes)
        return kept
    memory = psutil.virtual_memory().total / 1e9
    host = {
        "processors": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "kernel": platform.release(),
        "model": _model(),
    }
    return {
        "schema": record.SCHEMA, "storage": storage.name, "title": storage.title, "about": storage.about, "place": place,
        "size": sizes.name, "edbench": version("edbench"), "host": host, "why_not": None, "mount": None, "steps": [],
        "beside": [], "counters": None,
    }  # fmt: skip


def _refuse_mixed(what: str, begun: str, sizes: Sizes) -> None:
    """A page says of a storage which sizes it was measured with, and of all which job was played. Raises StepFailed."""
    if begun != sizes.name:
        raise StepFailed(f"{what} was begun with sizes {begun}: give --size {begun}, or begin anew without --resume")


def _make(bench: Bench, step: Step, kept: dict[str, Any], until: float | None) -> None:
    """One step, and what is known of it afterwards."""
    kept["steps"] = [entry for entry in kept["steps"] if entry["name"] != step.name]
    busy, began = psutil.cpu_percent(_LOOK_S) / 100, time.time()
    entry = {"name": step.name, "began": began, "busy": round(busy, 2), "took_s": 0.0, "why_not": None,
             "again": False}  # fmt: skip
    if bench.place.s3 and not step.s3:
        entry["why_not"] = "an endpoint, and no file system"
    elif until is not None and time.monotonic() > until:
        entry |= {"why_not": "the minutes given were over", "again": True}
    else:
        say(f"{bench.storage.name}: {step.name}")
        try:
            if bench.mount != _mounted(bench.place.directory):
                raise StepFailed("the storage is not mounted any more")
            until_then = time.monotonic() + bench.sizes.step_s
            with given_up(bench):
                _take(step, kept, step.make(dataclasses.replace(bench, until=until_then)))
        except NotOfThis as why:
            entry["why_not"] = str(why)
        except (StepFailed, CannotBeHad, EdbenchError, OSError, ValueError, LookupError) as why:
            said = str(why) if isinstance(why, StepFailed) else f"{type(why).__name__}: {why}"
            for path in (bench.place.directory, bench.work, bench.state):  # other machines have other ones
                said = said.replace(str(path), "…")
            say(f"{bench.storage.name}: {step.name}: {said}")
            entry |= {"why_not": said, "again": True}
    entry["took_s"] = round(time.time() - began, 1)
    kept["steps"].append(entry)


def _take(step: Step, kept: dict[str, Any], told: Any) -> None:
    if step.key == "beside":
        packages = {entry["ours"]["package"] for entry in told}
        others = [entry for entry in kept["beside"] if entry["ours"]["package"] not in packages]
        kept["beside"] = [*others, *told]
    elif step.key:
        kept[step.key] = told


def _record(recording: Path, sizes: Sizes) -> None:
    """The corpus, and the trace of a job over it on ext4: what every storage is given to play. Raises CannotBeHad, StepFailed."""
    shutil.rmtree(recording, ignore_errors=True)
    recording.mkdir(parents=True)
    with own_directory() as work, _RECORDED_ON.up(work) as place:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        environment |= {"EDBENCH_STORAGE": str(place.directory / "root"), "EDBENCH_SCRATCH": str(work / "scratch")}

        def edbench(*arguments: str) -> None:
            finished([str(EDBENCH), *arguments], sizes.step_s, environment)

        edbench(
            "corpus",
            "generate",
            str(recording / "corpus"),
            "--profile",
            "reference",
            "--scale",
            f"{sizes.scale}",
            "--seed",
            "7",
        )
        shutil.copytree(recording / "corpus", place.directory / "corpus")
        told = recording / "job.json"
        edbench(
            "discover",
            str(place.directory / "corpus"),
            "--workers",
            "1",
            "--slots",
            "1",
            "--trace",
            "-o",
            "json",
            "--output-file",
            str(told),
        )
        shutil.copyfile(json.loads(told.read_text())["trace"]["path"], recording / "trace.part")
        (recording / _SIZE).write_text(sizes.name)
        (recording / "trace.part").rename(recording / "trace")


def _mounted(directory: Path) -> MountEntry | None:
    """What it lies on. The kernel is asked, and not the storage, which may answer nobody."""
    return holding(directory, read_mountinfo())


def _model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def say(line: str) -> None:
    """Progress, with the time."""
    print(f"{time.strftime('%H:%M:%S', time.gmtime())}  {line}", flush=True)
