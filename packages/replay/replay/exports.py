"""Exports of a trace as a fio job or an elbencho tree file, each with a list of its losses.

A fio job has one iolog (version 3) per stream, and creates the files that they need. An iolog has open, close, read,
write and sync calls on named files. Times are microseconds since the start, as fio 3.33 and later read them; a file
name has at most 255 bytes.

A tree file of elbencho 3.1 (`--treefile`) has a line `d PATH` or `f BYTES PATH` per entry, with paths relative to the
directory of the benchmark; it skips any other line, so that `#` starts a comment."""

from __future__ import annotations

import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from core.errors import UsageError
from core.operations import Op
from core.texts import many
from replay.jsonl import ExportFormat, export_jsonl
from replay.table import Layout
from replay.trace_summary import LastNames, grow
from traces.model import UNKNOWN_RATIO, Call, Node, NodeKind, Trace

_NO_STREAM, _SEVERAL = -1, -2


class UsedFiles:
    """Files of a trace by their last names: written as `x.tmp` and renamed to `x`, a file is `x` from the beginning.

    Takes about 35 bytes of memory a node."""

    def __init__(self, trace: Trace) -> None:
        """Read the whole trace once. Raises UsageError if it is damaged."""
        self._nodes: Sequence[Node] = trace.nodes
        count = len(self._nodes)
        self._names = LastNames(count)
        self._extents = array("q", bytes(8 * count))
        self._makers = array("l", [_NO_STREAM]) * count  # streams that created it …
        self._users = array("l", [_NO_STREAM]) * count  # … and that opened, read or wrote it
        self._writing: set[int] = set()  # streams that write
        self._existed, self._used = bytearray(count), bytearray(count)
        for number, node in enumerate(self._nodes):
            if node.kind == NodeKind.FILE and node.existed:
                self._existed[number] = self._used[number] = 1
                grow(self._extents, number, node.size)
        for stream in range(len(trace.header.streams)):
            for call in trace.calls(stream):
                if call.error == 0 and self._nodes[call.node].kind != NodeKind.DIRECTORY:
                    self._take(call, stream)
        self._fold()

    def identity(self, node: int) -> int:
        """Return the node with the file's last name."""
        return self._names[node]

    def size(self, file: int) -> int:
        """Return the larger of the file's size before the first call and the end of what is read or written."""
        return self._extents[file]

    def found(self, file: int) -> bool:
        """Return whether the file must exist before the first call: it did, or a stream uses it that did not create it,
        or its creator writes nothing at all, so that a tool may open its files for reading only."""
        maker = self._makers[file]
        alone = maker in self._writing and self._users[file] in (_NO_STREAM, maker)
        return bool(self._existed[file]) or not alone

    def files(self) -> Iterator[int]:
        """Yield every file that existed or is used, under its last name."""
        return (file for file in range(len(self._nodes)) if self._names[file] == file and self._used[file])

    def _take(self, call: Call, stream: int) -> None:
        op, node = call.op, call.node
        if op is Op.RENAME:
            self._names.take(call)
        elif op in (Op.READ, Op.WRITE, Op.OPEN, Op.CREATE):
            _join(self._makers if op is Op.CREATE else self._users, node, stream)
            self._used[node] = 1
            if op in (Op.READ, Op.WRITE):
                grow(self._extents, node, call.argument + call.bytes)
            if op is Op.WRITE:
                self._writing.add(stream)

    def _fold(self) -> None:
        """Point every old name to the last one, which takes over the data of the old ones."""
        self._names.settle()
        for number in range(len(self._nodes)):
            latest = self._names[number]
            if latest == number:
                continue
            grow(self._extents, latest, self._extents[number])
            self._used[latest] |= self._used[number]
            self._existed[latest] |= self._existed[number]
            for streams in (self._makers, self._users):
                if streams[number] != _NO_STREAM:
                    _join(streams, latest, streams[number])


def _join(streams: array[int], node: int, stream: int) -> None:
    if streams[node] != stream:
        streams[node] = stream if streams[node] == _NO_STREAM else _SEVERAL


def export_elbencho(trace: Trace, out: TextIO) -> tuple[str, ...]:
    """Write the tree; return the losses. Raises UsageError if the trace is damaged, OSError."""
    used = UsedFiles(trace)
    losses = _losses(trace)
    out.write("# A tree file for elbencho --treefile, from a trace of edbench.\n")
    for line in losses:
        out.write(f"# Lost: {line}\n")
    layout = Layout(trace.nodes)
    for number, node in enumerate(trace.nodes):
        if node.kind == NodeKind.DIRECTORY:
            out.write(f"d {layout.path(number).decode('ascii')}\n")
    for file in used.files():
        out.write(f"f {used.size(file)} {layout.path(file).decode('ascii')}\n")
    return losses


def _losses(trace: Trace) -> tuple[str, ...]:
    return (
        f"the {trace.header.calls:,} calls: their order, times, think time, offsets and sizes, and the stream that "
        "made them; elbencho writes, reads, stats or deletes every file once, in blocks of one size",
        "changes over time: files that the calls create exist from the start, under their last names; nothing is "
        "renamed or removed during the run, and names that were not found are omitted",
        "the compressibility of each file (elbencho has one setting for all: --blockvarpct)",
    )


VERSION_LINE = "fio version 3 iolog\n"
LONGEST_NAME = 255  # bytes; fio reads names with "%256s" and compares the result
_PIECE = 1 << 20  # bytes of a prepared file that are written at once
_MANY_LOOKUPS = 10**10  # fio compares each line's file with the names it knows, one by one


def export_fio(trace: Trace, directory: Path) -> tuple[list[Path], list[str]]:
    """Write `replay.fio` and its files into the directory; return the files, and the losses.

    Raises UsageError if the trace is damaged, OSError."""
    maker = _Export(trace, directory)
    maker.write_preparation()
    sections = [number for number in range(len(trace.header.streams)) if maker.write_stream(number)]
    losses = maker.losses()
    job = directory / "replay.fio"
    job.write_text(_job(sections, losses, maker), encoding="utf-8")
    return [job, *sorted(path for path in directory.iterdir() if path != job)], losses


class _Export:
    def __init__(self, trace: Trace, directory: Path) -> None:
        self._trace = trace
        self._directory = directory
        self._layout = Layout(trace.nodes)
        self._used = UsedFiles(trace)
        self._dropped: Counter[str] = Counter()
        self._names_too_long = 0
        self._files = self._lines = 0
        self.fills = False  # whether a file that must exist has contents

    def write_preparation(self) -> None:
        """Write directories and empty files as a shell script, their contents as an iolog."""
        with (self._directory / "directories.txt").open("w") as out:
            for number, node in enumerate(self._trace.nodes):
                if node.kind == NodeKind.DIRECTORY and (path := self._path(number)):
                    out.write(f"{path}\n")
        with (
            (self._directory / "files.txt").open("w") as listed,
            (self._directory / "prepare.iolog").open("w") as log,
        ):
            log.write(VERSION_LINE)
            for file in self._used.files():
                self._prepare(file, listed, log)
        (self._directory / "prepare.sh").write_text(_PREPARE, encoding="ascii")

    def _prepare(self, file: int, listed: TextIO, log: TextIO) -> None:
        path = self._path(file)
        if not path:
            self._names_too_long += 1
            return
        self._files += 1
        if not self._used.found(file):
            return
        listed.write(f"{path}\n")
        size = self._used.size(file)
        if size:
            self.fills = True
            log.write(f"1 {path} add\n1 {path} open\n")
            for start in range(0, size, _PIECE):
                log.write(f"1 {path} write {start} {min(_PIECE, size - start)}\n")
            log.write(f"1 {path} close\n")

    def write_stream(self, number: int) -> bool:
        """Write the iolog of one stream; return whether it moves any bytes (fio refuses one that does not)."""
        path = self._directory / f"stream{number}.iolog"
        with path.open("w") as out:
            out.write(VERSION_LINE)
            stream = _StreamLog(out, self._file_path, self._used, self._dropped)
            for call in self._trace.calls(number):
                stream.take(call)
        self._lines += stream.lines
        if not stream.moves:
            self._dropped["calls of streams that neither read nor write"] += stream.lines
            path.unlink()
        return stream.moves

    def _path(self, node: int) -> str:
        """Return the path; "" if fio cannot use the name."""
        path = self._layout.path(node)
        return path.decode("ascii") if len(path) <= LONGEST_NAME else ""

    def _file_path(self, node: int) -> str:
        """Return the path; also "" for a directory."""
        return "" if self._trace.nodes[node].kind == NodeKind.DIRECTORY else self._path(node)

    def packed_percent(self) -> int:
        """Return by how many percent the contents of all existing files may be compressed."""
        size = packed = 0
        for node in self._trace.nodes:
            if node.kind == NodeKind.FILE and node.existed:
                size += node.size
                packed += node.size * min(node.ratio, UNKNOWN_RATIO) // 1000
        return round(100 * (1 - packed / size)) if size else 0

    def losses(self) -> list[str]:
        """Return the losses of this trace as sentences."""
        dropped = ", ".join(f"{name} {count:,}" for name, count in self._dropped.most_common())
        found = [f"calls that an iolog cannot express: {dropped}"] if dropped else []
        if self._names_too_long:
            found.append(f"{many(self._names_too_long, 'file')} whose path is longer than {LONGEST_NAME} bytes")
        if self._files * self._lines > _MANY_LOOKUPS:
            found.append(
                f"time: fio looks up each of {self._lines:,} lines up among up to {self._files:,} names one by one, and may "
                "take hours before it starts"
            )
        return [
            *found,
            "dependencies: each stream keeps its own times, and a file that one stream creates and another opens exists "
            "from the start",
            "renames: a file has its last name from the start; create is an open that creates the file, even if it "
            "exists",
            "the compressibility of each file: one percentage for all files",
            "how files are opened: a stream that writes also opens the files that it reads for writing",
        ]


class _StreamLog:
    """Converter of the calls of one stream to lines; a file is open once, however often the stream opened it."""

    def __init__(self, out: TextIO, path_of: Callable[[int], str], used: UsedFiles, dropped: Counter[str]) -> None:
        self.lines = 0
        self.moves = False
        self._out = out
        self._path_of = path_of
        self._used = used
        self._dropped = dropped
        self._added: set[int] = set()
        self._open: Counter[int] = Counter()

    def take(self, call: Call) -> None:
        """Write the line or lines of one call, if any."""
        file = self._used.identity(call.node)
        path = self._path_of(file) if self._carried(call) else ""
        if not path:
            self._dropped[f"{call.op.label} (failed)" if call.error else call.op.label] += 1
            return
        at = call.start_ns // 1000 + 1
        if call.op is Op.CLOSE:
            self._close(at, file, path)
            return
        if not self._open[file]:
            self._add(at, file, path)
            self._line(f"{at} {path} open")
            self._open[file] = 1
        elif call.op in (Op.OPEN, Op.CREATE):
            self._open[file] += 1
        if call.op is Op.FSYNC:
            self._line(f"{at} {path} sync 0 0")
        elif call.op in (Op.READ, Op.WRITE):
            self.moves = True
            self._line(f"{at} {path} {call.op.label} {call.argument} {call.bytes}")

    def _carried(self, call: Call) -> bool:
        if call.error or call.op not in _CARRIED:
            return False
        if call.op in (Op.READ, Op.WRITE):
            return call.bytes > 0
        return call.op in (Op.OPEN, Op.CREATE) or self._open[self._used.identity(call.node)] > 0

    def _add(self, at: int, file: int, path: str) -> None:
        """Add a file to its stream once. The first line of a stream has the time 1 µs: fio does not wait before its
        first line, nor after one at 0."""
        if file not in self._added:
            self._line(f"{at if self._added else 1} {path} add")
            self._added.add(file)

    def _close(self, at: int, file: int, path: str) -> None:
        self._open[file] -= 1
        if not self._open[file]:
            del self._open[file]
            self._line(f"{at} {path} close")

    def _line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self.lines += 1


_CARRIED = frozenset((Op.OPEN, Op.CREATE, Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE))

_PREPARE = """#!/bin/sh
# Creates the directories and empty files that the job needs in the current directory; fio fills them.
set -e
here=$(dirname "$0")
xargs -r mkdir -p < "$here/directories.txt"
xargs -r touch < "$here/files.txt"
"""

_JOB = """# A trace of edbench as a fio job. Run it in the directory where the files are to be created, with TRACE_DIR set to the
# directory of this file:
#   cd TARGET && TRACE_DIR=DIRECTORY fio DIRECTORY/replay.fio
# The first section creates the files; the others, one for each stream, then start together.
#
{losses}
[global]
ioengine=psync
invalidate=0
fadvise_hint=0
fallocate=none
refill_buffers=1
buffer_compress_percentage={packed}

[prepare]
exec_prerun=sh ${{TRACE_DIR}}/prepare.sh
{prepare}
"""

_STREAM = """
[stream{number}]
{barrier}read_iolog=${{TRACE_DIR}}/stream{number}.iolog
"""


# fio refuses an iolog that moves no bytes: a section that only runs the script needs something else to do.
_FILL = "read_iolog=${TRACE_DIR}/prepare.iolog\nreplay_no_stall=1"
_FILL_NOTHING = "ioengine=null\nsize=4k"


def _job(streams: list[int], losses: list[str], export: _Export) -> str:
    text = _JOB.format(
        losses="\n".join(f"# Lost: {line}" for line in losses),
        packed=export.packed_percent(),
        prepare=_FILL if export.fills else _FILL_NOTHING,
    )
    for place, number in enumerate(streams):
        text += _STREAM.format(number=number, barrier="" if place else "stonewall\n")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Result of an export."""

    files: tuple[Path, ...]
    losses: tuple[str, ...]  # sentences: what the format cannot carry, with its numbers; none for jsonl
    usage: str  # how to run it


def export_trace(trace: Trace, form: ExportFormat, target: Path) -> Exported:
    """Write the trace: a file for jsonl and elbencho, a new or empty directory for fio.

    Raises UsageError if the trace is damaged or the target cannot be written."""
    try:
        if form is ExportFormat.FIO:
            return _fio(trace, target)
        losses: tuple[str, ...] = ()
        usage = "an object a line, whose type is trace, call, node or end"
        with _draft(target) as out:
            if form is ExportFormat.JSONL:
                export_jsonl(trace, out)
            else:
                losses, usage = export_elbencho(trace, out), f"elbencho -d -w -r --treefile {target} DIRECTORY"
        return Exported(files=(target,), losses=losses, usage=usage)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or target}: {error.strerror or error}") from error


@contextmanager
def _draft(target: Path) -> Iterator[TextIO]:
    """Yield a text file that gets its name when it is complete."""
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UsageError(f"{target} is not a regular file; give another name")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("x", encoding="utf-8") as out:
            yield out
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _fio(trace: Trace, target: Path) -> Exported:
    target.mkdir(parents=False, exist_ok=True)
    if any(target.iterdir()):
        raise UsageError(f"{target} is not empty: give a new or empty directory for a fio export")
    try:
        files, losses = export_fio(trace, target)
    except BaseException:
        for file in target.iterdir():  # it was empty, so these are ours
            file.unlink()
        raise
    where = target.absolute()
    usage = f"cd TARGET && TRACE_DIR={where} fio {where}/replay.fio"
    return Exported(files=tuple(files), losses=tuple(losses), usage=usage)
