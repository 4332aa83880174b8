"""JUnit files, summaries in Markdown and the exit status of broken bounds."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.automation import Automation, junit, markdown
from cli.main import BROKEN, _meaning
from core.bounds import Outcome
from core.errors import BoundsBroken, RunFailed, UsageError

PASSED = Outcome(
    bound="gb_per_hour<400", name="gb_per_hour_discovered", value=412.0, shown="412", at="1 worker", failed=False
)
FAILED = Outcome(bound="p99.read>20ms", name="p99.read", value=31_200.0, shown="31.2 ms", at="4 workers", failed=True)


def test_a_broken_bound_is_exit_status_3_with_both_files(tmp_path: Path) -> None:
    """Promise: the files are there before the command ends with status 3; the summary is appended, not replaced."""
    files = Automation(junit=tmp_path / "junit.xml", summary=tmp_path / "summary.md")
    (tmp_path / "summary.md").write_text("before\n")
    with pytest.raises(BoundsBroken) as broken:
        files.settle("bench scale-up", "the verdict", [PASSED, FAILED], 12.5, {})
    assert _meaning(broken.value) == ("1 of 2 bounds are broken: p99.read>20ms: 31.2 ms at 4 workers", BROKEN)
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [case.get("name") for case in suite] == ["gb_per_hour<400", "p99.read>20ms"]
    assert [case.find("failure") is not None for case in suite] == [False, True]
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("before\n### edbench bench scale-up: 1 of 2 bounds broken\n")
    assert "| p99.read\\>20ms | 31.2 ms | 4 workers | failed |" in text


def test_without_a_broken_bound_the_command_succeeds(tmp_path: Path) -> None:
    """Promise: the summary goes to the file that a CI system names in its environment."""
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "step.md")}
    Automation().settle("discover", "first", [PASSED], 1.0, env)
    assert "edbench discover: passed" in (tmp_path / "step.md").read_text()
    Automation().settle("discover", "first", [], 1.0, {})


def test_a_run_without_result_leaves_an_error(tmp_path: Path) -> None:
    """Promise: however the command ends before its result, the JUnit file has an error and no success."""
    Automation(junit=tmp_path / "junit.xml").begin("discover")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    """Promise: before the work starts, in one line."""
    with pytest.raises(UsageError, match="--junit"):
        Automation(junit=tmp_path).begin("discover")
    with pytest.raises(UsageError, match="--summary"):
        Automation(summary=tmp_path / "none" / "x.md").begin("discover")
    with pytest.raises(RunFailed, match="--summary"):
        Automation(summary=tmp_path).settle("discover", "first", [PASSED], 1.0, {})


def test_hostile_text_stays_text() -> None:
    """Promise: names of storages and points from elsewhere neither break the XML nor become Markdown."""
    at = "</testcase>\x00\ud800 | `x` <b> [a](b)\n# h"
    outcome = Outcome(bound="items>5", name="items", value=6.0, shown="6", at=at, failed=True)
    (suite,) = ElementTree.fromstring(junit("bench", [outcome], 0.0))
    assert len(suite) == 1
    row = next(line for line in markdown("bench", at, [outcome]).splitlines() if line.startswith("| items"))
    assert row.count(" | ") == 3
    assert "\\`x\\` \\<b\\> \\[a\\](b) \\# h" in row
