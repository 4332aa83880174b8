"""Results of experiments in the storage root, found by listing: names from clients are never joined to a path."""

from __future__ import annotations

import functools
import mimetypes
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from experiments.package.records import RESULTS
from experiments.result.codec import FILE, read_result
from experiments.result.schema import Result
from web.errors import NotFound

_CHUNK = 1 << 18
_READ_BEFORE = 64  # cached results


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One regular file of a result."""

    name: str  # relative to the run's directory, with `/` between the parts
    path: Path
    bytes: int

    @property
    def media_type(self) -> str:
        """By the name's end."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


def runs(storage: Path) -> dict[str, Path]:
    """The directories of results in this storage root, by name."""
    out: dict[str, Path] = {}
    try:
        with os.scandir(storage / RESULTS) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # no experiment yet
        return out
    for name in names:
        directory = storage / RESULTS / name
        if _is_result(directory):
            out[name] = directory
    return out


def _is_result(directory: Path) -> bool:
    """One that this process may not look into counts: whoever asks for it is told so."""
    try:
        return (directory / FILE).is_file()
    except PermissionError:
        return True


def run_directory(storage: Path, run: str) -> Path:
    """The directory of the run with exactly this name; raises NotFound."""
    directory = runs(storage).get(run)
    if directory is None:
        raise NotFound("this result does not exist; GET /api/v1/results lists the results")
    return directory


def result_in(directory: Path) -> Result:
    """The result of a run, read again only when its file has changed. Raises UsageError when it cannot be read."""
    try:
        status = os.stat(directory / FILE)
    except OSError as error:
        raise UsageError(f"{directory / FILE}: {error.strerror}") from error
    return _read(directory, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=_READ_BEFORE)
def _read(directory: Path, _changed: int, _size: int) -> Result:
    return read_result(directory)


def files_in(directory: Path) -> dict[str, ResultFile]:
    """Every regular file of a run by its name; links are left out."""
    out: dict[str, ResultFile] = {}
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_symlink() or not path.is_file():
                continue
            relative = path.relative_to(directory).as_posix()
            out[relative] = ResultFile(relative, path, path.stat().st_size)
    return out


def file_in(directory: Path, name: str) -> ResultFile:
    """The file of exactly this name; raises NotFound."""
    file = files_in(directory).get(name)
    if file is None:
        raise NotFound("this result has no such file")
    return file


class _Sink:
    """Buffers the output of a ZIP archive until it is sent."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def taken(self) -> bytes:
        out = b"".join(self._pieces)
        self._pieces.clear()
        return out


def zipped(directory: Path) -> Iterator[bytes]:
    """All files of a run as one archive, a piece at a time, below a folder of the run's name."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files_in(directory).values():
            with file.path.open("rb") as source, archive.open(f"{directory.name}/{file.name}", "w") as member:
                while chunk := source.read(_CHUNK):
                    member.write(chunk)
                    yield sink.taken()
            yield sink.taken()
    yield sink.taken()
