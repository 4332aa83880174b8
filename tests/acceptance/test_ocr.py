"""What a person does with scans: look for words that only their pictures have."""

import json

import pytest
from debian_programs import program
from installation import Bench
from ocr_pictures import picture


@pytest.mark.usefixtures("attached")
def test_scans_are_found_although_a_slot_was_killed(bench: Bench) -> None:
    program("tesseract", "tesseract-ocr")
    ann = bench.home / "source" / "ann"
    ann.mkdir(parents=True)
    (ann / "letter.txt").write_text("plain words")
    (ann / "scan.pdf").write_bytes(picture("PDF", ["UMBRELLA"], ["HARVEST"]))
    (ann / "photo.jpg").write_bytes(picture("JPEG", ["LANTERN"]))
    hold = bench.hold("ocr", after=0)
    process = bench.discover("--workers", "1", "--slots", "2", "--ocr", corpus=bench.home / "source")
    victim = hold.until_reached(process)
    victim.kill()
    hold.let_go()
    bench.end(process)
    found = bench.result()
    assert (found["state"], found["items"], found["exceptions"]) == ("completed", 3, {})
    assert [*found["phases"]] == ["walk", "expand", "index", "ocr", "finalise"]
    assert found["ocr"]["languages"] == "eng"
    assert any("ocr" in label for label in found["labels"])
    with bench.attached():
        bench.ask("verify", "last", "--internal")
        hits = bench.ask("review", "search", "last", "harvest OR lantern").stdout
        shown = bench.ask("job", "show", "last").stdout
    assert "scan.pdf" in hits
    assert "photo.jpg" in hits
    assert [line.split()[:4] for line in shown.splitlines() if line.startswith("ocr")] == [["ocr", "1", "0", "2"]]


def test_scans_without_a_database(bench: Bench) -> None:
    """`inspect --ocr` gives the same text."""
    program("tesseract", "tesseract-ocr")
    scan = bench.home / "scan.pdf"
    scan.write_bytes(picture("PDF", ["UMBRELLA"], ["HARVEST"]))
    lines = bench.edbench("inspect", str(scan), "-o", "jsonl", "--ocr", "--processes", "1").stdout
    (line,) = map(json.loads, lines.splitlines())
    assert line["text"] == "UMBRELLA\nHARVEST\n"
    assert line["metadata"]["ocr"] is True
