"""A production of whatever program as a source: its natives, by custodian, where `edbench discover` finds them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from production.loadfiles.reading import inside, read_dat, regular

_NATIVE = ("NATIVEPATH", "NATIVELINK", "NATIVE_PATH", "NATIVEFILE", "NATIVE LINK", "NATIVE FILE")
_BEGIN = ("BEGDOC", "BEGBATES", "BEGINBATES", "DOCID", "BEGDOC#", "PRODBEG", "CONTROLNUMBER")
_FIRST = ("BEGATTACH", "BEGINATTACH", "PRODBEGATT", "BEGATT")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")
_MOST_BYTES, _SHOWN = 120, 200
_UNSAFE = re.compile(r"[^\w .@+-]|^[. ]+")


@dataclass(slots=True)
class Taken:
    """What came of the records."""

    records: int = 0
    taken: int = 0
    attached: int = 0  # left out: they lie inside the native of their family's first document
    without: int = 0  # have no native
    faults: int = 0  # have one that was not taken; a line each


def take(load_file: Path, to: Path, tell: Callable[[str], None], *, topmost: bool = False) -> Taken:
    """Make `to`, which is not there yet or empty, out of the natives that a load file names: hard links, else copies.
    Raises UsageError."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"--to {to} is there and not an empty directory", field="to")
    out = Taken()
    for row in read_dat(load_file):
        out.records += 1
        begin, said = _of(row, _BEGIN), _of(row, _NATIVE)
        if out.records == 1 and not (_title(row, _BEGIN) and _title(row, _NATIVE)):
            raise UsageError(
                f"{load_file} has none of the fields {', '.join(_NATIVE if _title(row, _BEGIN) else _BEGIN)}"
            )
        if topmost and _of(row, _FIRST) not in ("", begin):
            out.attached += 1
        elif not said:
            out.without += 1
        elif (why := _placed(load_file.parent, to, row, said, begin)) is None:
            out.taken += 1
        else:
            out.faults += 1
            tell(f"{begin}: {why}")
    return out


def _placed(root: Path, to: Path, row: Mapping[str, str], said: str, begin: str) -> str | None:
    """Why a native was not taken; None where it was. Raises UsageError where nothing can be written."""
    native = inside(root, said)
    if native is None:
        return f"{said[:_SHOWN]!r} leads out of the production"
    if not regular(native):
        return f"{said[:_SHOWN]!r}: missing, or no file"
    native = native.resolve()  # a link's own name would lead elsewhere from where it is to lie
    try:
        if (title := _other_hash(native, row)) is not None:
            return f"{said}: its {title} is another than the load file says"
    except OSError as error:
        return f"{said}: {error.strerror}"
    directory = to / (_safe(row.get("CUSTODIAN") or "") or "unknown")
    suffix = native.suffix if _SUFFIX.fullmatch(native.suffix) else ""
    name = directory / f"{_safe(begin) or 'item'}{suffix}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if name.exists():
            return f"{name.name} is there already: two records have the same number"
        _link_or_copy(native, name)
    except OSError as error:
        raise UsageError(f"--to {to}: {name.name} cannot be written ({error.strerror}); mend that, empty it, and import again",
                         field="to") from error  # fmt: skip
    return None


def _other_hash(native: Path, row: Mapping[str, str]) -> str | None:
    """The first hash that the record has, where it is another; raises OSError."""
    for title, algorithm in (("SHA256", "sha256"), ("MD5", "md5"), ("MD5HASH", "md5")):
        wanted = (row.get(title) or "").strip().lower()
        if wanted:
            with native.open("rb") as file:
                return title if hashlib.file_digest(file, algorithm).hexdigest() != wanted else None
    return None


def _link_or_copy(native: Path, name: Path) -> None:
    try:
        os.link(native, name)
    except OSError:  # another file system, or one without links
        try:
            shutil.copy2(native, name)
        except OSError:
            name.unlink(missing_ok=True)  # half of it is no evidence
            raise


def _title(row: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in row), None)


def _of(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    title = _title(row, names)
    return row[title].strip() if title else ""


def _safe(name: str) -> str:
    """A name for a file or directory of ours, of so few bytes that a suffix has room."""
    return _UNSAFE.sub("_", name.strip()).encode()[:_MOST_BYTES].decode(errors="ignore")
