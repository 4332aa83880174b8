"""A file that kills or hangs its parser gets an exception; its siblings and the job do not."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from installation import Bench

MANY = 300  # items that kill their parser, in one container
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
    for where in ("children", "text"):
        with zipfile.ZipFile(custodian / f"{where}.zip", "w") as archive:
            archive.writestr("000 before.txt", "innocent")
            for number in range(1, MANY):
                archive.writestr(f"{number:03}.bin", f"KILLER {where} {number}")
    return source


EXPECTED = {
    ("ann/10 killer.bin",): ["killed_parser"],
    ("ann/20 killer.bin",): ["killed_parser"],
    ("ann/25 hanger.bin",): ["timeout"],
    ("ann/29 archive.zip", "killer.bin"): ["killed_parser"],
}


@pytest.mark.usefixtures("attached")
def test_files_that_kill_their_parser(bench: Bench) -> None:
    """A file that kills or hangs its parser has its exception, and its siblings are read. Of a container with hundreds of them a
    handful kill in each phase: what is beside the container is whole, and what is beside them in it is whole or says why not
    (the index phase deals a container's items out to several tasks, and which is claimed first is chance)."""
    bench.env |= {"PYTHONPATH": str(PLUGINS), "EDBENCH_PLUGINS": "killer_plugin"}
    bench.end(bench.discover("--workers", "1", "--slots", "2", "--item-seconds", "10", corpus=_source(bench.home)))
    logs = "".join(log.read_text(errors="replace") for log in (bench.scratch / "logs").glob("*.log"))
    alone, most = 2 * (len(EXPECTED) - 1), 2 * (6 + 4)  # two deaths convict an item
    assert 8 + alone <= logs.count("ended with SIGABRT") <= most + alone
    with bench.attached():
        items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
        assert len(json.loads(bench.ask("review", "search", "last", "innocent", "-o", "json").stdout)) >= 10
        bench.ask("verify", "last", "--internal")
    found = {tuple(item["container_path"]): item for item in items}
    crowds = {path: found.pop(path) for path in list(found) if path[0] in ("ann/children.zip", "ann/text.zip")}
    assert len(found) == 30 + 3 + 4
    for path, item in found.items():
        expected = EXPECTED.get(path, [])
        assert item["exceptions"] == expected, path
        assert expected or item["text_state"] in ("ok", "empty"), path
    states = {path: (item["text_state"], item["exceptions"]) for path, item in crowds.items()}
    assert states["ann/children.zip", "000 before.txt"] == ("ok", [])
    assert states["ann/text.zip", "000 before.txt"] in (("ok", []), ("failed", ["deaths_limit"]))
    assert states["ann/children.zip",][1] == states["ann/text.zip", "299.bin"][1] == ["deaths_limit"]
