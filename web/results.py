"""Results of experiments in the storage root, found by listing: names from clients are never joined to a path."""

from __future__ import annotations

import functools
import itertools
import mimetypes
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import Field

from controller.jobs.source import MANIFEST
from core.document import Document
from core.errors import UsageError
from core.names import display_name
from experiments.package.records import RESULTS
from experiments.result.codec import FILE, read_result
from experiments.result.schema import Result
from web.context import WebContext
from web.errors import FieldErrors, NotFound

VARIABLE = "EDBENCH_CORPORA"
PRODUCTIONS = "EDBENCH_PRODUCTIONS"  # besides the storage root, jobs may write below these directories
HASH_LISTS = "EDBENCH_HASH_LISTS"  # besides `hash-lists` of the storage root, lists in these directories
TARGETS = "EDBENCH_TARGETS"  # besides the storage root, storage tests may run below these directories
_DEEPEST = 3  # levels below the storage root that are searched for corpora
_OURS = frozenset(("jobs", "results", "hash-lists"))  # directories of the storage root without corpora
_MOST = 1_000


class Corpus(Document):
    """A directory that a job can process."""

    id: str = Field(description="Give it as `corpus` when creating a job.")  # number of its root, and the path below it
    name: str
    path: str
    manifest: bool = Field(description="Whether it is a generated corpus with a manifest.")


def read_corpora(env: Mapping[str, str], variable: str = VARIABLE) -> tuple[Path, ...]:
    """The directories of EDBENCH_CORPORA, separated by colons. Raises UsageError for a path that is no directory."""
    out = []
    for part in filter(None, env.get(variable, "").split(os.pathsep)):
        path = Path(part)
        if not path.is_absolute() or not path.is_dir():
            raise UsageError(f"{variable}: {part} is not the absolute path of a directory")
        out.append(path)
    return tuple(out)


def roots(context: WebContext) -> list[Path]:
    """Directories that may contain sources."""
    return [context.settings.storage, *context.corpora]


def list_corpora(context: WebContext) -> list[Corpus]:
    """Corpora below the storage root, and the directories of EDBENCH_CORPORA with their subdirectories."""
    out: dict[Path, Corpus] = {}
    for number, root in enumerate(roots(context)):
        for path in _manifests(root, _DEEPEST, _OURS) if number == 0 else _directories(root):
            relative = display_name(os.fsencode(path.relative_to(root)))
            real = Path(os.path.realpath(path))
            if _inside(real, root) and real not in out and len(out) < _MOST:
                name, there = display_name(os.fsencode(path.name)), (path / MANIFEST).is_file()
                out[real] = Corpus(id=f"{number}:{relative}", name=name, path=str(path), manifest=there)
    return sorted(out.values(), key=lambda corpus: (not corpus.manifest, corpus.path))


def _manifests(directory: Path, levels: int, passed_over: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Directories with a manifest, up to so many levels down; corpora are not searched for further ones."""
    for path in _below(directory):
        if path.name in passed_over:
            continue
        if (path / MANIFEST).is_file():
            yield path
        elif levels > 1:
            yield from _manifests(path, levels - 1)


def _directories(root: Path) -> list[Path]:
    """The root, if it is a corpus, else the directories in it."""
    return [root] if (root / MANIFEST).is_file() else _below(root)


def _below(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # missing, or not readable by this user
        return []
    return [directory / name for name in sorted(names) if not name.startswith(".")]


def _inside(real: Path, root: Path) -> bool:
    return real.is_relative_to(os.path.realpath(root))


def chosen_source(context: WebContext, corpus: str | None, source: str | None) -> Path:
    """The directory that one of the two fields names. Raises FieldErrors.

    A `corpus` is looked up in the list and never used as a path. A `source` must be below one of the roots when its
    links are resolved, and is used in its resolved form."""
    if (corpus is None) == (source is None):
        raise FieldErrors({"corpus": "choose a corpus or enter a directory"})
    if source is None:
        for known in list_corpora(context):
            if known.id == corpus:
                return Path(os.path.realpath(known.path))
        raise FieldErrors({"corpus": "this corpus does not exist; choose one from the list"})
    return allowed_path(context, source)


def allowed_path(context: WebContext, text: str) -> Path:
    """A path in its resolved form. Raises FieldErrors for one outside the directories for sources."""
    return _below_one(roots(context), text, "source", VARIABLE)


def allowed_output(context: WebContext, text: str) -> Path:
    """Like `allowed_path`, for a directory that a job writes to, which need not exist."""
    return _below_one([context.settings.storage, *context.productions], text, "out", PRODUCTIONS)


def allowed_target(context: WebContext, text: str) -> Path:
    """Like `allowed_path`, for a directory that a storage test uses."""
    return _below_one([context.settings.storage, *context.targets], text, "paths", TARGETS)


def _below_one(places: Sequence[Path], text: str, field: str, variable: str) -> Path:
    if not os.path.isabs(text):
        raise FieldErrors({field: f"{text[:200]!r} is not an absolute path"})
    try:
        real = Path(os.path.realpath(text))
    except (OSError, ValueError):
        real = Path("/")
    if not any(_inside(real, root) for root in places):
        named = " or ".join(str(root) for root in places)
        raise FieldErrors(
            {
                field: f"{text[:200]!r} is not below {named}; to allow it, add its parent directory to {variable} on the server"
            }
        )
    return real


LISTS_FOLDER = "hash-lists"
_MOST_LISTS = 1_000


def list_places(context: WebContext) -> list[Path]:
    """The directories that may contain lists."""
    return [context.settings.storage / LISTS_FOLDER, *context.hash_lists]


def list_hash_lists(context: WebContext) -> dict[str, tuple[Path, int]]:
    """Regular files in these directories, without links, and their sizes; by id: the number of the directory and the name."""
    out: dict[str, tuple[Path, int]] = {}
    for number, directory in enumerate(list_places(context)):
        try:
            with os.scandir(directory) as entries:
                files = sorted((e.name, e.stat().st_size) for e in entries if e.is_file(follow_symlinks=False))
        except OSError:  # missing, or not readable by this user
            continue
        out |= {
            f"{number}:{display_name(os.fsencode(name))}": (directory / name, size)
            for name, size in files
            if not name.startswith(".")
        }
    return dict(itertools.islice(out.items(), _MOST_LISTS))


def chosen_lists(context: WebContext, wanted: Sequence[str]) -> list[Path]:
    """The files with these ids, which are looked up and never used as paths. Raises FieldErrors."""
    known = list_hash_lists(context)
    for one in wanted:
        if one not in known:
            raise FieldErrors(
                {"lists": f"list {one[:200]!r} does not exist; GET /api/v1/hash-lists shows the available ones"}
            )
    return [known[one][0] for one in wanted]


_READ_BEFORE = 64  # cached results


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One regular file of a result."""

    name: str  # relative to the run's directory, with `/` between the parts
    path: Path
    bytes: int

    @property
    def media_type(self) -> str:
        """The media type by the extension of the name."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


def runs(storage: Path) -> dict[str, Path]:
    """The directories of results in this storage root, by name."""
    return {directory.name: directory for directory in _below(storage / RESULTS) if _is_result(directory)}


def _is_result(directory: Path) -> bool:
    """Whether a directory has a result. One that this process may not read counts: a request for it reports that
    error."""
    try:
        return (directory / FILE).is_file()
    except PermissionError:
        return True


def run_directory(storage: Path, run: str) -> Path:
    """The directory of the run with exactly this name. Raises NotFound."""
    directory = runs(storage).get(run)
    if directory is None:
        raise NotFound("this result does not exist; GET /api/v1/results lists the results")
    return directory


def result_in(directory: Path) -> Result:
    """The result of a run, read again only if its file has changed. Raises UsageError if it cannot be read."""
    try:
        status = os.stat(directory / FILE)
    except OSError as error:
        raise UsageError(f"{directory / FILE}: {error.strerror}") from error
    return _read(directory, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=_READ_BEFORE)
def _read(directory: Path, _changed: int, _size: int) -> Result:
    return read_result(directory)


def files_in(directory: Path) -> dict[str, ResultFile]:
    """Every regular file of a run by its name; links are omitted."""
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
    """The file with exactly this name. Raises NotFound."""
    file = files_in(directory).get(name)
    if file is None:
        raise NotFound("this result has no such file")
    return file


def zip_run(directory: Path, out: IO[bytes]) -> None:
    """Write all files of a run as one archive, below a folder with the run's name."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in files_in(directory).values():
            archive.write(file.path, f"{directory.name}/{file.name}")
