"""Records stored with the files of an imported load file: the import writes them, the discovery reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from core.errors import UsageError
from core.names import LOAD_PREFIX
from readers.errors import ExceptionCode

LOAD_DIRECTORY = ".edbench-load"  # at the root of the source, and no custodian
RECORDS = "records"  # in it: a record under each file's path …
_SUMMARY = "import.json"  # … and this, written last
_TITLE = 60  # characters of a title that its key has


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a load file's record, and what the import found out about it."""

    fields: dict[str, str]  # by their keys; empty ones left out
    native: bool  # False: the file has its text, or is empty
    first: str = ""  # path below the source of the first record of its family, if that is another one
    sha256: str = ""  # of the native, if the load file has a hash, so that it was read
    code: ExceptionCode | None = None  # exception of the record …
    detail: str = ""  # … for people


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """An import that has ended."""

    load_file: str
    records: int
    custodians: dict[str, int]  # records that became files, by the custodian's directory


def keys_of(titles: Iterable[str]) -> dict[str, str]:
    """The metadata key of each title of a load file: no two have the same."""
    keys: dict[str, str] = {}
    used: dict[str, int] = {}
    for title in titles:
        key = LOAD_PREFIX + (re.sub(r"\W+", "_", title.lower()).strip("_")[:_TITLE] or "field")
        while key in used:
            used[key] += 1
            key = f"{key}_{used[key]}"
        used[key] = 1
        keys[title] = key
    return keys


def record_path(relative: str) -> str:
    """The path of a file's record; both are relative to the source."""
    return f"{LOAD_DIRECTORY}/{RECORDS}/{relative}.json"


def write_imported(source: Path, imported: Imported) -> None:
    """Record that the import has ended; call it after the last record was written. Raises OSError."""
    (source / LOAD_DIRECTORY / _SUMMARY).write_bytes(msgspec.json.encode(imported))


def read_imported(source: Path) -> Imported | None:
    """The import that made this source; None for any other directory. Raises UsageError for an import that did not
    end."""
    if not (source / LOAD_DIRECTORY).is_dir():
        return None
    try:
        return msgspec.json.decode((source / LOAD_DIRECTORY / _SUMMARY).read_bytes(), type=Imported)
    except (OSError, msgspec.MsgspecError) as error:
        problem = f"{source}: its import was not finished, or {LOAD_DIRECTORY} was changed; empty the directory and import again"
        raise UsageError(problem) from error
