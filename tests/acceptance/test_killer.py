"""A file that kills or hangs its parser gets an exception; its siblings and the job do not."""

from __future__ import annotations

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
def test_a_file_that_kills_its_parser(bench: Bench) -> None:
    bench.env |= {"PYTHONPATH": str(PLUGINS), "EDBENCH_PLUGINS": "killer_plugin"}
    bench.end(bench.discover("--workers", "1", "--slots", "2", "--item-seconds", "5", corpus=_source(bench.home)))
    with bench.attached():
        items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
        assert len(json.loads(bench.ask("review", "search", "last", "innocent", "-o", "json").stdout)) >= 10
        bench.ask("verify", "last", "--internal")
    assert len(items) == 30 + 3 + 4
    for item in items:
        expected = EXPECTED.get(tuple(item["container_path"]), [])
        assert item["exceptions"] == expected, item["container_path"]
        assert expected or item["text_state"] in ("ok", "empty"), item["container_path"]


@pytest.mark.usefixtures("attached")
def test_a_parser_that_kills_at_every_item(bench: Bench) -> None:
    """Hundreds of items that kill their parser, in one container: the job completes after a handful of deaths in each
    phase, with exceptions; what is beside the container is whole, and what is beside them in it is whole or says why
    not (the index phase deals a container's items out to several tasks, and which is claimed first is chance)."""
    bench.env |= {"PYTHONPATH": str(PLUGINS), "EDBENCH_PLUGINS": "killer_plugin"}
    custodian = bench.home / "source" / "ann"
    custodian.mkdir(parents=True)
    (custodian / "innocent.txt").write_text("innocent")
    for where in ("children", "text"):
        with zipfile.ZipFile(custodian / f"{where}.zip", "w") as archive:
            archive.writestr("000 before.txt", "innocent")
            for number in range(1, 300):
                archive.writestr(f"{number:03}.bin", f"KILLER {where} {number}")
    bench.end(bench.discover("--workers", "1", "--slots", "2", corpus=bench.home / "source"))
    logs = "".join(log.read_text(errors="replace") for log in (bench.scratch / "logs").glob("*.log"))
    assert 8 <= logs.count("ended with SIGABRT") <= 2 * (6 + 4)
    with bench.attached():
        items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
        bench.ask("verify", "last", "--internal")
    found = {tuple(item["container_path"]): item for item in items}
    whole = ("ok", [])
    for path, allowed in (
        (("ann/innocent.txt",), [whole]),
        (("ann/children.zip", "000 before.txt"), [whole]),
        (("ann/text.zip", "000 before.txt"), [whole, ("failed", ["deaths_limit"])]),
    ):
        assert (found[path]["text_state"], found[path]["exceptions"]) in allowed, path
    assert found[("ann/children.zip",)]["exceptions"] == ["deaths_limit"]
    assert found[("ann/text.zip", "299.bin")]["exceptions"] == ["deaths_limit"]
