"""Makes a package of a result's directory, and checks that a package is complete and follows from its observations.

A check compares hashes, then recomputes everything: `experiments.study` makes the result again,
`experiments.report.page` the report, as they did when it was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from controller.jobs.directories import hand_over_tree
from core.errors import RunFailed, UsageError, reading_errors, system_errors
from core.plain import unambiguous
from experiments.package.manifest import broken, examined, files_of, seal
from experiments.package.records import RAW, RESULTS, RUNS, STUDY, Records, read_study
from experiments.report.sheet import FILE as SHEET
from experiments.report.sheet import parse_sheet, sheet_in
from experiments.result.codec import FILE, read_result, to_json
from experiments.result.schema import Result
from experiments.study import evaluated
from experiments.workloads import about as about_of


def finish(result: Result, directory: Path) -> Path:
    """Write report, series and figures next to the result, then the manifest; return the report's path. Raises
    RunFailed."""
    from experiments.report.page import write_report  # draws: matplotlib is slow to come

    page = write_report(result, directory)
    seal(directory)
    if directory.absolute().parent.name == RESULTS:
        hand_over_tree(directory, directory.absolute().parents[1])
    return page


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ROUNDED = Decimal("0.000002")
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_DRAWN = re.compile(r"(?<=-)[a-zA-Z]+[0-9a-f]{10}\b")  # the name of a drawing's part, derived from its coordinates

TRUSTED = (
    "that the records in raw/ were observed: a signature shows who vouches for them",
    "that the last repeats were not removed and the number of repeats in raw/study.json lowered to match",
    "the sheet about the filer and its price",
    "figures/*.png: drawings of series/*.csv, protected only by the manifest",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Result of a check."""

    differences: tuple[str, ...]  # one line each; none: it is what was observed
    trusted: tuple[str, ...]  # what could not be recomputed
    signed: str | None  # by which key; None: not signed
    made_by: str | None  # another version of edbench, whose figures may therefore differ


def check(directory: Path, signers: Path | None = None) -> Checked:
    """Check a package. `signers`: an allowed signers file of ssh-keygen(1); None accepts any key. Raises UsageError if
    the directory is no package or the signers file is invalid."""
    differences, signed = examined(directory, signers)
    trusted, made_by = list(TRUSTED), None
    try:
        result = recomputed(directory)
        made_by = (result.conditions.get("configuration") or {}).get("edbench")
        trusted += about_of(result.workload).trusted
        differences += [*_against_result(directory, result), *_against_files(directory, result)]
    except (UsageError, RunFailed) as error:
        differences.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        differences.append(f"{RAW}: no result can be computed from the records: {type(error).__name__} {error}")
    made_by = None if made_by in (None, version("edbench")) else str(made_by)
    return Checked(differences=tuple(differences), trusted=tuple(trusted), signed=signed, made_by=made_by)


def recomputed(directory: Path) -> Result:
    """Recompute the result from its observations. Raises UsageError, and other errors for observations that no run
    leaves."""
    study = read_study(directory / RAW)
    return evaluated(study, Records(directory / RAW, about_of(study.workload)))


def _against_result(directory: Path, result: Result) -> Iterator[str]:
    with reading_errors(FILE):
        written = unambiguous((directory / FILE).read_text(encoding="utf-8"))
    yield from differing(written, json.loads(json.dumps(to_json(result))), "")


def differing(written: Any, again: Any, at: str) -> Iterator[str]:
    """Yield each place at which plain data differs, with both values."""
    if isinstance(written, dict) and isinstance(again, dict):
        for key in [*again, *(key for key in written if key not in again)]:
            where = f"{at}.{key}" if at else str(key)
            if key not in written and again[key] in (None, {}, []):
                continue  # an older version did not write it, and nothing of it was observed
            if key not in written:
                yield f"{FILE}: {where} is missing; it is {_short(again[key])}"
            elif key not in again:
                yield f"{FILE}: {where} is {_short(written[key])}; it should not exist"
            else:
                yield from differing(written[key], again[key], where)
    elif isinstance(written, list) and isinstance(again, list):
        if len(written) != len(again):
            yield f"{FILE}: {at} has {len(written)} entries; there are {len(again)}"
        for number, (one, other) in enumerate(zip(written, again, strict=False)):
            yield from differing(one, other, f"{at}[{number}]")
    elif written != again or type(written) is not type(again):
        yield f"{FILE}: {at} is {_short(written)}; observed is {_short(again)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _against_files(directory: Path, result: Result) -> Iterator[str]:
    """Recreate the report and its series and compare them with the files. Any other file is a difference."""
    from experiments.report.page import build_sections, figure_name, page_html, plots, texts  # matplotlib is slow

    runs = sum(len(point.repeats) for point in result.points)
    own = {FILE, f"{RAW}/{STUDY}", *(f"{RAW}/{RUNS}/{number:03d}.json.gz" for number in range(runs))}
    sheet = sheet_in(directory)
    sections = build_sections(result, sheet)
    made = texts(page_html(result, sections), sections)
    own = own.union(made, map(figure_name, plots(sections)), [] if sheet is None else [SHEET])
    there = files_of(directory)
    yield from (f"{name}: missing" for name in sorted(own) if name not in there)
    yield from (f"{name}: not part of this result" for name in there if name not in own)
    for name, text in made.items():
        if name in there and not same_text(name, (directory / name).read_bytes(), text):
            yield f"{name}: differs from the file computed from the result"


def same_text(name: str, one: bytes, other: str) -> bool:
    """Compare byte for byte, except for the last of six decimals in drawings and for the names that these give to
    parts: CPUs round differently."""
    if one == other.encode() or not name.endswith(".html"):
        return one == other.encode()
    text = one.decode("utf-8", "replace")
    if _DRAWING.sub("", text) != _DRAWING.sub("", other):
        return False
    text, other = _numbered(text), _numbered(other)
    if _NUMBER.sub("", text) != _NUMBER.sub("", other):
        return False
    pairs = zip(_NUMBER.findall(text), _NUMBER.findall(other), strict=True)
    return all(a == b or abs(Decimal(a) - Decimal(b)) < _ROUNDED for a, b in pairs)


def _numbered(report: str) -> str:
    """Return the report with drawn parts named by the order in which they appear."""
    met: dict[str, int] = {}
    return _DRAWN.sub(lambda found: f"part {met.setdefault(found[0], len(met))}", report)


def describe(directory: Path, text: str, what: str = SHEET) -> Path:
    """Add a sheet to a package and return the report's path. A previous signature is removed: it is over another
    manifest. Raises UsageError for an invalid sheet, which is named as `what`, and for a package that fails its check,
    RunFailed."""
    parse_sheet(text, what)
    if differences := check(directory).differences:
        raise UsageError(f"{directory} fails its check, so the sheet is not added: {differences[0]}")
    with system_errors(RunFailed, f"{directory / SHEET} cannot be written"):
        (directory / SHEET).write_text(text, encoding="utf-8")
    return finish(read_result(directory), directory)


def unsealed(directory: Path) -> str | None:
    """Return why a directory is no package whose files match its manifest; None if it is. Nothing is recomputed."""
    try:
        differences = broken(directory)
    except UsageError as error:
        return str(error)
    return f"{directory.name}: {differences[0]}" if differences else None


def doubt(path: Path) -> str | None:
    """Return in one line why a result is not to be believed; None if it passes its check."""
    if not path.is_dir() and path.name != FILE:
        return f"{path} is not a result package: give the directory of one"
    directory = path if path.is_dir() else path.parent
    try:
        differences = check(directory).differences
    except UsageError as error:
        return str(error)
    if not differences:
        return None
    more = f" (and {len(differences) - 1:,} more)" if len(differences) > 1 else ""
    return f"{path} fails its check: {differences[0]}{more}"
