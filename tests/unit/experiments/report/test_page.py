"""The report's files: one page that needs nothing else, figures and series beside it."""

import csv
import dataclasses
import io
from pathlib import Path

import pytest
import report_results as made
from lxml import etree, html
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from rich.console import Console

from cli.bench import show_study
from controller.labels.rules import advice_on
from core.errors import RunFailed
from experiments.report import page
from experiments.report.page import build_sections, page_html, plots, write_report
from experiments.report.parts import Plot, Tabled
from experiments.report.plots import figure_svg, write_png
from experiments.result.schema import Knee
from experiments.workloads.discovery.result import Result

HOSTILE = "<script>alert('x')</script>\"&$x_1$\x01 http://example.org/"


@pytest.fixture(scope="module")
def result() -> Result:
    """A small result."""
    return made.result(made.point(1, repeats=2), made.point(2, repeats=2))


@pytest.fixture(scope="module")
def written(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of its report."""
    directory = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "write_png", write_png)
        assert write_report(result, directory) == directory / "report.html"
    return directory


def _page(directory: Path) -> etree._Element:
    return etree.fromstring((directory / "report.html").read_bytes())


def test_page_is_well_formed_and_begins_with_the_verdict(written: Path, result: Result) -> None:
    body = _page(written).find("body")
    assert "".join(body[0].itertext()) == result.verdict
    lenient = html.fromstring((written / "report.html").read_text(encoding="utf-8"))
    assert len(lenient.findall(".//section")) == len(body.findall("section")) == 18


def test_page_needs_nothing_from_outside(written: Path) -> None:
    text = (written / "report.html").read_text(encoding="utf-8")
    assert "http" not in text
    page = _page(written)
    assert not [e.tag for e in page.iter("script", "link", "iframe", "object", "img")]
    assert all("src" not in element.attrib for element in page.iter())
    assert all(e.get("href", "#").startswith("#") for e in page.iter())
    assert "@import" not in text


def test_ids_are_unique_and_links_lead_somewhere(written: Path) -> None:
    """Figures drawn by the same library must not share ids, or one takes another's clip paths."""
    page = _page(written)
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(e.get("href", "")[1:] in ids for e in page.iter() if e.get("href"))


def test_figures_take_the_colours_of_light_and_dark(written: Path) -> None:
    page = _page(written)
    drawn = "".join(etree.tostring(svg, encoding="unicode") for svg in page.iter("svg"))
    assert "var(--s0)" in drawn
    assert "var(--ink)" in drawn
    assert "#0072b2" not in drawn
    style = page.findtext(".//style") or ""
    assert "prefers-color-scheme:dark" in style
    assert "@media print" in style


def test_every_figure_is_described(written: Path) -> None:
    for figure in _page(written).iter("figure"):
        sentence = figure.find("figcaption")
        drawing = figure.find("svg")
        assert drawing.get("aria-label") == sentence.text


def test_each_figure_is_a_png_and_each_series_a_csv(written: Path, result: Result) -> None:
    parts = [part for section in build_sections(result) for part in section.parts]
    assert {p.stem for p in (written / "figures").iterdir()} == {p.name for p in parts if isinstance(p, Plot)}
    names = [part.series.name for part in parts if isinstance(part, Plot | Tabled)]
    assert len(names) == len(set(names))
    assert {p.stem for p in (written / "series").iterdir()} == set(names)
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in (written / "figures").iterdir())


def test_csv_holds_the_series(written: Path, result: Result) -> None:
    """Numbers in full, what is not known as nothing; the calls are those of the run, second by second."""
    for part in (part for section in build_sections(result) for part in section.parts):
        if isinstance(part, Plot | Tabled):
            with (written / "series" / f"{part.series.name}.csv").open(encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            assert rows[0] == list(part.series.header)
            assert rows[1:] == [["" if cell is None else str(cell) for cell in row] for row in part.series.rows]
    with (written / "series" / "calls.csv").open(encoding="utf-8", newline="") as file:
        of_two = [row for row in csv.DictReader(file) if row["workers"] == "2"]
    shown = next(run for run in result.points[1].repeats if str(run.repeat) == of_two[0]["repeat"])
    assert [(float(row["time_s"]), int(row["read_calls"])) for row in of_two] == [
        (at, ops["read"]) for at, ops in shown.series.calls_per_second
    ]


def test_a_figure_is_laid_out_once_and_drawn_once_for_each_file(result: Result, tmp_path: Path) -> None:
    made = [plot.figure for plot in plots(build_sections(result))]
    with pytest.MonkeyPatch.context() as patch:
        laid_out, drawn = _counted(patch, ConstrainedLayoutEngine, "execute"), _counted(patch, Figure, "draw")
        for number, figure in enumerate(made):
            figure_svg(figure, f"f{number}", "")
            before = [axes.get_position().bounds for axes in figure.axes]
            write_png(figure, tmp_path / f"{number}.png")
            assert [axes.get_position().bounds for axes in figure.axes] == before
    assert (len(laid_out), len(drawn)) == (len(made), 2 * len(made))
    assert len(made) > 5


def _counted(patch: pytest.MonkeyPatch, owner: type, name: str) -> list[str]:
    """Calls of a method from now on."""
    called, method = list[str](), getattr(owner, name)

    def counting(*given: object) -> object:
        called.append(name)
        return method(*given)

    patch.setattr(owner, name, counting)
    return called


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    run = made.run(1, slots=1, names=[HOSTILE])
    run = dataclasses.replace(run, result=run.result | {"exceptions": {HOSTILE: 1}, "state": HOSTILE})
    hostile = made.result(
        made.point(1, slots=1, runs=[run]), verdict=HOSTILE, warnings=(HOSTILE,), labels=(HOSTILE,), run_id=HOSTILE,
        conditions={HOSTILE: {"x": HOSTILE}},
    )  # fmt: skip
    write_report(hostile, tmp_path)
    page = _page(tmp_path)
    assert not list(page.iter("script"))
    assert "".join(page.find("body")[0].itertext()) == HOSTILE.replace("\x01", "\ufffd")  # type: ignore[index]
    drawn = [text for svg in page.iter("svg") for text in svg.itertext()]
    assert any("alert('x')" in text and "$x_1$" in text for text in drawn)


def test_only_the_knee_experiment_has_a_knee(result: Result) -> None:
    """Its section stands second there and nowhere else."""
    found = Knee(bounds_us={"read": 20_000.0}, peak=0, knee=None, broken="read p99 21.0 ms over 20.0 ms at 1 worker")
    sections = build_sections(dataclasses.replace(result, kind="knee", knee=found))
    assert [section.anchor for section in sections][:2] == ["points", "knee"]
    assert "knee" not in [section.anchor for section in build_sections(result)]


def test_doubt_is_seen(result: Result) -> None:
    plain = dataclasses.replace(result, labels=("latencies are closed-loop",), verdict="fine")
    assert 'class="verdict"' in page_html(plain, [])
    assert 'class="verdict doubt"' in page_html(result, [])


def test_a_place_that_cannot_be_written_is_one_clear_error(result: Result, tmp_path: Path) -> None:
    """Not a traceback after hours of experiment: the directory and the reason."""
    file = tmp_path / "taken"
    file.write_text("")
    with pytest.raises(RunFailed, match=r"cannot write the report to .*taken"):
        write_report(result, file)


def test_what_to_do_about_a_label_stands_on_the_page_and_on_the_command_line(result: Result) -> None:
    unpaired = dataclasses.replace(result, labels=("NO BASELINE at 1 of 2 points",))
    shown = io.StringIO()
    show_study(Console(file=shown, width=200), unpaired)
    (line,) = advice_on(unpaired.labels)
    assert shown.getvalue().count(line) == 1
    assert page_html(unpaired, []).count(line) == 1
    assert "about the labels" not in page_html(dataclasses.replace(result, labels=()), [])
