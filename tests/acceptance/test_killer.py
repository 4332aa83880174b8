"""A file that kills or hangs its parser gets an exception; its siblings and the job do not."""

import json
import zipfile
from pathlib import Path

import pytest
from installation import Bench

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"


def _source(home: Path) -> Path:
    source = home / "source"
    custodian = source / "ann"
    custodian.mkdir(parents=True)
    for number in range(30):
        (custodian / f"{number:02d} innocent.txt").write_text(f"innocent number {number}")
    (custodian / "10 killer.bin").write_bytes(b"KILLER children")
    (custodian / "20 killer.bin").write_bytes(b"KILLER text")
    (custodian / "25 hanger.bin").write_bytes(b"KILLER hang")
    with zipfile.ZipFile(custodian / "29 archive.zip", "w") as archive:
        archive.writestr("before.txt", "innocent before")
        archive.writestr("killer.bin", b"KILLER children too")
        archive.writestr("after.txt", "innocent after")
    return source


EXPECTED = {
    ("ann/10 killer.bin",): ["killed_parser"],
    ("ann/20 killer.bin",): ["killed_parser"],
    ("ann/25 hanger.bin",): ["timeout"],
    ("ann/29 archive.zip", "killer.bin"): ["killed_parser"],
}


@pytest.mark.usefixtures("attached")
def test_files_that_kill_their_parser(bench: Bench) -> None:
    """A file that kills or hangs its parser has its exception after two deaths, and its siblings are read. Containers full of
    such files, and what they may cost, are in tests/integration/worker/test_worker_budgets.py."""
    bench.env |= {"PYTHONPATH": str(PLUGINS), "EDBENCH_PLUGINS": "killer_plugin"}
    bench.end(bench.discover("--workers", "1", "--slots", "2", "--item-seconds", "6", corpus=_source(bench.home)))
    logs = "".join(log.read_text(errors="replace") for log in (bench.scratch / "logs").glob("*.log"))
    assert logs.count("ended with SIGABRT") == 2 * (len(EXPECTED) - 1)
    items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
    assert len(json.loads(bench.ask("review", "search", "last", "innocent", "-o", "json").stdout)) >= 10
    bench.ask("verify", "last", "--internal")
    assert len(items) == 30 + 3 + 4
    for item in items:
        path = tuple(item["container_path"])
        expected = EXPECTED.get(path, [])
        assert item["exceptions"] == expected, path
        assert expected or item["text_state"] in ("ok", "empty"), path
