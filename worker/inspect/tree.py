"""`edbench inspect` over many files, on all cores; a file that kills its parser costs nobody else anything."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from core.errors import SourceFileError, UsageError
from core.operations import NullRecorder
from core.options.choices import DEFAULT_ZONE
from core.options.dates import zone_named
from core.records import JobOptions
from core.storage.layer import EntryKind, Storage
from core.storage.listing import Listing
from readers import charset_guess
from readers.identification import libmagic
from readers.identification.identify import extension_of
from readers.modules import LIKELY
from readers.registry import all_handlers, handler_for
from worker.inspect.batches import TOGETHER, Batches, Line
from worker.inspect.file import Loose, use_passwords
from worker.inspect.pool import InspectPool
from worker.items.loose import DIRECTORY_TYPE, UNKNOWN_TYPE, special
from worker.office.texts import read_by_office
from worker.plugins import load_plugins
from worker.processes import NEW_OBJECTS, limit_slot

_END: tuple[bytes, None] = (b"", None)
# From so many loose files on, and with more processes than a few, every reader is loaded before they are forked: a quarter of a second
# for which they wait, and 40 MB that they share. A few have what they need sooner by themselves, side by side.
_MANY, _FEW = 200, 3
_SEVERAL = 4  # loose files of one kind, by their names: each process is likely to have some
_AHEAD = 16  # batches under way for each process; the lines of those that are read wait in files, to come in order


def find_loose(storage: Storage, argument: str) -> Iterator[Loose]:
    """The loose files of one PATH argument; raises UsageError when it does not exist."""
    path = os.path.abspath(os.fsencode(argument))
    storage.keep_below(os.path.dirname(path))
    try:
        status = storage.stat(path)
    except SourceFileError as e:
        raise UsageError(f"{argument} cannot be inspected: {e.detail}; give an existing file or directory") from e
    if stat.S_ISDIR(status.st_mode):
        yield from _below(storage, path)
    else:
        yield _loose(path, os.path.basename(path), status.st_mode)


def _loose(path: bytes, relative: bytes, mode: int) -> Loose:
    return Loose(path=path, relative=relative, special=special(mode))


def _below(storage: Storage, root: bytes) -> Iterator[Loose]:
    """Depth first, by name (of a directory that is listed in parts, by name in each); without recursion, because a path
    may be two thousand directories deep."""
    open_now: list[Iterator[tuple[bytes, EntryKind]]] = [
        iter([(b"", EntryKind.DIRECTORY)])
    ]  # one for each directory that is being gone through
    while open_now:
        relative, kind = next(open_now[-1], _END)
        if kind is None:
            open_now.pop()
            continue
        path = os.path.join(root, relative) if relative else root
        if kind is EntryKind.FILE:
            yield Loose(path=path, relative=relative)
            continue
        try:
            if kind is EntryKind.DIRECTORY:
                open_now.append(_inside(storage.listing(path), relative))
            else:
                yield _loose(path, relative, storage.stat(path).st_mode)
        except SourceFileError as e:
            media_type = DIRECTORY_TYPE if kind is EntryKind.DIRECTORY else UNKNOWN_TYPE
            yield Loose(path=path, relative=relative, special=(media_type, e))


def _inside(listing: Listing, relative: bytes) -> Iterator[tuple[bytes, EntryKind]]:
    with listing:
        for entry in chain.from_iterable(listing):
            yield os.path.join(relative, entry.name), entry.kind


def _initialise(memory_mb: int, plugins: tuple[str, ...], passwords: Mapping[str, int], scratch: Path) -> None:
    use_passwords(passwords)
    load_plugins(plugins)
    read_by_office(scratch)
    gc.set_threshold(NEW_OBJECTS)  # whatever the command that forks has set
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the deadline of an item ends the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_slot(memory_mb)


def _load_readers(plugins: tuple[str, ...]) -> None:
    """Once, for all processes that are forked afterwards."""
    load_plugins(plugins)
    all_handlers()
    libmagic.preload()
    charset_guess.preload()
    zone_named(DEFAULT_ZONE)
    gc.collect()


def _load_likely(files: Sequence[Loose]) -> None:
    """The readers of endings that several of the files have, which every process would load. Whatever else one meets it loads itself:
    the others are at work meanwhile."""
    endings = Counter(extension_of(os.path.basename(loose.relative)).decode("latin-1") for loose in files)
    likely = {media_type for ending, media_type in LIKELY.items() if endings[ending] >= _SEVERAL}
    for media_type in sorted(likely):
        handler_for(media_type)
    if likely:
        zone_named(DEFAULT_ZONE)  # most of them have dates


def inspect_paths(
    arguments: Sequence[str],
    options: JobOptions,
    *,
    processes: int,
    memory_mb: int,
    plugins: tuple[str, ...] = (),
    passwords: Mapping[str, int] | None = None,
    meanwhile: Callable[[], None] | None = None,
    titles: dict[str, str] | None = None,
) -> Iterator[bytes | Line]:
    """One line for each item: JSON text as it was spooled, or a dictionary for what this process found itself.
    `passwords` are tried on encrypted items; each has its line in their file. `meanwhile`: see InspectPool. `titles` has
    those of the formats of each line before it comes, by media type."""
    storage = Storage(NullRecorder())
    for argument in arguments:
        storage_check = find_loose(storage, argument)
        next(storage_check, None)  # says at once that a PATH does not exist, before anything is printed
    files = (loose for argument in arguments for loose in find_loose(storage, argument))
    first = list(itertools.islice(files, _MANY))
    if len(first) == _MANY and processes > _FEW:
        _load_readers(plugins)
    else:
        _load_likely(first)
    gc.freeze()  # of what is there nothing will go: no process need look at it again, nor copy it for that
    with (
        tempfile.TemporaryDirectory(prefix="edbench-inspect-") as scratch,
        InspectPool(
            processes, lambda: _initialise(memory_mb, plugins, passwords or {}, Path(scratch)), meanwhile
        ) as pool,
    ):
        together = 1 if options.ocr.asked or passwords else TOGETHER
        titles = {} if titles is None else titles
        batches = Batches(pool, options, storage, Path(scratch), processes * _AHEAD, together, titles)
        yield from batches.lines(itertools.chain(first, files))
