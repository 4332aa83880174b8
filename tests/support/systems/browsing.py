"""A server that a real browser looks at, and what the browser complained about."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from commands import Command
from installation import COMMAND_SECONDS, Bench, Hold, until
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

TIMEOUT_MS = 300_000  # of everything that the browser does: all processors may be busy
# The first is Chromium without its windows: a page of it takes a quarter of the processor time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def chromium() -> str:
    """The browser of this machine; skips without one on a laptop, fails in CI."""
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    missing = "no Chromium here: apt-get install chromium-headless-shell fonts-dejavu-core"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless browser."""
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serving(bench: Bench, *options: str) -> Iterator[str]:
    """`edbench serve` on a free port; what it printed to be opened. Ended with Ctrl-C as its user would.

    It is forked, and so are the crews of its jobs (`commands`). What it logs stands under "Captured stderr" of the test
    that it was logged in, should that fail."""
    process = bench.start("serve", "--port", "0", *options)
    assert isinstance(process, Command)
    try:
        address = until(process.first_line, "it prints its address")
        assert address.startswith("http://"), bench.end(process, None)
        threading.Thread(target=_pass_on, args=(process,), daemon=True).start()
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _pass_on(process: Command) -> None:
    """Its log, line by line, to the standard error of the moment, which pytest exchanges for each test."""
    with process.err.open() as log:
        while process.poll() is None:
            for line in log:
                print(f"server: {line}", end="", file=sys.stderr, flush=True)
            time.sleep(0.1)


@dataclass
class Complaints:
    """Errors on the console, uncaught exceptions, and breaches of the content security policy (they are errors on
    the console too)."""

    lines: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # parts of lines that a test provokes

    def listen(self, page: Page) -> None:
        """Note what this page complains about."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.lines.append(f"uncaught: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.lines.append(f"{message.type}: {message.text}")

    def unexpected(self) -> list[str]:
        """What nobody provoked."""
        return [line for line in self.lines if not any(part in line for part in self.expected)]


@dataclass
class Watched:
    """What was seen of a job while it ran."""

    path: str  # of its page
    states: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # what the chart of calls said of itself
    reloaded: bool = False
    complaints: list[str] = field(default_factory=list)


def watch(link: str, site: str, hold: Hold, browser: Browser) -> Watched:
    """Create a job with the form, and watch it to its end without touching the page; it is held until its page is there."""
    noted, held = Complaints(), True
    context = browser.new_context()
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    noted.listen(page)
    page.goto(link)
    page.wait_for_url(f"{site}/")
    page.locator("details.box").evaluate("box => box.open = true")
    page.get_by_label("Name").fill("<b>seen</b> & \u202ewatched")
    page.get_by_label("Workers").fill("1")
    page.get_by_text("Advanced").click()
    page.get_by_label("Slots per worker").fill("2")
    page.get_by_label("Filer").select_option("nas-10g")
    page.get_by_role("button", name="Create and run").click()
    page.wait_for_url("**/jobs/*-*")
    page.evaluate("document.documentElement.dataset.same = 'page'")
    seen = Watched(page.url.removeprefix(site))
    chart = page.locator("[data-panel=calls] canvas")

    def over() -> bool:
        nonlocal held
        state = page.locator("#state").inner_text()
        shown = chart.get_attribute("aria-label") if chart.count() else None
        if state not in seen.states:
            seen.states.append(state)
        if shown and shown not in seen.calls:
            seen.calls.append(shown)
        if held and seen.states and seen.calls:  # what comes now is seen to come
            hold.let_go()
            held = False
        return state.startswith("completed") and len(seen.calls) > 1  # its last calls come a moment after its end

    until(over, "the job completes and its chart of calls moves")
    seen.reloaded = page.evaluate("document.documentElement.dataset.same") != "page"
    seen.complaints = noted.unexpected()
    context.close()
    return seen
