"""Decisions are found by their numbers."""

from __future__ import annotations

import re
from pathlib import Path

DECISIONS = Path(__file__).parents[2] / "docs" / "decisions"
_ROW = re.compile(r"^\| (\d+) \| \[(.+)\]\((\S+)\) \| .+ \|$", re.MULTILINE)


def test_every_decision_has_its_number_and_its_row() -> None:
    """Numbers have no holes; a file's name, its heading and the index say the same."""
    files = sorted(DECISIONS.glob("[0-9]*.md"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    headings = [(int(file.name[:4]), file.read_text().splitlines()[0], file.name) for file in files]
    rows = _ROW.findall((DECISIONS / "README.md").read_text())
    assert headings == [(int(number), f"# {number}. {title}", name) for number, title, name in rows]


def test_every_mention_of_a_decision_has_one() -> None:
    """`decision 41` in code or docs is a number that there is."""
    root = DECISIONS.parents[1]
    known = {int(file.name[:4]) for file in DECISIONS.glob("[0-9]*.md")}
    texts = [*root.glob("*.md"), *(root / "docs").glob("*.md")]
    for room in (
        "core",
        "formats",
        "traces",
        "replay",
        "sql",
        "worker",
        "controller",
        "review",
        "experiments",
        "web",
        "cli",
        "plugins",
    ):
        texts += (root / room).rglob("*.py")
    for text in texts:
        for number in re.findall(r"[Dd]ecision (\d{1,4})\b", text.read_text()):
            assert int(number) in known, text
