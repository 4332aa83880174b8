"""A processing job over PDFs beside PDFium and the encoder alone making TIFFs of the same pages;
`python -m benchmarks.imaging --documents 100`."""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pypdfium2 as pdfium
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from benchmarks.bench_home import BenchHome, bench_home
from worker.phases.producing.imaging.written import encoded

DOCUMENTS, PAGES, DPI = 100, 10, 300
_PROCESSES = 2
_CREW = ("--workers", "1", "--slots", str(_PROCESSES))
_WORDS = (
    "budget",
    "meeting",
    "contract",
    "review",
    "schedule",
    "invoice",
    "delivery",
    "project",
    "estimate",
    "forecast",
)


@dataclass(frozen=True, slots=True)
class Imaged:
    """What one job took, and PDFium in as many processes."""

    pages: int
    job_s: float  # elapsed
    alone_s: float  # PDFium and the encoder, nothing written
    drawn_s: float  # PDFium alone, nothing encoded
    job_cpu_s: float  # processor time of the command, with workers and boxes …
    alone_cpu_s: float  # … and of the processes that drew and encoded

    @property
    def percent(self) -> float:
        """Of the rate of renderer and encoder."""
        return 100 * self.alone_s / self.job_s

    @property
    def cpu_percent(self) -> float:
        """What of the job's processor time renderer and encoder alone would have taken: with others at work beside, this
        holds."""
        return 100 * self.alone_cpu_s / self.job_cpu_s


def measure(home: BenchHome, documents: int = DOCUMENTS, repeats: int = 3) -> Imaged:
    """Medians of `repeats` jobs and drawings in turn."""
    source = home.directory / "source"
    _write(source, documents)
    home.discover(source, *_CREW)
    jobs: list[float] = []
    cpu: tuple[list[float], list[float]] = ([], [])  # of jobs, and alone
    alone: dict[Callable[[Path], tuple[int, float]], list[float]] = {_draw: [], _encode: []}
    for number in range(repeats):
        out, target = home.directory / f"out{number}", home.directory / "e.json"
        before = _children_s()
        home.run(
            "produce",
            "images",
            "last",
            "--out",
            str(out),
            "--dpi",
            str(DPI),
            "-o",
            "json",
            "--output-file",
            str(target),
            *_CREW,
        )
        cpu[0].append(_children_s() - before)
        told = json.loads(target.read_text())
        jobs.append(float(told["elapsed_s"]))
        home.run("job", "delete", str(told["job_id"]))
        with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
            files = sorted(source.rglob("*.pdf"))
            list(pool.map(_encode, files[:_PROCESSES]))  # the processes are there
            for task, seconds in alone.items():
                began = time.perf_counter()
                done = list(pool.map(task, files))
                seconds.append(time.perf_counter() - began)
        pages = sum(count for count, _ in done)
        cpu[1].append(sum(took for _, took in done))  # of the last task, that encodes
    return Imaged(
        pages,
        *(statistics.median(each) for each in (jobs, alone[_encode], alone[_draw], *cpu)),
    )


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _draw(path: Path) -> tuple[int, float]:
    """Its pages, and the processor time they took."""
    began = time.process_time()
    with pdfium.PdfDocument(path) as document:
        for number in range(len(document)):
            document[number].render(scale=DPI / 72, grayscale=True).close()
        return len(document), time.process_time() - began


def _encode(path: Path) -> tuple[int, float]:
    began = time.process_time()
    with pdfium.PdfDocument(path) as document:
        for number in range(len(document)):
            bitmap = document[number].render(scale=DPI / 72, grayscale=True)
            encoded(bitmap.to_pil(), DPI, "tiff")
            bitmap.close()
        return len(document), time.process_time() - began


def _write(source: Path, documents: int) -> None:
    """Pages of text in two typefaces, with lines and boxes."""
    chance = random.Random(3)
    directory = source / "ann"
    directory.mkdir(parents=True)
    for number in range(documents):
        canvas = Canvas(str(directory / f"{number:05d}.pdf"), pagesize=A4, invariant=True)
        for page in range(PAGES):
            canvas.setFont("Times-Bold", 16)
            canvas.drawString(60, 780, f"Report {number}, page {page + 1}")
            canvas.setFont("Helvetica", 10)
            for line in range(48):
                canvas.drawString(60, 750 - 14 * line, " ".join(chance.choices(_WORDS, k=11)))
            canvas.rect(50, 60, 500, 705)
            canvas.showPage()
        canvas.save()


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with bench_home() as home:
        print(told(measure(home, arguments.documents, arguments.repeats)))


def told(done: Imaged) -> str:
    """In one line."""
    return (
        f"{done.pages:,} pages of PDF at {DPI} dpi to TIFF with numbers: {done.job_s:.1f} s; in {_PROCESSES} processes"
        f" PDFium and the encoder alone {done.alone_s:.1f} s, of which PDFium {done.drawn_s:.1f}: {done.percent:.0f} % of their rate;"
        f" processor time {1e3 * done.job_cpu_s / done.pages:.0f} ms a page, of which these {1e3 * done.alone_cpu_s / done.pages:.0f}:"
        f" {done.cpu_percent:.0f} %"
    )


if __name__ == "__main__":
    main()
