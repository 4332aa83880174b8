"""The summary as a package: written, and told again from the packages in it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from core.errors import RunFailed, UsageError
from experiments.package import check as one_package
from experiments.package.check import Checked
from experiments.package.manifest import SIGNATURE, broken, files_of, seal
from experiments.package.signature import signed_by
from experiments.report import FILE as REPORT
from experiments.summary.page import summary_html
from experiments.summary.schema import FILE, PACKAGES, Summary, package_of, read_summary, results_of, write_summary


def finish(summary: Summary, directory: Path) -> Path:
    """Its page over the packages that lie there, and the manifest over all; the page's path. Raises RunFailed, UsageError."""
    write_summary(summary, directory)
    page = directory / REPORT
    try:
        page.write_text(summary_html(summary, results_of(directory, summary)), encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"{page} cannot be written: {error.strerror}") from error
    seal(directory)
    return page


def check(directory: Path, signers: Path | None = None) -> Checked:
    """Of a result's package or of a summary's, whose packages are all told again. Raises UsageError."""
    if not (directory / FILE).is_file():
        return one_package.check(directory, signers)
    differences, signed = broken(directory), None
    if (directory / SIGNATURE).exists() or signers is not None:
        try:
            signed = signed_by(directory, signers)
        except RunFailed as error:
            differences.append(str(error))
    trusted, made_by = dict.fromkeys(one_package.TRUSTED), None
    try:
        summary = read_summary(directory)
        made_by = None if summary.edbench == version("edbench") else summary.edbench
        for entry in summary.entries:
            if entry.why_not is None:
                inside = one_package.check(package_of(directory, entry))
                differences += [f"{PACKAGES}/{entry.name}: {line}" for line in inside.differences]
                trusted |= dict.fromkeys(inside.trusted)
        differences += _against_files(directory, summary)
    except (UsageError, RunFailed) as error:
        differences.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        differences.append(f"{PACKAGES}: they give no summary: {type(error).__name__} {error}")
    return Checked(differences=tuple(differences), trusted=tuple(trusted), signed=signed, made_by=made_by)


def _against_files(directory: Path, summary: Summary) -> Iterator[str]:
    """The page is made again; beside it there is nothing but the packages."""
    if (directory / REPORT).read_text(encoding="utf-8") != summary_html(summary, results_of(directory, summary)):
        yield f"{REPORT}: not what the packages give"
    own = {FILE, REPORT}
    inside = tuple(f"{PACKAGES}/{entry.name}/" for entry in summary.entries if entry.why_not is None)
    yield from (f"{name}: not part of this summary" for name in files_of(directory)
                if name not in own and not name.startswith(inside))  # fmt: skip
