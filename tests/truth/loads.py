"""What is asked of a storage: the product's own commands, on traces and corpora that are made here."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import chunker
from testbeds import EDBENCH, Place, Skipped

from core.operations import Op
from monitoring.machine import host_seconds
from traces.file import TraceWriter
from traces.model import NO_NODE, Call, Node, NodeKind, Stream, TraceHeader

_MS = 1_000_000
SECONDS = 1_200  # after which a command is ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the command said. `document`: its result document, empty where it wrote none."""

    status: int
    errors: str
    document: dict[str, Any]
    busy: float = 0.0  # share of all processors of this machine, by whomever, while it ran


class Load(Protocol):
    """One way to ask."""

    def hear(self, place: Place, work: Path) -> Heard:
        """Run it there. `work`: an own, empty directory on local storage."""


@dataclass(frozen=True, slots=True)
class Calls:
    """A trace: so many streams, each with a file of its own, `each` calls of `size` bytes, one every `every_ms`."""

    kind: str  # read, write, stat
    each: int
    size: int = 0
    streams: int = 4
    every_ms: float = 1.0

    def write(self, file: Path) -> Path:
        """As a trace file."""
        whole = self.each * self.size if self.kind == "read" else 0
        nodes = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
        nodes += [Node(0, NodeKind.FILE, self.kind != "write", whole, 1000, 8) for _ in range(self.streams)]
        played = [self._stream(number + 1, whole) for number in range(self.streams)]
        streams = tuple(Stream(worker="w1", slot=n, calls=len(calls)) for n, calls in enumerate(played))
        ends = max(calls[-1].start_ns + calls[-1].duration_ns for calls in played)
        header = TraceHeader(created=1e9, duration_ns=ends, phases=("",), streams=streams, origin={}, lost=0)
        with TraceWriter(file) as writer:
            for number, calls in enumerate(played):
                for call in calls:
                    writer.add(number, call)
            writer.finish(header, nodes)
        return file

    def _stream(self, node: int, whole: int) -> list[Call]:
        made = [(Op[self.kind.upper()], self.size, number * self.size) for number in range(self.each)]
        if self.kind == "read":
            made = [(Op.OPEN, 0, whole), *made, (Op.CLOSE, 0, 0)]
        elif self.kind == "write":
            made = [(Op.CREATE, 0, 0), *made, (Op.CLOSE, 0, 0)]
        pause = int(self.every_ms * _MS)
        return [Call(op, number * pause, min(pause, _MS) // 10, size, argument, node, NO_NODE, 0, 0)
                for number, (op, size, argument) in enumerate(made)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replay:
    """`edbench trace replay`, a client for each stream."""

    calls: Calls
    pace: str = "max"
    more: tuple[str, ...] = ()
    processors: int | None = None

    def hear(self, place: Place, work: Path) -> Heard:
        """Files lie on the storage, whatever else the job writes does not."""
        trace = self.calls.write(work / "calls.edbtrace")
        target = place.directory / "replay"
        target.mkdir()
        shown = work / "result.json"
        command = ["trace", "replay", "--repeats", "1", str(trace), "--path", str(target), "--pace", self.pace]
        return _hear(place, work, [*command, *place.arguments, *self.more], shown, processors=self.processors)


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """`edbench bench scale-up` of one point with one repeat, and so with one pair on null storage."""

    scale: float = 0.0003  # of the reference corpus: 13 MB raw
    more: tuple[str, ...] = ()
    processors: int | None = None

    def hear(self, place: Place, work: Path) -> Heard:
        """Corpus and storage root lie on the storage."""
        corpus = _corpus(place, self.scale, work, place.directory / "corpus")
        command = ["bench", "scale-up", "--corpus", str(corpus), "--workers", "2", "--repeats", "1"]
        heard = _hear(place, work, [*command, *place.arguments, *self.more], None, place.directory, self.processors)
        found = sorted((place.directory / "results").glob("*/result.json"))
        return replace(heard, document=json.loads(found[-1].read_text()) if found else {})


@dataclass(frozen=True, slots=True)
class JobReplay:
    """A real job is recorded, and its trace replayed in a closed loop: there, or (`slower`) where it is half as fast, and
    the job itself after it. The run has the seconds of the job that was recorded (`recorded_s`), of the one that the replay
    is held against (`job_s`), what the calls of replay and job waited for a processor (`calls_waited_s`), which is no storage's, and
    the processors' busy share meanwhile (`busy`)."""

    slots: int
    slower: bool = False
    scale: float = 0.0003

    def hear(self, place: Place, work: Path) -> Heard:
        """Corpus, storage root and what is replayed lie on the storage."""
        corpus = _corpus(place, self.scale, work, place.directory / "corpus")
        recorded = self._job(place, work, corpus, work / "recorded.json")
        if recorded.status:
            return recorded
        trace = shutil.copy(recorded.document["trace"]["path"], work / "job.edbtrace")
        there = place.slow() if self.slower and place.slow is not None else place
        if there.directory != place.directory:
            corpus = _corpus(there, self.scale, work, there.directory / "corpus")
        heard = self._replay(there, work, trace)
        real = self._job(there, work, corpus, work / "real.json") if self.slower and not heard.status else recorded
        if heard.status or real.status:
            return real if real.status else heard
        run = heard.document["points"][-1]["repeats"][0]
        run |= {
            "recorded_s": recorded.document["elapsed_s"],
            "job_s": real.document["elapsed_s"],
            "calls_waited_s": tuple((one["call_time"] or {}).get("processor_s", 0.0) for one in (run, real.document)),
            "busy": tuple(one.busy for one in (heard, real, recorded)),
        }
        return heard

    def _replay(self, place: Place, work: Path, trace: Path) -> Heard:
        """By as many clients as slots made calls, which is what nobody says: one more would be another data set."""
        target, shown = place.directory / "replay", work / "result.json"
        target.mkdir()
        _forget(place)
        command = ["trace", "replay", "--repeats", "1", str(trace), "--path", str(target), "--pace", "job"]
        return _hear(place, work, [*command, *place.arguments], shown)

    def _job(self, place: Place, work: Path, corpus: Path, result: Path) -> Heard:
        _forget(place)
        crew = ["--workers", "1", "--slots", str(self.slots)]
        command = ["discover", str(corpus), *crew, "--trace", *place.arguments]
        return _hear(place, work, command, result, place.directory / "storage")


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """`edbench bench storage dedup` on backups and a copy of one that is shifted; the run has the ratios of an independent
    chunker on the same files (`independent`)."""

    scale: float = 2e-5  # of corpus profile backups: 56 MB
    shifted: int = 1_001  # bytes before the copy

    def hear(self, place: Place, work: Path) -> Heard:
        """The data lie on local storage, and are written to the storage."""
        own, target, shown = work / "own", place.directory / "there", work / "result.json"
        command = ["corpus", "generate", str(own), "--profile", "backups", "--scale", str(self.scale), "--seed", "7"]
        done = _hear(Place(place.directory), work, command, None)
        if done.status:
            raise RuntimeError(f"edbench corpus generate: {done.errors}")
        data = own / "data"
        first = min(file for file in data.rglob("*") if file.is_file())
        (data / "shifted").write_bytes(bytes(self.shifted) + first.read_bytes())
        target.mkdir()
        settings = ["--set", "data=own", "--set", f"source={data}"]
        command = ["bench", "storage", "--repeats", "1", "dedup", "--path", str(target), *settings]
        heard = _hear(place, work, command, shown)
        if heard.document:
            heard.document["points"][-1]["repeats"][0]["independent"] = chunker.ratios(data)
        return heard


def _forget(place: Place) -> None:
    """All caches of this host, where it may: a job on a corpus that was just written, and the replay's files, meet none."""
    subprocess.run(["sync"], check=False)
    place.cold()
    with contextlib.suppress(PermissionError):
        Path("/proc/sys/vm/drop_caches").write_text("3\n")


_COPIED = re.compile(r"^(\d+) bytes .* copied, ([0-9.]+) s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Profile:
    """`edbench bench storage` of one profile. The last point's first run gets what belongs to the whole: `refused_there`, what an endpoint
    that counts it refused; `found`, the point of case 6 that answers a search; `dd_mb_per_s`, dd's rate for a file of the same size there."""

    name: str
    settings: tuple[str, ...]
    dd_bytes: int = 0  # 0: without dd

    def hear(self, place: Place, work: Path) -> Heard:
        """In a directory of its own there, or at the endpoint. Raises Skipped without the tool that does the I/O."""
        shown = work / "result.json"
        where = ["--s3", place.s3 or ""]
        if place.s3 is None:
            (place.directory / "profile").mkdir()
            where = ["--path", str(place.directory / "profile")]
        chosen = [part for one in self.settings for part in ("--set", one)]
        command = ["bench", "storage", "--repeats", "1", self.name, *where, "--seed", "1", *chosen, *place.arguments]
        heard = _hear(place, work, command, shown)
        if " is not installed" in heard.errors:
            raise Skipped(heard.errors)
        if not heard.document:
            return heard
        run = heard.document["points"][-1]["repeats"][0]
        run["figures"] = medians(heard.document["points"][-1])
        run["found"] = found(heard.document)
        if place.refused is not None:
            run["refused_there"] = place.refused()
        if self.dd_bytes:
            run["dd_mb_per_s"] = _dd(place.directory / "dd", self.dd_bytes)
        return heard


def medians(point: Mapping[str, Any]) -> dict[str, float]:
    """Figures of a point."""
    return {name: estimate["median"] for name, estimate in point["figures"].items()}


def found(document: Mapping[str, Any]) -> dict[str, float]:
    """A search's answer: figures and load of the highest point of case 6 up to which all kept the bound."""
    best: dict[str, float] = {}
    bound = document["conditions"]["configuration"].get("settings", {}).get("most_ms", 0.0) * 1000
    searched = [point for point in document["points"] if point["at"].get("case") == 6]
    for point in sorted(searched, key=lambda point: point["at"]["outstanding"]):
        figures = medians(point)
        if figures["mean_us"] > bound:
            break
        best = figures | {"outstanding": point["at"]["outstanding"] * point["at"]["volumes"]}
    return best


def _dd(file: Path, size: int) -> float:
    """MB/s by dd's own totals, of a file that is on the storage and nowhere else."""
    write = ["dd", "if=/dev/urandom", f"of={file}", "bs=1M", f"count={size >> 20}", "conv=fsync"]
    forget = ["dd", f"of={file}", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]
    read = ["dd", f"if={file}", "of=/dev/null", "bs=1M"]
    for command in (write, forget, read):
        done = subprocess.run(
            command, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, capture_output=True, text=True, check=True
        )
    copied = _COPIED.search(done.stderr)
    if copied is None:
        raise RuntimeError(f"dd said {done.stderr!r}")
    return int(copied[1]) / float(copied[2]) / 1e6


@dataclass(frozen=True, slots=True)
class Discovery:
    """`edbench discover` of a corpus that lies elsewhere."""

    scale: float = 0.0003
    more: tuple[str, ...] = ()

    def hear(self, place: Place, work: Path) -> Heard:
        """Only the storage root lies on the storage."""
        corpus, shown = _corpus(place, self.scale, work, work / "corpus"), work / "result.json"
        command = ["discover", str(corpus), "--workers", "1", *place.arguments, *self.more]
        return _hear(place, work, command, shown, place.directory)


def _corpus(place: Place, scale: float, work: Path, target: Path) -> Path:
    """Generated there; the same each time."""
    command = ["corpus", "generate", str(target), "--profile", "reference", "--scale", str(scale), "--seed", "7"]
    done = _hear(Place(place.directory), work, command, None)
    if done.status:
        raise RuntimeError(f"edbench corpus generate: {done.errors}")
    return target


def _hear(
    place: Place, work: Path, arguments: list[str], result: Path | None, storage: Path | None = None,
    processors: int | None = None,
) -> Heard:  # fmt: skip
    """Run the command, which writes its document to `result`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EDBENCH_")}
    environment |= {"HOME": str(work), "EDBENCH_SCRATCH": str(work / "scratch"), **place.environment}
    environment["EDBENCH_STORAGE"] = str(storage or work / "storage")
    limited = [] if processors is None else ["taskset", "--cpu-list", f"0-{processors - 1}"]
    written = [] if result is None else ["-o", "json", "--output-file", str(result)]
    command = [*place.prefix, *limited, str(EDBENCH), *arguments, *written]
    busy, seconds = host_seconds()
    with (work / "output.txt").open("a") as out, (work / "errors.txt").open("w") as errors:
        done = subprocess.run(
            command, env=environment, cwd=work, stdout=out, stderr=errors, check=False, timeout=SECONDS
        )
    text = " ".join((work / "errors.txt").read_text().split())[-400:]
    document = json.loads(result.read_text()) if result is not None and result.is_file() else {}
    busy, seconds = (now - before for now, before in zip(host_seconds(), (busy, seconds), strict=True))
    return Heard(status=done.returncode, errors=text, document=document, busy=busy / seconds if seconds else 0.0)
