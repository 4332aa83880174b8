"""Results for automation: a JUnit file, a summary in Markdown, and exit status 3 when a bound of --fail-if is broken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.tree import writable_file
from core.bounds import COLUMNS, Outcome
from core.document import Order
from core.errors import BoundsBroken, RunFailed

_SUMMARY = "GITHUB_STEP_SUMMARY"  # a file that GitHub Actions, Gitea and Forgejo name
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!&])")


class Automation(Order):
    """Files for automation."""

    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a JUnit XML file with a test case for each bound.")
    ] = None
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Append a summary in Markdown to FILE.  [default: ${_SUMMARY}]")
    ] = None

    def begin(self, title: str) -> None:
        """Check that both files can be written, and write a JUnit file with an error, which stays if the work does not
        end. Raises UsageError, RunFailed."""
        writable_file(self.junit, "--junit")
        writable_file(self.summary, "--summary")
        self._write_junit(junit(title, (), 0.0, "the run ended without a result"))

    def _write_junit(self, text: bytes) -> None:
        if self.junit is None:
            return
        try:
            self.junit.write_bytes(text)
        except OSError as error:
            raise RunFailed(f"cannot write {self.junit}: {error.strerror}; choose another --junit") from error

    def settle(
        self, title: str, first: str, outcomes: Sequence[Outcome], seconds: float, env: Mapping[str, str]
    ) -> None:
        """Write both files. `title`: the command, such as `bench scale-up`; `first`: the first line of the result.

        Raises BoundsBroken when a bound was broken, RunFailed when a file cannot be written."""
        self._write_junit(junit(title, outcomes, seconds))
        summary = self.summary or (Path(env[_SUMMARY]) if env.get(_SUMMARY) else None)
        if summary is not None:
            try:
                with summary.open("a", encoding="utf-8") as file:
                    file.write(markdown(title, first, outcomes))
            except OSError as error:
                raise RunFailed(f"cannot write {summary}: {error.strerror}; choose another --summary") from error
        broken = [outcome for outcome in outcomes if outcome.failed]
        if broken:
            lines = "; ".join(outcome.line.removeprefix("FAILED ") for outcome in broken)
            raise BoundsBroken(f"{len(broken)} of {len(outcomes)} bounds are broken: {lines}")


def junit(title: str, outcomes: Sequence[Outcome], seconds: float, error: str = "") -> bytes:
    """A test suite with a case for each bound, or one case `run` if there is no bound or the run ended with `error`."""
    from xml.etree import ElementTree

    cases = [] if error else [(outcome.bound, outcome.line, outcome.failed) for outcome in outcomes]
    cases = cases or [("run", error, False)]
    suite = ElementTree.Element(
        "testsuite",
        name=f"edbench {title}",
        tests=str(len(cases)),
        failures=str(sum(failed for *_, failed in cases)),
        errors=str(int(bool(error))),
        time=f"{seconds:.3f}",
    )
    for name, line, failed in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=f"edbench.{title.replace(' ', '.')}", name=name)
        if failed or error:
            ElementTree.SubElement(case, "failure" if failed else "error", message=_NO_XML.sub("\ufffd", line))
        elif line:
            ElementTree.SubElement(case, "system-out").text = line
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def markdown(title: str, first: str, outcomes: Sequence[Outcome]) -> str:
    """A heading, the result's first line and a table of the bounds."""
    broken = sum(outcome.failed for outcome in outcomes)
    state = f"{broken} of {len(outcomes)} bounds broken" if broken else "passed" if outcomes else "completed"
    lines = [f"### edbench {title}: {state}", "", _plain(first), ""]
    if outcomes:
        rows = [COLUMNS, ("---",) * len(COLUMNS), *(tuple(map(_plain, outcome.row)) for outcome in outcomes)]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", " ".join(_NO_XML.sub("\ufffd", text).split()))
