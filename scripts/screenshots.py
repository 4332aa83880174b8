"""Write docs/images/*.png: the web UI before, during and after a real job, a result, and a chart of a real scale-up:
`make screenshots`.

Runs the commands of this checkout in /tmp/edbench, which must not exist, and takes pictures with headless Chromium. Exit status 1 with
one line on standard error if Chromium is missing or a command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 — the directory above is where they are found
from experiments.report.plots import counts_on_x, drawing, from_zero, new_figure
from experiments.report.style import FAINT, series_colour

EDBENCH = ROOT / ".venv" / "bin" / "edbench"
FILER = "cloud-nas"  # emulated, because a laptop has no filer
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DEADLINE_S = 600.0  # for a job on a busy machine
HOME = Path("/tmp/edbench")
HEIGHT = 1440  # of a window, so that charts are in the picture
LOOKS: tuple[tuple[int, Literal["light", "dark"], str], ...] = ((1400, "light", ""), (400, "dark", "-narrow"))
CHARTS = "canvas"  # a selector
SEEN_S = 8.0  # of the phase in which the running job is photographed, so that its charts have points
COLOURS = 128  # of a palette: text and lines need no more, and the files are a third as large


def main() -> int:
    """All pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--scale", default="0.008", help="of the corpus of the job")
    wanted = parser.parse_args()
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None or HOME.exists():
        missing = "Chromium is missing; apt-get install chromium fonts-dejavu-core"
        sys.stderr.write(f"screenshots: {f'{HOME} exists; remove it' if program else missing}\n")
        return 1
    HOME.mkdir(mode=0o700)  # of ours alone; the pictures show its name
    os.environ |= {"EDBENCH_STORAGE": f"{HOME}/storage", "EDBENCH_SCRATCH": f"{HOME}/scratch"}
    wanted.out.mkdir(parents=True, exist_ok=True)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            with _served(HOME) as server:
                _taken(browser, server, "/", wanted.out, "first", "Nothing to process yet")
            _job(browser, HOME, wanted.out, wanted.scale)
            _scale_up(HOME, wanted.out)
            (result,) = (HOME / "storage" / "results").glob("scale-up-*")
            with _served(HOME) as server:
                _taken(browser, server, f"/results/{result.name}", wanted.out, "result", "Everything as ZIP")
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"screenshots: {error}\n")
        return 1
    finally:
        shutil.rmtree(HOME)
    return 0


def _job(browser: Browser, home: Path, out: Path, scale: str) -> None:
    """The page of a discovery in phase index, of the same job once it is over, and of one whose source disappears."""
    corpus = home / "storage" / "corpora" / "sample"
    _edbench("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale)
    with _served(home) as server:
        job = _created(*server, "sample")
        _until(lambda: _job_of(*server, job)["phase"] in ("index", "finalise"))
        time.sleep(SEEN_S)
        _taken(browser, server, f"/jobs/{job}", out, "run", CHARTS)
        _until(lambda: _job_of(*server, job)["state"].startswith("completed"))
        _taken(browser, server, f"/jobs/{job}", out, "finished", CHARTS)
        failing = _created(*server, "unmounted")
        _until(lambda: _job_of(*server, failing)["phase"] != "walk")
        corpus.rename(corpus.with_name("unmounted"))
        _until(lambda: _job_of(*server, failing)["state"] == "suspended")
        _taken(browser, server, f"/jobs/{failing}", out, "suspended", CHARTS)


def _scale_up(home: Path, out: Path) -> None:
    """GB/hour against workers, of a scale-up on an emulated filer; its labels are in the picture."""
    corpus = f"{home}/storage/corpora/small"
    _edbench("corpus", "generate", corpus, "--profile", "reference", "--scale", "0.0002", "--seed", "7")
    measured = f"bench scale-up --workers 1,2,4 --slots 1 --repeats 3 --filer {FILER} --corpus"
    _edbench(*measured.split(), corpus)
    (file,) = home.glob("storage/results/*/result.json")
    result = json.loads(file.read_text(encoding="utf-8"))
    workers = [point["at"]["workers"] for point in result["points"]]
    rates = [point["figures"]["gb_per_hour_discovered"] for point in result["points"]]
    with drawing():
        figure, (axes,) = new_figure()
        middle = [rate["median"] for rate in rates]
        around = [[rate["median"] - rate["low"] for rate in rates], [rate["high"] - rate["median"] for rate in rates]]
        axes.errorbar(workers, middle, yerr=around, marker="o", capsize=3, color=series_colour(0), label="measured")
        axes.plot(workers, [middle[0] * each / workers[0] for each in workers], ":", color=FAINT.light, label="linear")
        counts_on_x(axes, workers, "workers")
        axes.set_ylabel("discovered GB/hour")
        axes.set_title("; ".join(label.partition(":")[0] for label in result["labels"]), fontsize="small")
        from_zero(axes)
        axes.legend()
        figure.savefig(out / "scale-up.png", dpi=130, bbox_inches="tight")
    _smaller(out / "scale-up.png")


def _edbench(*words: str) -> None:
    subprocess.run([EDBENCH, *words], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _served(home: Path) -> Iterator[tuple[str, str]]:
    """Address and token of a server on a free port; it is ended as with Ctrl-C."""
    server = subprocess.Popen([EDBENCH, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = next(word for line in server.stdout for word in line.split() if word.startswith("http"))
        address, _, _ = link.partition("/login")
        yield address, (home / "scratch" / "page-token").read_text().strip()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=DEADLINE_S)


def _created(address: str, token: str, name: str) -> str:
    """The id of a new job over the corpus."""
    order = {"corpus": "0:corpora/sample", "workers": 2, "name": name}
    return str(_asked(f"{address}/api/v1/jobs", token, order)["id"])


def _job_of(address: str, token: str, job: str) -> dict[str, Any]:
    return _asked(f"{address}/api/v1/jobs/{job}", token)


def _asked(url: str, token: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """GET, or POST of a body as JSON."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _taken(browser: Browser, server: tuple[str, str], path: str, out: Path, name: str, until: str) -> None:
    """A page in a wide light window (NAME.png) and in a narrow dark one (NAME-narrow.png), once it shows a text or a chart."""
    address, token = server
    for width, scheme, ending in LOOKS:
        context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
        context.set_default_timeout(1000 * DEADLINE_S)
        page = context.new_page()
        page.goto(f"{address}/login#token={token}")
        page.wait_for_url(lambda url: "/login" not in url)
        page.goto(f"{address}{path}")
        page.wait_for_selector(until if until == CHARTS else f"text={until}")
        page.wait_for_load_state("load")
        file = out / f"{name}{ending}.png"
        page.screenshot(path=file, animations="disabled")
        _smaller(file)
        context.close()


def _smaller(file: Path) -> None:
    Image.open(file).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


def _until(done: Any) -> None:
    end = time.monotonic() + DEADLINE_S
    while not done():
        if time.monotonic() > end:
            raise TimeoutError("the job did not come that far")
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
