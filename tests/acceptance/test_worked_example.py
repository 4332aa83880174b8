"""docs/worked-example.md, run as it is written."""

import contextlib
import csv
import io
import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import commands
import pytest
from installation import COMMAND_SECONDS, EDBENCH

from cli.main import main
from core.services import embedded_services
from core.settings import Settings

PAGE = Path(__file__).parents[2] / "docs/worked-example.md"


def test_the_worked_example_runs_as_written(open_dir: Path) -> None:
    """Each line in turn, in an empty directory with an empty HOME; what it leaves is a production set that holds. From the
    third line on the services stay up between the lines, as beside any other command. What needs a shell is given to one; the
    other commands are forked (`commands`)."""
    home = open_dir / "worked example"
    home.mkdir()
    lines = [line.strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("    ")]
    assert len(lines) > 12
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDBENCH_")}
    environment = kept | {"HOME": str(home), "PATH": f"{EDBENCH.parent}{os.pathsep}{kept['PATH']}"}
    with ExitStack() as others:
        for number, line in enumerate(lines):
            if number == 2:
                settings = Settings(storage=home / "edbench-storage", scratch=home / ".edbench")
                others.enter_context(embedded_services(settings, slots=8))
            status, shown = _run(line, home, environment)
            if status:
                pytest.fail(f"{line}: {shown[-1000:]}")
        _nothing_privileged(home, environment)
    assert list(home.glob("production/VOL001/IMAGES/*/ABC*.tif"))
    assert (home / "production/loadfile.opt").stat().st_size
    actions = [one for one in map(json.loads, (home / "custody.jsonl").open()) if one["record"] == "action"]
    assert {"created", "tagged", "export created", "processing created"} <= {action["action"] for action in actions}


def _run(line: str, home: Path, environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Exit status and output of a line."""
    if shlex.split(line)[0] == "edbench" and ">" not in line:
        command = commands.begin(shlex.split(line)[1:], environment, home)
        out, err = command.communicate(COMMAND_SECONDS)
        return command.returncode, out + err
    shell = ["bash", "-c", line]
    done = subprocess.run(shell, cwd=home, env=environment, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    return done.returncode, done.stdout + done.stderr


def _nothing_privileged(home: Path, environment: dict[str, str]) -> None:
    """No item that is privileged was produced, nor any of its family, of which some are responsive: one of them by what is
    attached to it alone."""
    rows = list(csv.DictReader((home / "production/loadfile.csv").open(newline="", encoding="utf-8")))
    produced = {row["path"] for row in rows}
    assert produced

    def found(*asked: str) -> set[str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(home):
            assert main(["review", "search", "last", *asked, "-o", "json", "--limit", "100000"], environment) == 0
        return {" / ".join(hit["container_path"]) for hit in json.loads(out.getvalue())}

    responsive, alone = found("tag:responsive"), found("tag:privileged")
    withheld = found("tag:privileged", "--families")
    assert responsive & alone
    assert responsive & withheld - alone
    assert produced <= responsive - withheld
    assert (home / "images/metadata.csv").read_text(encoding="utf-8").count("\n") > 1
