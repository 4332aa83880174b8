"""Which directories a job may be created over from the page: what lies below the storage root or EDBENCH_CORPORA."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controller.jobs.source import MANIFEST
from core.errors import UsageError
from core.names import display_name
from web.context import WebContext
from web.errors import FieldErrors

VARIABLE = "EDBENCH_CORPORA"
PRODUCTIONS = "EDBENCH_PRODUCTIONS"  # below these directories, and the storage root, jobs may be told to write
HASH_LISTS = "EDBENCH_HASH_LISTS"  # files of these directories, and of `hash-lists` of the storage root, may be read
TARGETS = "EDBENCH_TARGETS"  # below these directories, and the storage root, storage profiles may run
_DEEPEST = 3  # levels below the storage root at which corpora are looked for
_OURS = frozenset(("jobs", "results", "hash-lists"))  # folders of the storage root that hold no corpus
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A directory that may be chosen. Its id is the number of its root and the path below that."""

    id: str
    path: Path
    manifest: bool

    @property
    def name(self) -> str:
        """The last part of its path."""
        return display_name(os.fsencode(self.path.name))


def read_corpora(env: Mapping[str, str], variable: str = VARIABLE) -> tuple[Path, ...]:
    """The directories of EDBENCH_CORPORA, separated by colons; raises UsageError for one that is none."""
    out = []
    for part in filter(None, env.get(variable, "").split(os.pathsep)):
        path = Path(part)
        if not path.is_absolute() or not path.is_dir():
            raise UsageError(f"{variable}: {part} is not the absolute path of a directory")
        out.append(path)
    return tuple(out)


def roots(context: WebContext) -> list[Path]:
    """Below these a source has to lie."""
    return [context.settings.storage, *context.corpora]


def list_corpora(context: WebContext) -> list[Choice]:
    """Corpora below the storage root, and the directories of EDBENCH_CORPORA with those directly in them."""
    out: dict[Path, Choice] = {}
    for number, root in enumerate(roots(context)):
        directories = _manifests(root, _DEEPEST, _OURS) if number == 0 else _directories(root)
        for path in directories:
            relative = display_name(os.fsencode(path.relative_to(root)))
            real = Path(os.path.realpath(path))
            if _inside(real, root) and real not in out and len(out) < _MOST:
                out[real] = Choice(f"{number}:{relative}", path, (path / MANIFEST).is_file())
    return sorted(out.values(), key=lambda choice: (not choice.manifest, choice.path))


def _manifests(directory: Path, levels: int, passed_over: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Directories with a manifest, so many levels down; what lies in a corpus is not looked at."""
    for path in _below(directory):
        if path.name in passed_over:
            continue
        if (path / MANIFEST).is_file():
            yield path
        elif levels > 1:
            yield from _manifests(path, levels - 1)


def _directories(root: Path) -> Iterator[Path]:
    """The root, if it is a corpus, else what lies in it."""
    if (root / MANIFEST).is_file():
        yield root
        return
    yield from _below(root)


def _below(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # not there yet, or closed to this user
        return []
    return [directory / name for name in sorted(names) if not name.startswith(".")]


def _inside(real: Path, root: Path) -> bool:
    return real.is_relative_to(os.path.realpath(root))


def chosen_source(context: WebContext, corpus: str | None, source: str | None) -> Path:
    """The directory that is meant by one of the two fields; raises FieldErrors.

    A `corpus` is looked up in the list and never made into a path; a `source` has to lie, links resolved, below one
    of the roots, and is then used in its resolved form.
    """
    if (corpus is None) == (source is None):
        raise FieldErrors({"corpus": "give either a corpus or a source"})
    if source is None:
        for choice in list_corpora(context):
            if choice.id == corpus:
                return Path(os.path.realpath(choice.path))
        raise FieldErrors({"corpus": "there is no such corpus; choose one of the list"})
    return allowed_path(context, source)


def allowed_path(context: WebContext, text: str) -> Path:
    """A typed path in its resolved form; raises FieldErrors for one that does not lie where sources may."""
    return _below_one(roots(context), text, "source", VARIABLE)


def allowed_output(context: WebContext, text: str) -> Path:
    """The same of a directory that a job is to write to, which need not be there yet."""
    return _below_one([context.settings.storage, *context.productions], text, "out", PRODUCTIONS)


def allowed_target(context: WebContext, text: str) -> Path:
    """The same of a directory that a storage profile is to run on."""
    return _below_one([context.settings.storage, *context.targets], text, "paths", TARGETS)


def _below_one(places: Sequence[Path], text: str, field: str, variable: str) -> Path:
    if not os.path.isabs(text):
        raise FieldErrors({field: "give an absolute path"})
    try:
        real = Path(os.path.realpath(text))
    except (OSError, ValueError):
        real = Path("/")
    if not any(_inside(real, root) for root in places):
        named = " or ".join(str(root) for root in places)
        raise FieldErrors({field: f"it does not lie below {named}; name its place in {variable} on the server"})
    return real
