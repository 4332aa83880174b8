"""Makes a package of a result's directory, and checks that one is whole and true to what was observed.

A check compares hashes, then recomputes everything: `experiments.study` makes the result again,
`experiments.report.page` the report, as they did when it was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from controller.jobs.directories import hand_over_tree
from core.errors import RunFailed, UsageError, read_problem
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
    """Write report, series and figures next to the result, then the manifest; the report's path. Raises RunFailed."""
    from experiments.report.page import write_report  # draws: matplotlib is slow to come

    page = write_report(result, directory)
    seal(directory)
    if directory.absolute().parent.name == RESULTS:
        hand_over_tree(directory, directory.absolute().parents[1])
    return page


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ROUNDED = Decimal("0.000002")
_DRAWN = re.compile(
    r"(?<=-)[a-zA-Z]+[0-9a-f]{10}\b"
)  # what a drawing calls a part of it, after that part's coordinates

TRUSTED = (
    "that the records in raw/ were observed: a signature shows who vouches for them",
    "that the last repeats were not removed and the number of repeats in raw/study.json lowered to match",
    "the sheet about the filer and its price",
    "figures/*.png: drawings of series/*.csv, protected by the manifest only",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of it."""

    differences: tuple[str, ...]  # one line each; none: it is what was observed
    trusted: tuple[str, ...]  # what could not be recomputed
    signed: str | None  # by which key; None: not signed
    made_by: str | None  # another version of edbench, whose figures may differ for that


def check(directory: Path, signers: Path | None = None) -> Checked:
    """`signers`: an allowed signers file of ssh-keygen(1); None: any key is good. Raises UsageError when the directory is
    no package, or for a signers file that is none."""
    differences, signed = examined(directory, signers)
    trusted, made_by = list(TRUSTED), None
    try:
        result = recomputed(directory)
        made_by = _other_version(result)
        trusted += about_of(result.workload).trusted
        differences += [*_against_result(directory, result), *_against_files(directory, result)]
    except (UsageError, RunFailed) as error:
        differences.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        differences.append(f"{RAW}: the records give no result: {type(error).__name__} {error}")
    return Checked(differences=tuple(differences), trusted=tuple(trusted), signed=signed, made_by=made_by)


def recomputed(directory: Path) -> Result:
    """The result out of what was observed; raises UsageError, and more for what no run ever left."""
    study = read_study(directory / RAW)
    return evaluated(study, Records(directory / RAW, about_of(study.workload)))


def _other_version(result: Result) -> str | None:
    made_by = (result.conditions.get("configuration") or {}).get("edbench")
    return None if made_by in (None, version("edbench")) else str(made_by)


def _against_result(directory: Path, result: Result) -> Iterator[str]:
    try:
        written = unambiguous((directory / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(FILE, error)) from error
    yield from differing(written, json.loads(json.dumps(to_json(result))), "")


def differing(written: Any, again: Any, at: str) -> Iterator[str]:
    """Each place at which plain data differs, with both values."""
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
    """Make the report and its series again and compare them with the files. Any other file is a difference."""
    from experiments.report.page import build_sections, figure_name, plots, texts  # draws: matplotlib is slow to come

    runs = sum(len(point.repeats) for point in result.points)
    own = {FILE, f"{RAW}/{STUDY}", *(f"{RAW}/{RUNS}/{number:03d}.json.gz" for number in range(runs))}
    sheet = sheet_in(directory)
    sections = build_sections(result, sheet)
    made = texts(result, sections)
    own = own.union(made, map(figure_name, plots(sections)), [] if sheet is None else [SHEET])
    there = files_of(directory)
    yield from (f"{name}: missing" for name in sorted(own) if name not in there)
    yield from (f"{name}: not part of this result" for name in there if name not in own)
    for name, text in made.items():
        if name in there and not same_text(name, (directory / name).read_bytes(), text):
            yield f"{name}: not what the result gives"


def same_text(name: str, one: bytes, other: str) -> bool:
    """Compare byte for byte, except the last of six decimals of what a report draws, and the names that drawings make
    of it: CPUs differ in how they round it."""
    if one == other.encode() or not name.endswith(".html"):
        return one == other.encode()
    text, other = _numbered(one.decode("utf-8", "replace")), _numbered(other)
    if _NUMBER.sub("", text) != _NUMBER.sub("", other):
        return False
    pairs = zip(_NUMBER.findall(text), _NUMBER.findall(other), strict=True)
    return all(a == b or abs(Decimal(a) - Decimal(b)) < _ROUNDED for a, b in pairs)


def _numbered(report: str) -> str:
    """With drawn parts called by the order in which they are met."""
    met: dict[str, int] = {}
    return _DRAWN.sub(lambda found: f"part {met.setdefault(found[0], len(met))}", report)


def describe(directory: Path, text: str, what: str = SHEET) -> Path:
    """The report's path. A signature of before is removed: it is over another manifest. Raises UsageError for what is no
    sheet, which is named as `what`, and for a package that does not check, RunFailed."""
    parse_sheet(text, what)
    if differences := check(directory).differences:
        raise UsageError(f"{directory} fails its check, so nothing is added to it: {differences[0]}")
    try:
        (directory / SHEET).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"{directory / SHEET} cannot be written: {error.strerror}") from error
    return finish(read_result(directory), directory)


def take(paths: Sequence[Path], *, unchecked: bool) -> tuple[list[Result], list[str]]:
    """The results, and a label for each that does not check; without `unchecked` the first of these raises UsageError.

    A path is a package's, or a result's of before packages."""
    results = [read_result(path) for path in paths]
    labels = []
    for number, path in enumerate(paths, 1):
        why = doubt(path)
        if why is None:
            continue
        if not unchecked:
            raise UsageError(f"result {number}: {why}; --unchecked accepts it and labels it")
        labels.append(f"result {number}: {why}")
    return results, labels


def unsealed(directory: Path) -> str | None:
    """Why a directory is no package whose files are those of its manifest; None when it is. Nothing is recomputed."""
    try:
        differences = broken(directory)
    except UsageError as error:
        return str(error)
    return f"{directory.name}: {differences[0]}" if differences else None


def doubt(path: Path) -> str | None:
    """Why a result is not to be believed, in one line; None when it checks."""
    if not path.is_dir() and path.name != FILE:
        return f"{path} is not a result package: give its directory"
    directory = path if path.is_dir() else path.parent
    try:
        differences = check(directory).differences
    except UsageError as error:
        return str(error)
    if not differences:
        return None
    more = f" (and {len(differences) - 1:,} more)" if len(differences) > 1 else ""
    return f"{path} fails its check: {differences[0]}{more}"
