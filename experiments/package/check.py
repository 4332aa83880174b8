"""Checks that a package is whole and true to what was observed: its hashes, then everything recomputed and compared.

Nothing is computed here: `experiments.evaluation` makes the result again, `experiments.report.page` the report, as they did
when it was measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.errors import RunFailed, UsageError, read_problem
from core.plain import unambiguous
from experiments.evaluation import evaluated
from experiments.package.manifest import SIGNATURE, broken, files_of
from experiments.package.records import RAW, RUNS, STUDY, Records, read_study
from experiments.package.signature import signed_by
from experiments.result.codec import FILE, to_json
from experiments.result.schema import Result
from experiments.workloads import about as about_of

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
    differences = broken(directory)
    signed = None
    if (directory / SIGNATURE).exists() or signers is not None:
        try:
            signed = signed_by(directory, signers)
        except RunFailed as error:
            differences.append(str(error))
    trusted, made_by = list(TRUSTED), None
    try:
        result = told_again(directory)
        made_by = _other_version(result)
        trusted += about_of(result.workload).trusted
        differences += [*_against_result(directory, result), *_against_files(directory, result)]
    except (UsageError, RunFailed) as error:
        differences.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        differences.append(f"{RAW}: the records give no result: {type(error).__name__} {error}")
    return Checked(differences=tuple(differences), trusted=tuple(trusted), signed=signed, made_by=made_by)


def told_again(directory: Path) -> Result:
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
    from experiments.report.sheet import FILE as SHEET
    from experiments.report.sheet import sheet_in

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
