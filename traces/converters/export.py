"""Exports of a trace, by name, each with what it loses."""

from __future__ import annotations

import enum
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from core.errors import UsageError
from traces.converters.elbencho import export_elbencho
from traces.converters.fio import export_fio
from traces.converters.jsonl import export_jsonl
from traces.model import Trace


class ExportFormat(enum.StrEnum):
    """What a trace can be written as."""

    JSONL = "jsonl"
    FIO = "fio"
    ELBENCHO = "elbencho"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written."""

    files: tuple[Path, ...]
    losses: tuple[str, ...]  # sentences: what the format cannot carry, with its numbers; none for jsonl
    usage: str  # how to run it


def export_trace(trace: Trace, form: ExportFormat, target: Path) -> Exported:
    """Write the trace: a file for jsonl and elbencho, a new or empty directory for fio.

    Raises UsageError when the trace is damaged or the target cannot be written.
    """
    try:
        if form is ExportFormat.FIO:
            return _fio(trace, target)
        with _draft(target) as out:
            if form is ExportFormat.JSONL:
                export_jsonl(trace, out)
                return _written(target, (), f"edbench trace import {target} -o TRACE")
            losses = export_elbencho(trace, out)
        return _written(target, losses, f"elbencho -d -w -r --treefile {target} DIRECTORY")
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or target}: {error.strerror or error}") from error


@contextmanager
def _draft(target: Path) -> Iterator[TextIO]:
    """A text file that gets its name when it is whole."""
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
        raise UsageError(f"{target} is not empty: give a directory of its own to a fio export")
    try:
        files, losses = export_fio(trace, target)
    except BaseException:
        for file in target.iterdir():  # it was empty, so these are ours
            file.unlink()
        raise
    where = target.absolute()
    return Exported(
        files=tuple(files), losses=tuple(losses), usage=f"cd TARGET && TRACE_DIR={where} fio {where}/replay.fio"
    )


def _written(path: Path, losses: Sequence[str], usage: str) -> Exported:
    return Exported(files=(path,), losses=tuple(losses), usage=usage)
