"""What filers' own commands printed, read: the samples were captured from servers that served a discovery job."""

import io
import json
import sys
from pathlib import Path

import pytest

from cli.main import OK, USAGE, main
from controller.arrays.collectors import COLLECTORS, READ, WRITTEN
from controller.arrays.mapping import collect, collected_map, is_collected, read_collected
from core.errors import UsageError

SAMPLES = Path(__file__).parent / "samples"
BEFORE = {kind: (SAMPLES / f"{kind}-before.txt").read_text() for kind in COLLECTORS}
AFTER = {kind: (SAMPLES / f"{kind}-after.txt").read_text() for kind in COLLECTORS}


@pytest.mark.parametrize("kind", COLLECTORS)
def test_counts_grow_from_one_sample_to_the_next(kind: str) -> None:
    before, after = COLLECTORS[kind].parse(BEFORE[kind]), COLLECTORS[kind].parse(AFTER[kind])
    assert set(before) <= set(after)
    assert all(after[name] >= count for name, count in before.items())
    assert sum(after.values()) > sum(before.values())


@pytest.mark.parametrize("kind", COLLECTORS)
@pytest.mark.parametrize("text", ["", "no such thing", "<cliOutput></cliOutput>", "\x00"])
def test_what_is_no_such_output_is_named(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        COLLECTORS[kind].parse(text)


@pytest.mark.parametrize("kind", COLLECTORS)
def test_what_was_cut_off_is_not_taken(kind: str) -> None:
    whole = COLLECTORS[kind].parse(AFTER[kind])
    lines = AFTER[kind].rstrip().splitlines(keepends=True)
    for cut in range(len(lines)):
        text = "".join(lines[:cut]) + lines[cut][: len(lines[cut].rstrip()) // 2]
        try:
            part = COLLECTORS[kind].parse(text)
        except ValueError:
            continue
        assert set(part) == set(whole), "a session less, at most"


class Asked:
    """A clock that stands still, and a command that prints one sample after another."""

    def __init__(self, directory: Path, texts: list[str]) -> None:
        self.at, self.left = 1_700_000_000.0, texts
        self.file = directory / "printed"
        self.next()

    def next(self) -> bool:
        if not self.left:
            return False
        self.at += 10
        self.file.write_text(self.left.pop(0))
        return True

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-c", f"print(open({str(self.file)!r}).read())"]


@pytest.mark.parametrize("kind", COLLECTORS)
def test_what_is_collected_is_growth_a_second(kind: str, tmp_path: Path) -> None:
    """Ten seconds lie between the two samples; bytes are MB/s, all else ops a second."""
    asked, out, shown = Asked(tmp_path, [BEFORE[kind], "nonsense", AFTER[kind]]), io.StringIO(), []
    turns = list(collect(kind, asked.command, out, name="it", now=lambda: asked.at, wait=asked.next, say=shown.append))
    assert len(turns) == 2
    assert len(shown) == 1, "the nonsense is told and left out"
    file = tmp_path / "c.jsonl"
    file.write_text(out.getvalue() + '{"at":17')  # killed while it wrote
    assert is_collected(file)
    mapping = collected_map(file)
    readings = read_collected(file, mapping)
    assert mapping.name == "it"
    assert [bad.line for bad in readings.bad] == [4]
    before, after = COLLECTORS[kind].parse(BEFORE[kind]), COLLECTORS[kind].parse(AFTER[kind])
    for column, points in readings.points.items():
        if column.origin in before:
            ((at, value),) = points
            assert at == 1_700_000_030.0
            assert value == pytest.approx((after[column.origin] - before[column.origin]) / 20 * column.scale)
            assert column.unit == ("MB/s" if column.origin in (READ, WRITTEN) else "filer ops/s")


def test_a_command_that_does_not_work_is_reported_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.jsonl"
    for command, shows in (
        (["/nowhere/gluster"], "No such file"),
        ([sys.executable, "-c", "import sys; sys.exit('volume edb is not started')"], "not started"),
        ([sys.executable, "-c", "print('all is well')"], "did not print what"),
    ):
        assert main(["counters", "collect", "glusterfs", "--to", str(out), "--", *command], {}) == USAGE
        (line,) = capsys.readouterr().err.splitlines()
        assert shows in line
        assert not out.exists()
    assert main(["counters", "collect", "netapp", "--to", str(out), "--", "true"], {}) == USAGE
    assert "glusterfs or moosefs" in capsys.readouterr().err
    out.write_text("mine")
    asked = Asked(tmp_path, [BEFORE["moosefs"]])
    assert main(["counters", "collect", "moosefs", "--to", str(out), "--", *asked.command], {}) == USAGE
    assert out.read_text() == "mine"


def test_the_command_collects_for_so_long(tmp_path: Path) -> None:
    """What it writes is what `edbench counters import` reads."""
    asked, out = Asked(tmp_path, [BEFORE["moosefs"]]), tmp_path / "c.jsonl"
    arguments = ["--every", "0.1", "--seconds", "0.2", "--array-name", "master", "--to", str(out)]
    assert main(["counters", "collect", "moosefs", *arguments, "--", *asked.command], {}) == OK
    header, *moments = map(json.loads, out.read_text().splitlines())
    assert header["name"] == "master"
    assert len(moments) == 3
    assert collected_map(out, "other").name == "other"


def test_other_files_are_not_taken_for_it(tmp_path: Path) -> None:
    file = tmp_path / "f"
    for text in ("", "t,v\n1,2\n", '{"schema":"edbench-counters/9","name":"x"}\n', "[]"):
        file.write_text(text)
        assert not is_collected(file)
        with pytest.raises(UsageError, match="its first line has no schema edbench-counters"):
            collected_map(file)
    assert not is_collected(tmp_path / "none")
