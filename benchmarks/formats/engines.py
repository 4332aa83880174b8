"""Both sides of `make bench-formats`: Apache Tika in batch mode, and the engine of `edbench inspect` on two
processes."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pebble import ProcessExpired, ProcessPool

from benchmarks.driver import sampled, used
from core.names import display_name
from core.records import JobOptions
from core.storage.layer import Storage
from dataset_gen.formats.eml import write
from dataset_gen.material.mail import letters, thread
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from worker.inspect.file import Loose, inspect_files
from worker.inspect.tree import find_loose, inspect_paths

VERSION = "3.2.2"
URL = f"https://repo1.maven.org/maven2/org/apache/tika/tika-app/{VERSION}/tika-app-{VERSION}.jar"
SHA512 = (
    "758d0700a53288220c6a92816ed2fbada130352d15d78bd27f3fe6b3b767710c"
    "3ede6341009a25f24735e4a2a448e29971eb6db1ebacaa1bd98fb39396eda45d"
)
CONSUMERS = 2
_DOWNLOAD_SECONDS = 60
# Without this Tika reads pictures and pages by tesseract where that is installed, which takes a hundred times as long and
# is not what is compared: here it is asked for by `--ocr`.
_NO_OCR = """<?xml version="1.0" encoding="UTF-8"?>
<properties><parsers><parser class="org.apache.tika.parser.DefaultParser">
<parser-exclude class="org.apache.tika.parser.ocr.TesseractOCRParser"/>
</parser></parsers></properties>
"""


class TikaAbsent(Exception):
    """The comparison is not possible; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Tika:
    """The Java command and the jar."""

    java: str
    jar: Path
    jvm: str  # first line of `java -version`


@dataclass(frozen=True, slots=True)
class TikaRun:
    """One batch run."""

    files_per_second: float  # after the warm-up, with two consumers
    cpu_seconds: float  # for a file, in the same rounds
    parse_ms: dict[str, float]  # by file: mean of what Tika says it took to parse, after the warm-up
    documents: dict[str, list[dict[str, Any]]]  # by file: what it found, of the first round; [] where it gave nothing


def find_tika(cache: Path) -> Tika:
    """Find Java and the jar (`TIKA_APP_JAR`, or from the cache, or downloaded); raises TikaAbsent."""
    java = shutil.which("java")
    if java is None:
        raise TikaAbsent("there is no java on the path")
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    own = os.environ.get("TIKA_APP_JAR")
    jar = Path(own) if own else cache / f"tika-app-{VERSION}.jar"
    if own and not jar.is_file():
        raise TikaAbsent(f"TIKA_APP_JAR names {own}, which is no file")
    if not jar.is_file():
        _download(jar)
    return Tika(java, jar, done.stderr.splitlines()[0] if done.stderr else "java")


def _download(jar: Path) -> None:
    jar.parent.mkdir(parents=True, exist_ok=True)
    part = jar.with_suffix(f".{os.getpid()}.part")
    state = hashlib.sha512()
    try:
        with urllib.request.urlopen(URL, timeout=_DOWNLOAD_SECONDS) as answer, part.open("wb") as out:
            while chunk := answer.read(1 << 20):
                state.update(chunk)
                out.write(chunk)
        if state.hexdigest() != SHA512:
            raise TikaAbsent(f"the download from {URL} has another SHA-512 than the published jar")
        part.rename(jar)
    except (OSError, urllib.error.URLError) as e:
        raise TikaAbsent(f"{URL} cannot be downloaded ({e})") from e
    finally:
        part.unlink(missing_ok=True)


def can_be_named(name: str) -> bool:
    """Return whether a file can be in the list that Tika reads: its name is UTF-8 and one line."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return len(name.splitlines()) == 1 and name == name.strip()


def run_tika(tika: Tika, source: Path, files: Sequence[str], rounds: int, scratch: Path) -> TikaRun:
    """Read `files` (relative to `source`) once for warm-up and `rounds` times under the clock."""
    command, out = batch(tika, source, files, rounds, scratch)
    with (scratch / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"LC_ALL": "C.UTF-8"})
        with sampled(process.pid) as samples:
            status = process.wait()
    if status:
        raise RuntimeError(f"{' '.join(command)} gave {status}; its last lines: {_tail(scratch / 'log')}")
    times = {name: list(_answers(out, name, rounds + 1)) for name in files}
    finished = sorted(path.stat().st_mtime_ns for paths in times.values() for path in paths)
    warm = len(files)
    cpu = samples.between(finished[warm - 1] / 1e9, finished[-1] / 1e9) if len(finished) > warm else 0.0
    return TikaRun(
        files_per_second(finished, warm),
        cpu / max(1, len(finished) - warm),
        {name: _mean_ms(paths[1:]) for name, paths in times.items() if paths[1:]},
        {name: _documents(paths[0]) if paths else [] for name, paths in times.items()},
    )


def batch(tika: Tika, source: Path, files: Sequence[str], rounds: int, scratch: Path) -> tuple[list[str], Path]:
    """Return a command that reads the files so many times and once more, and the directory of its output."""
    view, out, listed, config = (scratch / name for name in ("in", "out", "list", "config.xml"))
    view.mkdir(parents=True)
    for number in range(rounds + 1):
        (view / str(number)).symlink_to(source.resolve(), target_is_directory=True)
    listed.write_text("".join(f"{n}/{name}\n" for n in range(rounds + 1) for name in files), encoding="utf-8")
    config.write_text(_NO_OCR, encoding="utf-8")
    command = [tika.java, "-jar", str(tika.jar), "-i", str(view), "-o", str(out), "-J", "-t"]
    return [*command, "-numConsumers", str(CONSUMERS), "-fileList", str(listed), "-c", str(config)], out


def files_per_second(finished_ns: Sequence[int], warm: int) -> float:
    """Return the rate after the first `warm` files, from the sorted moments at which files were done."""
    if len(finished_ns) <= warm or finished_ns[-1] == finished_ns[warm - 1]:
        return 0.0
    return (len(finished_ns) - warm) * 1e9 / (finished_ns[-1] - finished_ns[warm - 1])


def _answers(out: Path, name: str, rounds: int) -> Iterator[Path]:
    for number in range(rounds):
        path = out / str(number) / f"{name}.json"
        if path.is_file():
            yield path


def _documents(path: Path) -> list[dict[str, Any]]:
    """Return the documents that Tika wrote; [] if it failed before it wrote JSON."""
    try:
        documents = json.loads(path.read_bytes() or b"[]")
    except ValueError:
        return []
    return [d for d in documents if isinstance(d, dict)]


def _mean_ms(paths: Sequence[Path]) -> float:
    times = [float(d[0].get("X-TIKA:parse_time_millis", 0)) for d in map(_documents, paths) if d]
    return sum(times) / len(times) if times else 0.0


def _tail(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").splitlines()[-5:])


PROCESSES = 2
_MEMORY_MB = 1024
_MESSAGES = 1_000
_TIMES = 5  # of short measurements; the best counts, in processor time, for other programs take time too
_TOGETHER = 16  # files that a process takes at a time


@dataclass(frozen=True, slots=True)
class OurRun:
    """One run of our side over a set of files."""

    files_per_second: float  # on two processes, without their start
    cpu_seconds: float  # for a file, in the same rounds
    lines: list[dict[str, Any]]  # of `inspect --jsonl`, one round
    seconds: dict[str, float]  # by file: mean of one process's time; files that end their process are not in it


def loose_files(source: Path) -> list[str]:
    """Return regular files below a directory in the order in which `inspect` takes them."""
    files = find_loose(Storage(), str(source))
    return [os.fsdecode(loose.relative) for loose in files if loose.special is None]


def shown(name: str) -> str:
    """Return a file's name as in the lines of `inspect`."""
    return display_name(os.fsencode(name))


def run_ours(source: Path, files: Sequence[str], rounds: int) -> OurRun:
    """Read the files once for warm-up and `rounds` times under the clock, on two processes that take a few files at a
    time; then each file by itself, for its own time."""
    lines = lines_of(source)
    usable, seconds = _seconds_each(source, files, rounds)
    with tempfile.TemporaryDirectory(prefix="edbench-formats-") as scratch:
        rate, cpu = _rate(source, usable, rounds, scratch)
    return OurRun(rate, cpu, lines, seconds)


def lines_of(source: Path) -> list[dict[str, Any]]:
    """Return what `edbench inspect -o jsonl` prints."""
    memory = (
        _MEMORY_MB + psutil.Process().memory_info().data // 1_000_000
    )  # they are forks of this one, which may be large
    lines = inspect_paths([str(source)], JobOptions(), processes=PROCESSES, memory_mb=memory)
    return [json.loads(line) if isinstance(line, bytes) else line for line in lines]


def _rate(source: Path, files: Sequence[str], rounds: int, scratch: str) -> tuple[float, float]:
    """Return files a second on two processes, and CPU seconds for a file; each process writes its lines to a file of
    its own."""
    parts = [files[at : at + _TOGETHER] for at in range(0, len(files), _TOGETHER)]
    context = multiprocessing.get_context("forkserver")
    with ProcessPool(PROCESSES, context=context) as pool:
        started = used_before = 0.0
        for number in range(rounds + 1):
            if number == 1:
                started, used_before = time.perf_counter(), used(psutil.Process())
            # The first round ends before the clock starts; the others follow one another without a pause.
            futures = [pool.schedule(_inspect_all, args=[str(source), part, scratch]) for part in parts]
            if number in (0, rounds):
                for future in futures:
                    future.result()
        taken, cpu = time.perf_counter() - started, used(psutil.Process()) - used_before
    return rounds * len(files) / taken, cpu / rounds / len(files)


def _inspect_all(source: str, names: Sequence[str], scratch: str) -> None:
    spool = Path(scratch) / f"lines-{os.getpid()}"
    files = [Loose(path=os.fsencode(os.path.join(source, name)), relative=os.fsencode(name)) for name in names]
    inspect_files(files, JobOptions(), spool)


def _seconds_each(source: Path, files: Sequence[str], rounds: int) -> tuple[list[str], dict[str, float]]:
    """Return the files that do not end their process, and the seconds of each."""
    context = multiprocessing.get_context("forkserver")
    out: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="edbench-formats-") as scratch,
        ProcessPool(1, context=context) as pool,
    ):
        futures = {n: pool.schedule(_timed, args=[str(source), n, rounds, scratch]) for n in files}
        for name, future in futures.items():
            try:
                out[name] = future.result()
            except ProcessExpired:
                print(f"not timed, it ends its process: {shown(name)}")
    return list(out), {shown(name): seconds for name, seconds in out.items()}


def _timed(source: str, name: str, rounds: int, scratch: str) -> float:
    """Return the seconds that one file takes, the mean of `rounds` after one that is not counted."""
    _inspect_all(source, [name], scratch)
    started = time.perf_counter()
    _inspect_all(source, [name] * rounds, scratch)
    taken = (time.perf_counter() - started) / rounds
    (Path(scratch) / f"lines-{os.getpid()}").unlink()
    return taken


def identify_us(source: Path, files: Sequence[str]) -> float:
    """Return microseconds for identifying a file's media type, the mean over the files, with their bytes in memory."""
    sources = [MemorySource(os.fsencode(name), (source / name).read_bytes()) for name in files]
    best = math.inf
    for _ in range(_TIMES + 1):
        started = time.process_time()
        for one in sources:
            identify(one)
        best = min(best, time.process_time() - started)
    return best / len(sources) * 1e6


def messages_per_second() -> tuple[float, float]:
    """Return how many messages of the reference corpus without attachments one core reads in a second (type, hashes,
    children, text, header fields), the best of a few rounds in CPU time; and their mean size in bytes."""
    messages = _messages()
    return _read_a_second(messages), sum(message.size for message in messages) / len(messages)


def _read_a_second(messages: Sequence[MemorySource]) -> float:
    handler, limits = EmlHandler(), JobOptions().limits
    best = math.inf
    for _ in range(_TIMES):
        started = time.process_time()
        for message in messages:
            identify(message)
            handler.message_hashes(message, limits)
            list(handler.children(message, limits))
            handler.text(message, limits)
        best = min(best, time.process_time() - started)
    return len(messages) / best


def _messages() -> list[MemorySource]:
    shop = Workshop(load_profile("reference"), 1, 0.01)
    out: list[MemorySource] = []
    number = 0
    while len(out) < _MESSAGES:
        talk = thread(shop, 0, number, 4_000_000)
        number += 1
        plain = frozenset(n for n, sketch in enumerate(talk.sketches) if not sketch.attachments)
        made = [letter for _, letter in letters(shop, talk, plain)]
        bare = (x for x in made if not (x.attachments or x.picture or x.forwarded or x.receipt))
        out.extend(MemorySource(b"message.eml", write(letter).data) for letter in bare)
    return out
