"""Write docs/images/*.png: the web UI before, during and after a real job, a job that fails, the list of both, a
result, and a chart of a real scale-up: `make screenshots`.

Runs the commands of this checkout in /tmp/edbench, which must not exist, and takes pictures with headless Chromium.
Exit status 1 with one line on standard error if Chromium is missing or a command fails."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 — imports from the directory above
from experiments.report.plots import counts_on_x, figure_of, from_zero
from experiments.report.style import FAINT, series_colour

EDBENCH = ROOT / ".venv" / "bin" / "edbench"
FILER = "cloud-nas"  # emulated, because a laptop has no filer
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DEADLINE_S = 600.0  # for a job on a busy machine
HOME = Path("/tmp/edbench")
HEIGHT = 1440  # of a window, so that charts are in the picture
Look = tuple[int, Literal["light", "dark"], str]
LOOKS: tuple[Look, ...] = ((1400, "light", ""), (400, "dark", "-narrow"))
OTHERS: tuple[Look, ...] = ((1400, "dark", "-dark"), (400, "light", "-narrow-light"))
CHARTS = "canvas"  # a selector
SEEN_S = 4.0  # of the phase in which the running job is photographed, so that its charts have points
COLOURS = 128  # of a palette: text and lines need no more, and the files are a third as large


def main() -> int:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--scale", default="0.016", help="of the corpus of the job")
    parser.add_argument("--jobs", action="store_true", help="no scale-up, and no pictures of it")
    parser.add_argument("--every", action="store_true", help="also wide and dark, and narrow and light, to look at")
    wanted = parser.parse_args()
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None or HOME.exists():
        missing = "Chromium is missing; apt-get install chromium-headless-shell fonts-dejavu-core"
        sys.stderr.write(f"screenshots: {f'{HOME} exists; remove it' if program else missing}\n")
        return 1
    HOME.mkdir(mode=0o700)  # ours alone; the pictures show its name
    os.environ |= {"EDBENCH_STORAGE": f"{HOME}/storage", "EDBENCH_SCRATCH": f"{HOME}/scratch"}
    wanted.out.mkdir(parents=True, exist_ok=True)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            camera = Camera(browser, wanted.out, LOOKS + OTHERS if wanted.every else LOOKS)
            with _served(HOME) as server:
                camera.take(server, "/", "first", "Nothing to process yet")
            _jobs(camera, HOME, wanted.scale)
            if not wanted.jobs:
                _scale_up(HOME, wanted.out)
                (result,) = (HOME / "storage" / "results").glob("scale-up-*")
                with _served(HOME) as server:
                    camera.take(server, f"/results/{result.name}", "result", "Everything as ZIP")
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"screenshots: {error}\n")
        return 1
    finally:
        shutil.rmtree(HOME)
    return 0


@dataclass(frozen=True, slots=True)
class Camera:
    """A browser that takes each picture in every look."""

    browser: Browser
    out: Path
    looks: tuple[Look, ...]

    def take(self, server: tuple[str, str], path: str, name: str, until: str) -> None:
        """Photograph a page, once it shows a text or a chart; the end of the file's name identifies the look."""
        address, token = server
        for width, scheme, ending in self.looks:
            context = self.browser.new_context(
                viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce"
            )
            context.set_default_timeout(1000 * DEADLINE_S)
            page = context.new_page()
            page.goto(f"{address}/login#token={token}")
            page.wait_for_url(lambda url: "/login" not in url)
            page.goto(f"{address}{path}")
            page.wait_for_selector(until if until == CHARTS else f"text={until}")
            page.wait_for_load_state("load")
            file = self.out / f"{name}{ending}.png"
            page.screenshot(path=file, animations="disabled")
            _smaller(file)
            context.close()


def _jobs(camera: Camera, home: Path, scale: str) -> None:
    """Photograph the page of a discovery in phase index, of the same job once it is over, of one that fails because its
    source disappears, and the list of both."""
    corpus = home / "storage" / "corpora" / "sample"
    _edbench("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale)
    with _served(home) as server:
        job = _created(*server, "sample")
        _until(lambda: _job_of(*server, job)["phase"] in ("index", "finalise"))
        time.sleep(SEEN_S)
        camera.take(server, f"/jobs/{job}", "run", CHARTS)
        _until(lambda: _job_of(*server, job)["state"].startswith("completed"))
        camera.take(server, f"/jobs/{job}", "finished", CHARTS)
        failing = _created(*server, "unmounted")
        _until(lambda: _job_of(*server, failing)["phase"] == "index")
        time.sleep(SEEN_S)
        # Paused, so that it cannot end before its source goes.
        _asked(f"{server[0]}/api/v1/jobs/{failing}/pause", server[1], {})
        _until(lambda: _job_of(*server, failing)["state"] == "paused")
        corpus.rename(corpus.with_name("unmounted"))
        _asked(f"{server[0]}/api/v1/jobs/{failing}/resume", server[1], {})
        _until(lambda: _job_of(*server, failing)["state"] == "suspended")
        camera.take(server, f"/jobs/{failing}", "suspended", CHARTS)
        camera.take(server, "/", "jobs", "in total")


def _scale_up(home: Path, out: Path) -> None:
    """Draw GB/hour against workers, of a scale-up on an emulated filer, with its labels."""
    corpus = f"{home}/storage/corpora/small"
    _edbench("corpus", "generate", corpus, "--profile", "reference", "--scale", "0.0002", "--seed", "7")
    measured = f"bench scale-up --workers 1,2,4 --slots 1 --repeats 3 --filer {FILER} --corpus"
    _edbench(*measured.split(), corpus)
    (file,) = home.glob("storage/results/*/result.json")
    result = json.loads(file.read_text(encoding="utf-8"))
    workers = [point["at"]["workers"] for point in result["points"]]
    rates = [point["figures"]["gb_per_hour_discovered"] for point in result["points"]]
    with figure_of() as (figure, (axes,)):
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
    """Start a server on a free port; yield its address and token; end it as with Ctrl-C."""
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
    """Create a job over the corpus; return its id."""
    order = {"corpus": "0:corpora/sample", "workers": 2, "name": name}
    return str(_asked(f"{address}/api/v1/jobs", token, order)["id"])


def _job_of(address: str, token: str, job: str) -> dict[str, Any]:
    return _asked(f"{address}/api/v1/jobs/{job}", token)


def _asked(url: str, token: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send GET, or POST of a body as JSON; return the answer."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


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
