"""The first open of an empty installation in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import TIMEOUT_MS, Complaints, launched, serving
from installation import Bench
from playwright.sync_api import Route, expect


@pytest.fixture
def empty(empty_scratch: Path) -> Iterator[Bench]:
    """An installation without a corpus."""
    home = Path(tempfile.mkdtemp(prefix="edbench first "))
    home.chmod(0o711)
    try:
        yield Bench(home=home, corpus=home / "none", furniture=empty_scratch).furnish()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _smaller(route: Route) -> None:
    """The button's order for a corpus, of a twentieth of the size: the test takes no longer than it has to."""
    route.continue_(post_data=json.dumps(json.loads(route.request.post_data or "") | {"scale": 0.00005}))


def test_one_button_generates_a_corpus_and_runs_a_job_over_it(empty: Bench) -> None:
    noted = Complaints()
    with launched() as browser, serving(empty) as link:
        context = browser.new_context(viewport={"width": 400, "height": 800})
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        noted.listen(page)
        page.goto(link)
        form = page.locator("#create")
        expect(form.get_by_label("Directory")).to_be_visible()
        expect(form.get_by_label("Name", exact=True)).to_be_visible()
        expect(form.get_by_label("Workers", exact=True)).to_be_visible()
        expect(form.get_by_label("Priority")).to_be_hidden()
        expect(form.locator(".field:visible")).to_have_count(3)
        page.route("**/measurements/generate", _smaller)
        page.get_by_text("Advanced").click()
        expect(form.get_by_label("Priority")).to_be_visible()
        page.get_by_role("button", name="Generate a sample corpus and run it").click()
        page.wait_for_url("**/jobs/*-*")
        expect(page.locator("#state")).to_have_text(re.compile("^completed"), timeout=TIMEOUT_MS)
        page.goto(link.partition("login")[0])
        expect(page.locator("#first")).to_have_count(0)
        expect(page.locator("#f-corpus option")).to_have_text([re.compile("^sample")])
        context.close()
    assert not noted.unexpected()
