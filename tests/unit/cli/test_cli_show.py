"""What people see."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from job_figures import TRACE, figures
from made_records import snapshot
from rich.console import Console

from cli.context import CommandContext
from cli.output import await_answer, bytes_text, harmless, table
from cli.progress import PLAIN_SECONDS, live_line, panel, progress_display
from cli.review import highlighted, show_hits
from cli.summary import show_result
from controller.jobs.figures import Figures
from controller.search.report import CustodianHits, HitReport, Hits, TermHits


def shown(of: Figures) -> str:
    """The summary as text."""
    out = io.StringIO()
    show_result(Console(file=out, width=160), of)
    return out.getvalue()


def test_the_summary_names_both_rates_and_what_they_were_measured_on() -> None:
    """GB/hour says whether raw or discovered, and the labels stand beside it."""
    text = shown(figures())
    for piece in (
        "raw         45.0 GB, 9.5 GB/hour",
        "discovered  75.0 GB, 15.8 GB/hour",
        "cache state unknown",
        "adds up",
    ):
        assert piece in text
    assert "DOES NOT" not in text


def test_what_was_emulated_is_named_first() -> None:
    """The filer ops of its calls are shown over the seconds in which there were calls."""
    station = {"utilisation": 0.5, "mean_wait_us": 10.0, "calls": 7, "filer_ops": 3_000.0}
    filer = {"name": "r1", "scale": 2.0, "seconds": 4.0, "stations": {"metadata": station, "data": station}}
    text = shown(figures(filer=filer)).splitlines()
    assert text[0].split() == ["EMULATED", "FILER", "r1,", "scale", "1/2"]
    assert text[2].split() == ["filer", "ops", "6,000,", "1,500", "a", "second"]


@pytest.mark.parametrize("custodians", [False, True])
def test_a_hit_report_has_numbers_under_its_titles(custodians: bool, capsys: pytest.CaptureFixture[str]) -> None:
    hits = {"items": 5, "items_with_family": 7, "families": 4, "unique_items": 3, "unique_families": 2}
    one = CustodianHits(**hits, custodian="anna")
    term = TermHits(**hits, line=1, term="budget", same_as_line=None, custodians=[one])
    report = HitReport(terms=[term], total=Hits(**hits), custodians=[one], searched_items=9)
    show_hits(CommandContext({}), report, custodians=custodians)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    per_custodian = [["anna", "5", "7", "4", "3", "2"]] if custodians else []
    total = ["any", "term", "5", "7", "4", "3", "2"]
    assert shown[2:] == [["1", "budget", "5", "7", "4", "3", "2"], *per_custodian, total, *per_custodian]


def test_a_table_refuses_a_row_with_more_cells_than_titles() -> None:
    with pytest.raises(ValueError, match="3 cells for 2 titles"):
        table(("a", "b"), [(1, 2, 3)])


@pytest.mark.parametrize("width", [80, 40])
def test_a_terminal_of_any_width_shows_each_number_whole(width: int) -> None:
    """Where the columns do not fit, a row is a block of lines; the caption stays."""
    out = io.StringIO()
    made = table(
        ("job", "state", *"abcdefg"), [("j" * 25, "done", *["12,345 [9 – 99]"] * 7)], right=range(2, 9), whole=(0,)
    )
    made.caption = "storage: local"
    Console(file=out, width=width).print(made)
    assert out.getvalue().count("12,345 [9 – 99]") == 7
    assert {"j" * 25, "done", "storage:", "local"} <= set(out.getvalue().split())


def test_a_name_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """In a line and in a table, also one that is no markup at all."""
    for name in (":cat: [bold].txt", "[red]x[/] [/bold]"):
        CommandContext({}).out.print(name, table(("name",), [(name,)]))
        assert capsys.readouterr().out.count(name) == 2


def test_a_label_states_what_to_do_about_it() -> None:
    text = shown(figures(labels=["CACHED: not a storage result", "GENERATOR-LIMITED", "latencies are closed-loop"]))
    todo = [line for line in text.splitlines() if line.startswith("what to do")]
    assert ["CACHED" in todo[0], "GENERATOR-LIMITED" in todo[1], len(todo)] == [True, True, 2]


def test_what_the_processor_dominates_is_marked() -> None:
    read = {"count": 5, "bytes": 10, "errors": 0, "p50_us": 1.0, "p99_us": 2.0, "max_us": 3.0, "processor": ["p99"]}
    time = {"call_s": 10.0, "service_s": 5.0, "queue_s": 2.0, "processor_s": 3.0, "exact": True, "dominated": {}}
    text = shown(figures(calls={"read": read}, call_time=time))
    assert "2†" in text
    assert "1†" not in text
    assert "10.0 s over all slots: 50% service, 20% in the filer's queues, 30% waiting for a core" in text
    bound = shown(figures(call_time=time | {"queue_s": None, "exact": False}))
    assert "about 30% waiting for a core" in bound
    assert "†" not in bound


def test_calls_that_move_bytes_are_shown_by_size() -> None:
    sizes = {
        "to 4 KiB": {"count": 7, "p50_us": 11.0, "p99_us": 12.0},
        "over 1 MiB": {"count": 3, "p50_us": 21.0, "p99_us": 4321.0},
    }
    read = {"count": 10, "bytes": 10, "errors": 0, "p50_us": 11.0, "p99_us": 4321.0, "max_us": 5000.0, "sizes": sizes}
    calls = {"read": read, "stat": {"count": 1, "bytes": 0, "errors": 0, "p50_us": 1.0, "p99_us": 1.0, "max_us": 1.0}}
    lines = [line.split() for line in shown(figures(calls=calls)).splitlines()]
    at = lines.index(["read", "10", "10", "B", "0", "11", "4,321"])
    assert lines[at + 1 : at + 4] == [
        ["to", "4", "KiB", "7", "11", "12"], ["over", "1", "MiB", "3", "21", "4,321"], ["stat", "1", "0", "B", "0", "1", "1"],
    ]  # fmt: skip


def test_what_is_not_recorded_is_named() -> None:
    nobody = {"recorded": False, "read_bytes": None, "written_bytes": None, "when": "w", "counted_by": "t"}
    kinds = [
        {
            "kind": "calls of the job",
            "recorded": True,
            "read_bytes": 60,
            "written_bytes": 20,
            "when": "w",
            "counted_by": "t",
        },
        {"kind": "databases", "recorded": False, "read_bytes": 5, "written_bytes": 15, "when": "w", "counted_by": "t"},
        {"kind": "trace parts"} | nobody,
    ]
    text = shown(figures(io={"kinds": kinds, "counters": [], "unrecorded_share": 0.2}))
    assert "20% of the known bytes are not recorded: databases 20 B; not counted: trace parts" in text
    assert "not recorded" not in shown(figures())


def test_wire_read_over_call_read_is_in_the_summary() -> None:
    share = {"seconds": 1.0, "call_read_bytes": 9, "wire_read_bytes": 6}
    phases = {"walk": share | {"ratio": None, "why": "nothing was read by calls"}, "expand": share | {"ratio": 0.94}}
    wire = {"total": share | {"ratio": 0.66}, "phases": phases, "sources": [], "other_jobs": 0}
    assert "wire-read ÷ call-read 0.66 (expand 0.94)" in shown(figures(wire=wire))
    assert "wire" not in shown(figures())


def test_a_trace_is_in_the_summary_with_what_it_lacks() -> None:
    lines = [line.strip() for line in shown(figures(trace=TRACE)).splitlines()]
    assert "trace       /s/t (8.1 kB, 1,000 calls)" in lines
    assert "1,000 calls, 12 more are lost" in shown(figures(trace=TRACE | {"lost": 12}))
    assert "more are lost" not in shown(figures())


def test_counts_that_do_not_add_up_are_shouted() -> None:
    """A broken promise is not hidden in a table."""
    assert "DOES NOT ADD UP" in shown(figures(children={"expected": 11, "emitted": 8, "failed": 2}))
    assert "DOES NOT ADD UP: a.zip" in shown(figures(violations=["a.zip: expected 3, emitted 1, failed 1, rows 1"]))


def test_matches_are_bold_and_nothing_is_lost() -> None:
    text = highlighted("one \x02two\x03 three\nfour \x02five\x03")
    assert text.plain == "one two three four five"
    assert [text.plain[span.start : span.end] for span in text.spans] == ["two", "five"]


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (45_000_000_000, "45.0 GB")],
)
def test_sizes_are_decimal(nbytes: int, text: str) -> None:
    assert bytes_text(nbytes) == text


def test_text_of_evidence_does_not_drive_a_terminal() -> None:
    assert harmless("a\tb\nc\x1b[2Jd\re\x9bf\u0301") == "a\tb\nc\ufffd[2Jd\ufffde\ufffdf\u0301"


def test_a_pipe_gets_one_plain_line_every_five_seconds() -> None:
    out = io.StringIO()
    with progress_display(Console(file=out, width=200)) as display:
        assert display.every == PLAIN_SECONDS
        for tenth in range(161):
            display.show(snapshot(), tenth / 10)
    lines = out.getvalue().splitlines()
    assert len(lines) == int(16 / PLAIN_SECONDS)
    assert all(line.startswith("index 50 % · 10 of 20 items") and line.isprintable() for line in lines)


def test_a_step_is_timed_from_its_beginning_while_its_numbers_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it shows 0.0 s on a terminal and nothing elsewhere. Another step is timed from its own beginning."""
    out, now = io.StringIO(), iter((0.0, 0.0, 6.0, 7.0, 20.0))
    monkeypatch.setattr("cli.progress.time", SimpleNamespace(monotonic=lambda: next(now)))
    with live_line(Console(file=out, width=200)) as show:
        for line in ("generates 0 B of 2.00 GB", "generates 1.00 GB of 2.00 GB", "copies", ""):
            show(line)
    assert out.getvalue().splitlines() == ["generates 1.00 GB of 2.00 GB, 6.0 s", "copies, 13 s"]


def test_the_panel_shows_everything_that_is_asked_for() -> None:
    """Phase, items, GB/hour now and since start, calls, exceptions, time; with and without a known share."""
    for share in (None, 0.5):
        out = io.StringIO()
        Console(file=out, width=160).print(panel(snapshot(share=share)))
        shown = out.getvalue()
        for piece in ("index", "10 of 20 items", "4.0 now, 2.0 since start", "5", "6 exceptions", "7.0 s elapsed"):
            assert piece in shown


REPOSITORY = Path(__file__).parents[3]
# The opening of a FIFO that nobody writes to waits as a call to a dead server does.
_COMMAND = """
import sys
from pathlib import Path
from cli.output import await_answer
await_answer(Path(sys.argv[1]), waits="job 1 is suspended; ", look=lambda path: open(path), patience=0.05)
print("went on")
"""


def _command(fifo: Path) -> subprocess.Popen[str]:
    """A command that looks at it; it has said that there is no answer."""
    started = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(fifo)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr.readline() == (
        f"edbench: job 1 is suspended; the storage at {fifo} has not answered for 0.05 s; check its server."
        " Waiting; Ctrl-C exits\n"
    )
    return started


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def test_a_silent_storage_is_reported_and_waited_for(fifo: Path) -> None:
    command = _command(fifo)
    with fifo.open("w"):  # whoever looks is answered
        out, err = command.communicate(timeout=300)
    assert (out, err) == ("went on\n", f"edbench: the storage at {fifo} answers\n")
    assert command.returncode == 0


def test_ctrl_c_ends_the_waiting(fifo: Path) -> None:
    """The command and its pipes, though the look still waits: whoever reads from it comes to the end."""
    command = _command(fifo)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=300)
    assert out == ""
    assert err.rstrip().endswith("KeyboardInterrupt")
    os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))  # refused where nobody looks any more; now that goes, too


def test_storage_that_answers_is_not_spoken_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = psutil.Process().children()  # of other tests
    await_answer(tmp_path, tmp_path / "none", patience=60.0)
    assert capfd.readouterr().err == ""
    assert [child for child in psutil.Process().children() if child not in before] == []
