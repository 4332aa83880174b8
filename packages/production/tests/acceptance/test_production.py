"""Extraction and export as people run them: what is written is right, and the same whatever happens in between."""

import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from documents import make
from installation import Bench, Running, until
from produced import csv_rows, tree

_TYPES = """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""


def test_disturbed_jobs_write_the_same_bytes(bench: Bench) -> None:
    """An extraction and an export whose slots are killed in each phase, and one of which is paused and resumed in between,
    leave what undisturbed ones leave; they are verified, told as what they are, and deleted with what they wrote. That one was
    deleted is written down with whose items it took, that these have gone with who took them."""
    home = bench.home
    holds = {phase: bench.holdable(phase) for phase in ("extract", "export", "finalise-end")}
    with bench.standing():
        bench.end(bench.discover())
        bench.edbench("produce", "export", "last", "--out", str(home / "calm"), "--folder-files", "40")
        bench.edbench("produce", "text", "last", "--out", str(home / "texts"), "--folder-files", "40")
        _disturb_extraction(bench, home)
        for hold in holds.values():
            hold.after(0)
        process = bench.start("produce", "export", "last", "--out", str(home / "wild"), "--folder-files", "40")
        for phase, hold in holds.items():
            slot = hold.until_reached(process)
            if phase == "export":
                hold.after(2)  # some are done
                slot = hold.until_reached(process)
                pausing = bench.start("job", "pause", "last")
                bench.until_pausing()
                slot.kill()
                hold.let_go()
                bench.end(pausing, None)
                bench.end(process)
                bench.edbench("job", "resume", "last")
                process = None  # nobody waits for it now
                continue
            slot.kill()
            hold.let_go()
        bench.until_over()
        job = json.loads(bench.ask("job", "list", "-o", "json").stdout)[0]["job_id"]
        _check_export(home, tree(home / "calm"), bench)
        assert tree(home / "wild") == tree(home / "calm")
        texts = {path: data for path, data in tree(home / "calm").items() if "/TEXT/" in path}
        assert {path: data for path, data in tree(home / "texts").items() if "/TEXT/" in path} == texts
        _check_reported(bench, job)
        _check_refused(bench, home)
        theirs = [home / "wild" / path for path in ("VOL123/mine.txt", "VOL001/NATIVES/0001/mine.docx", "notes.txt")]
        for path in theirs:
            path.parent.mkdir(exist_ok=True)
            path.write_text("somebody else's")
        chain = _last_action(bench, job)["chain"]
        reported = bench.ask("job", "delete", job).stderr
        assert "did not write, which stay: VOL001/NATIVES/0001/mine.docx, VOL123, notes.txt" in reported
        assert {path for path in (home / "wild").rglob("*") if path.is_file()} == set(theirs)
        noted = _last_action(bench, "last")
        assert (noted["action"], noted["details"]["as_job"], noted["details"]["chain"]) == (
            "export deleted",
            job,
            chain,
        )
        _check_noted(noted["details"], home / "calm")
        found = bench.result()["job_id"]
        takers = [
            one["job_id"]
            for one in json.loads(bench.ask("job", "list", "-o", "json").stdout)
            if one["type"] != "discovery"
        ]
        refused = bench.ask("job", "delete", found, check=2).stderr
        assert "confirm with --yes" in refused
        bench.ask("job", "delete", found, "--yes")
        for taker in takers:
            noted = _last_action(bench, taker)
            assert (noted["action"], noted["details"]["as_job"]) == ("discovery deleted", found)


def _last_action(bench: Bench, job: str) -> dict[str, Any]:
    lines = bench.ask("job", "custody", job, "--actions", "-o", "jsonl").stdout.splitlines()
    return dict(json.loads(lines[-2]))  # behind it stands the end


def _check_noted(details: dict[str, Any], same: Path) -> None:
    """After everything of an export has gone it is known what it was: the same as this one."""
    files, rows = tree(same), csv_rows(same / "loadfile.csv")
    written = [data for path, data in files.items() if path.startswith("VOL")]
    assert (details["files"], details["bytes"]) == (len(written), sum(map(len, written)))
    assert details["numbers"] == [rows[0]["begin"], rows[-1]["begin"]]
    assert details["hashes"] == hashlib.sha256(files["hashes.csv"]).hexdigest()
    reports = {path: hashlib.sha256(data).hexdigest() for path, data in files.items() if not path.startswith("VOL")}
    assert details["reports"] == reports
    assert {"loadfile.dat", "loadfile.csv", "loadfile.xml"} < set(reports)


def _disturb_extraction(bench: Bench, home: Path) -> None:
    """Kill a slot that has written texts, and one that has written reports while the others are told of: it ends with the bytes
    of the one that nothing happened to."""
    holds = (bench.holdable("extract-end"), bench.holdable("finalise-end"))
    for tasks, hold in enumerate(holds):
        hold.after(tasks)
    process = bench.start("produce", "text", "last", "--out", str(home / "killed"), "--folder-files", "40")
    for hold in holds:
        slot = hold.until_reached(process)
        slot.kill()
        hold.let_go()
    bench.end(process)
    texts = tree(home / "texts")
    assert {"metadata.jsonl", "metadata.csv", "hashes.csv"} < set(texts)
    assert tree(home / "killed") == texts
    assert ": 0 faults" in bench.ask("produce", "check", str(home / "killed")).stdout


def _check_export(home: Path, files: dict[str, bytes], bench: Bench) -> None:
    """Natives have the hashes of the items that they are, texts what the index has; families are whole ranges."""
    assert ": 0 faults" in bench.ask("produce", "check", str(home / "calm")).stdout
    taken_in = bench.ask("produce", "import", str(home / "calm/loadfile.dat"), "--out", str(home / "theirs")).stdout
    assert ", 0 not imported" in taken_in
    items = [json.loads(line) for line in bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()]
    rows = csv_rows(home / "calm" / "loadfile.csv")
    taken = [item for item in items if not item["container"] or item["exceptions"]]
    holders = {item["parent"] for item in items}
    opened = {item["sha256"] for item in taken if item["container"] and item["id"] in holders}
    assert [row["begin"] for row in rows] == [f"EDB{n + 1:08d}" for n in range(len(taken))]
    assert sorted(row["sha256"] for row in rows) == sorted(item["sha256"] or "" for item in taken)
    by_begin = {row["begin"]: row for row in rows}
    for row in rows:
        assert row["begin_family"] <= row["begin"] <= row["end_family"]
        assert by_begin[row["begin_family"]]["end_family"] == row["end_family"]
        if row["sha256"] and row["sha256"] not in opened:  # what was read of a container is produced
            data = files[row["native"]]
            assert hashlib.sha256(data).hexdigest() == row["sha256"]
            assert hashlib.md5(data, usedforsecurity=False).hexdigest() == row["md5"]
        else:
            assert row["native"] == ""
        assert (row["text"] == "") or files[row["text"]].decode("utf-8")
    assert sum(path.is_file() for path in (home / "theirs").glob("[!.]*/*")) == len(rows)
    assert any(row["parent"] for row in rows)
    assert any(row["text"] for row in rows)
    hashes = csv_rows(home / "calm" / "hashes.csv")
    assert {row["path"]: row["sha256"] for row in hashes} == {
        path: hashlib.sha256(data).hexdigest() for path, data in files.items() if path.startswith("VOL")
    }
    for folder in {path.rpartition("/")[0] for path in files if path.startswith("VOL")}:
        assert sum(path.startswith(folder + "/") for path in files) <= 40 or len({
            row["begin_family"] for row in rows if row["native"].startswith(folder) or row["text"].startswith(folder)
        }) == 1  # fmt: skip


def _check_reported(bench: Bench, job: str) -> None:
    reported = json.loads(bench.ask("job", "show", job, "-o", "json").stdout)
    assert reported["type"] == "export"
    assert {"extract", "export", "finalise"} == set(reported["phases"])
    verified = bench.ask("verify", job).stdout
    assert "0 missing, 0 extra, 0 wrong" in verified
    assert "loadfile.dat loadfile.csv loadfile.xml: 0 faults" in verified
    assert "extraction" in bench.ask("job", "list").stdout
    out = bench.home / "wild"
    spoiled = next(path for path in sorted(out.rglob("*.txt")) if path.stat().st_size)
    before = spoiled.read_bytes()
    spoiled.write_bytes(b"?" + before[1:] + b"?")
    (spoiled.parent / "stray").write_bytes(b"")
    table = out / "loadfile.csv"
    whole = table.read_bytes()
    table.write_bytes(whole.replace(b"message/rfc822", b"message/rfc823", 1))
    verified = bench.ask("verify", job, check=1).stdout
    assert "0 missing, 1 extra, 2 wrong" in verified
    assert "loadfile.csv and loadfile.dat differ in MIMETYPE" in verified
    table.write_bytes(whole)
    spoiled.write_bytes(before)
    (spoiled.parent / "stray").unlink()


def _check_refused(bench: Bench, home: Path) -> None:
    """What makes no sense is one line that says what to do, and leaves everything as it was."""
    listed = [line for line in bench.ask("job", "list", "-o", "json").stdout.splitlines() if line]
    job = next(one["job_id"] for one in json.loads("".join(listed)) if one["type"] == "extraction")
    for line in ("review search {} x", "review dedupe {}", "review items {}", "job requeue {}", "review tag {} a b"):
        error = bench.ask(*line.format(job).split(), check=2).stderr
        assert "of type extraction" in error, error
    filled = home / "filled"
    filled.mkdir()
    (filled / "mine").write_text("x")
    for out, shown in (
        (home / "calm", "delete that job"),
        (filled, "not empty"),
        (bench.storage / "jobs" / "x", "its own files"),
        (bench.corpus / "data" / "x", "inside the other"),
    ):
        error = bench.ask("produce", "export", "last", "--out", str(out), check=2).stderr
        assert shown in error.replace("\n", " "), error
    nothing = bench.ask("produce", "text", "last", "--out", str(home / "none"), "--query", "zyxwvut0", check=2).stderr
    assert "no item is chosen" in nothing
    assert not (home / "none").exists()  # what was made for it is taken away
    assert "of type extraction" in bench.ask("produce", "export", job, "--out", str(home / "none"), check=2).stderr


def test_disturbed_imaging_makes_the_same_pages(bench: Bench) -> None:
    """A processing job whose slots are killed in both phases leaves what an undisturbed one leaves: a page a file, numbered
    through, PDFs with the pages that they have, a slip sheet for what cannot be drawn; an export takes them over."""
    home, asked = bench.home, ("--dpi", "72")
    holds = [bench.holdable(phase) for phase in ("render", "stamp")]
    with bench.standing():
        bench.end(bench.discover(corpus=_drawable(home / "source")))
        bench.edbench("produce", "images", "last", "--out", str(home / "calm"), *asked)
        for hold in holds:
            hold.after(0)
        process = bench.start("produce", "images", "last", "--out", str(home / "wild"), *asked)
        for hold in holds:
            slot = hold.until_reached(process)
            slot.kill()
            hold.let_go()
        job = bench.end(process).split()[-1]
        files = tree(home / "calm")
        wild = tree(home / "wild")
        assert {path for path in {*files, *wild} if files.get(path) != wild.get(path)} == set()
        _check_pages(home, files, bench)
        assert "metadata.jsonl loadfile.opt: 0 faults" in bench.ask("produce", "check", str(home / "calm")).stdout
        verified = bench.ask("verify", job).stdout
        assert "0 missing, 0 extra, 0 wrong" in verified
        assert "; of 0 the number differs from what the discovery found" in verified
        assert "loadfile.opt: 0 faults" in verified
        refused = bench.ask(
            "produce", "export", "last", "--images", job, "--out", str(home / "x"), "--prefix", "A", check=2
        ).stderr
        assert "remove prefix" in refused
        page, away = next(iter(sorted((home / "wild").rglob("*.tif")))), home / "away.tif"
        page.rename(away)
        exporting = ("produce", "export", "last", "--images", job, "--out", str(home / "all"))
        shown = bench.edbench(*exporting, check=1).stderr.replace("\n", " ")
        assert "is suspended" in shown
        assert "restore it" in shown
        away.rename(page)
        bench.edbench("job", "resume", "last")
        bench.until_over()
        made = tree(home / "all")
        assert {p: d for p, d in made.items() if "/IMAGES/" in p} == {p: d for p, d in files.items() if "/IMAGES/" in p}
        assert made["loadfile.opt"] == files["loadfile.opt"]
        reported = [
            {row["name"]: row["exceptions"] for row in csv_rows(home / path)}
            for path in ("calm/metadata.csv", "all/loadfile.csv")
        ]
        assert reported[0] == reported[1]  # what went wrong with the pages is told beside them
        assert any(reported[0].values())
        assert "loadfile.opt: 0 faults" in bench.ask("produce", "check", str(home / "all")).stdout


def _drawable(source: Path) -> Path:
    """A few of each that is drawn in its own way, and a document that expands beyond the limits."""
    (source / "ann").mkdir(parents=True)
    for number, kind in enumerate(("pdf", "pdf", "docx", "docx", "png", "txt", "txt")):
        (source / "ann" / f"{number}.{kind}").write_bytes(make(kind, number, 12_000).data)
    with zipfile.ZipFile(source / "ann" / "0.docx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("[Content_Types].xml", _TYPES)
        bomb.writestr("word/document.xml", bytes(40_000_000))
    return source


def _check_pages(home: Path, files: dict[str, bytes], bench: Bench) -> None:
    rows = csv_rows(home / "calm" / "metadata.csv")
    images = sorted(path for path in files if "/IMAGES/" in path)
    assert [path[-15:-4] for path in images] == [f"EDB{n + 1:08d}" for n in range(len(images))]
    assert all(files[path].startswith(b"II*") for path in images)
    assert sum(int(row["pages"]) for row in rows) == len(images)
    reported = files["loadfile.opt"].decode().splitlines()
    assert [line.split(",")[0] for line in reported] == [path[-15:-4] for path in images]
    assert sum(int(line.split(",")[6]) for line in reported if ",Y," in line) == len(images)
    drawn = [row for row in rows if row["media_type"] == "application/pdf" and not row["exceptions"]]
    assert drawn
    assert all(row["pages"] == row["found_pages"] for row in drawn)
    pictures = [row for row in rows if row["media_type"] in ("image/png", "image/jpeg") and not row["exceptions"]]
    assert pictures
    assert all("handler_error" not in row["exceptions"] for row in rows)
    bomb, *documents = (row for row in rows if row["media_type"].endswith("wordprocessingml.document"))
    assert (bomb["name"], bomb["pages"]) == ("0.docx", "1")
    assert documents
    if shutil.which("soffice") is None:  # slip sheets that say so
        assert all(row["pages"] == "1" and "unsupported" in row["exceptions"] for row in (bomb, *documents))
    else:
        assert "expansion_limit" in bomb["exceptions"]
        assert not any(row["exceptions"] for row in documents)
        assert any(int(row["pages"]) > 1 for row in documents)
    assert any(int(row["pages"]) > 1 for row in rows)


def _few(bench: Bench) -> Path:
    """A source of some small messages and texts, and of an archive: drawing the pages of a corpus takes minutes."""
    custodian = bench.home / "few" / "anna"
    custodian.mkdir(parents=True)
    sizes = {path: path.stat().st_size for path in (bench.corpus / "data").rglob("*") if path.is_file()}
    for suffix, number in ((".eml", 3), (".txt", 2), (".zip", 1)):
        found = sorted((size, path) for path, size in sizes.items() if size and path.suffix == suffix)
        for place, (_, path) in enumerate(found[:number]):
            shutil.copyfile(path, custodian / f"{place}{suffix}")
    return custodian.parent


def test_jobs_of_several_types_run_at_once(bench: Bench) -> None:
    """A discovery, an extraction, a processing and an export are in the middle of their work together, of different
    priorities, and what each writes is right; the study of job types puts the four side by side."""
    home, crew = bench.home, ("--workers", "1", "--slots", "2")
    few = ("--query", "size:<6000 AND type:text", "--prefix", "PAGE", "--dpi", "72")  # pages of all of it take minutes
    with bench.attached():
        with bench.standing():
            bench.end(bench.discover())
        holds = [bench.hold(phase, 0) for phase in ("expand", "extract", "render")]
        job = bench.result()["job_id"]
        # Each job's tasks are out before the next one comes, and that one brings more slots than messages lie before its own:
        # what is held lets no slot go.
        begin = (
            lambda: bench.discover(*crew, "--priority", "low"),
            lambda: bench.start("produce", "text", job, "--out", str(home / "texts"), *crew),
            lambda: bench.start("produce", "images", job, "--out", str(home / "pages"), *few, *crew),
            lambda: bench.start(
                "produce", "export", job, "--out", str(home / "out"), "--priority", "high", *crew[:3], "8"
            ),
        )
        running: list[Running] = []
        out, together = (
            f"SELECT count(DISTINCT job) FROM task WHERE state IN ({states})"
            for states in ("'dispatched', 'running'", "'running'")
        )
        for start in begin:
            running.append(start())
            until(lambda: bench.query(out)[0][0] == len(running), "its tasks are out")
        until(lambda: bench.query(together)[0][0] == 4, "tasks of all four run")
        for hold in holds:
            hold.let_go()
        for process in running:
            bench.end(process)
        listed = json.loads(bench.ask("job", "list", "-o", "json").stdout)
        assert sorted(job["type"] for job in listed) == ["discovery", "discovery", "export", "extraction", "processing"]
        for one in listed:
            bench.ask("verify", one["job_id"])
        once = ("--repeats", "1", "--min-seconds", "1", "--seed", "363", "--no-baseline")
        line = ("bench", "job-types", "--corpus", str(_few(bench)), *once)
        bench.edbench(*line, "--slots", "2", "--workers", "2")
        (made,) = (bench.storage / "results").glob("day-*/result.json")
        (point,) = json.loads(made.read_text())["points"]
        items = {job["type"]: job["items"] for job in point["repeats"][0]["jobs"]}
        assert items["discovery"] >= items["extraction"] == items["export"] > 0
        assert items.keys() == {"discovery", "search", "tag", "export", "extraction", "processing"}
        assert all(job["cpu_s"] is not None for job in point["repeats"][0]["jobs"] if job["calls"])
