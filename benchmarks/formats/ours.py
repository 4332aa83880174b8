"""Our side of `make bench-formats`: the engine of `edbench inspect` over the same files, on two processes."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pebble import ProcessExpired, ProcessPool

from benchmarks.processor_time import used
from core.names import display_name
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage.layer import Storage
from dataset_gen.formats.mail.eml import write
from dataset_gen.material.mail import letters, thread
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from worker.inspect.file import Loose, inspect_files
from worker.inspect.tree import find_loose, inspect_paths

PROCESSES = 2
_MEMORY_MB = 1024
_MESSAGES = 1_000
_TIMES = 5  # of short measurements; the best counts, in processor time, for other programs take time too
_TOGETHER = 16  # files that a process takes at a time


@dataclass(frozen=True, slots=True)
class OurRun:
    """What we did with a set of files."""

    files_per_second: float  # on two processes, without their start
    cpu_seconds: float  # of processor, for a file, of the same
    lines: list[dict[str, Any]]  # of `inspect --jsonl`, one round
    seconds: dict[str, float]  # by file: mean of one process's time; files that end their process are not in it


def loose_files(source: Path) -> list[str]:
    """Regular files below a directory in the order in which `inspect` takes them."""
    files = find_loose(Storage(NullRecorder()), str(source))
    return [os.fsdecode(loose.relative) for loose in files if loose.special is None]


def shown(name: str) -> str:
    """A file's name as it stands in the lines of `inspect`."""
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
    """What `edbench inspect -o jsonl` prints."""
    memory = (
        _MEMORY_MB + psutil.Process().memory_info().data // 1_000_000
    )  # they are forks of this one, which may be large
    lines = inspect_paths([str(source)], JobOptions(), processes=PROCESSES, memory_mb=memory)
    return [json.loads(line) if isinstance(line, bytes) else line for line in lines]


def _rate(source: Path, files: Sequence[str], rounds: int, scratch: str) -> tuple[float, float]:
    """Files a second on two processes, and processor seconds for a file; each writes its lines to a file of its own."""
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
    """The files that do not end their process, and seconds for each of them."""
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
    """Seconds that one file takes, mean of `rounds` after one that is not counted."""
    _inspect_all(source, [name], scratch)
    started = time.perf_counter()
    _inspect_all(source, [name] * rounds, scratch)
    taken = (time.perf_counter() - started) / rounds
    (Path(scratch) / f"lines-{os.getpid()}").unlink()
    return taken


def identify_us(source: Path, files: Sequence[str]) -> float:
    """Microseconds to tell a file's media type, mean over the files, their bytes in memory."""
    sources = [MemorySource(os.fsencode(name), (source / name).read_bytes()) for name in files]
    best = math.inf
    for _ in range(_TIMES + 1):
        started = time.process_time()
        for one in sources:
            identify(one)
        best = min(best, time.process_time() - started)
    return best / len(sources) * 1e6


@dataclass(frozen=True, slots=True)
class MailRates:
    """Messages of the reference corpus without attachments: how many a second one core reads (type, hashes, children, text,
    header fields)."""

    all: float
    with_page: float  # of those that say the same as a web page too, both of which are read and compared
    size: float  # bytes of a message, on average


def messages_per_second() -> MailRates:
    """The best of a few rounds, in processor time."""
    messages = _messages()
    pages = [message for message in messages if b"multipart/alternative" in message.data]
    size = sum(message.size for message in messages) / len(messages)
    return MailRates(_read_a_second(messages), _read_a_second(pages), size)


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
