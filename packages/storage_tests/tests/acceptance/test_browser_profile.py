"""The page beside a storage profile, in a real browser: charts of what goes on, and that they go on."""

from pathlib import Path

from browsing import TIMEOUT_MS, Complaints, launched
from playwright.sync_api import expect

from core.settings import Settings
from storage_tests.live import Live
from storage_tests.routes import profile_page
from storage_tests.tally import Counters

expect.set_options(timeout=TIMEOUT_MS)


def test_a_profile_is_drawn_while_it_runs(tmp_path: Path) -> None:
    live = Live("insert-drift", Counters(tmp_path / "counters", 2), [tmp_path])
    live.run("shared, 2 clients")
    live.look()
    live.counters.of(0).whole(2_000_000, 0)
    live.counters.of(0).moved(1024)
    live.look()
    shown, complaints = list[str](), Complaints()
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch")
    with profile_page(live, settings, {}, 0, shown.append), launched() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(TIMEOUT_MS)
        complaints.listen(page)
        page.goto(shown[0].removeprefix("web UI: "))
        page.wait_for_url("**/profile")
        expect(page.get_by_role("heading", name="insert-drift")).to_be_visible()
        for panel in ("moved", "files", "file_time"):
            expect(page.locator(f"[data-panel={panel}] canvas")).to_be_visible()
        expect(page.locator("[data-panel=file_time] canvas")).to_have_attribute(
            "aria-label", "Mean time of a file or object: mean 2 ms"
        )
        live.run("own, 2 clients")
        live.show("400 of 800 files")
        live.say("shared, 2 clients: 3,000 files/s")
        expect(page.locator("#doing")).to_have_text("400 of 800 files")
        expect(page.locator("#runs li")).to_have_count(2)
        expect(page.locator("#runs li").last).to_have_attribute("aria-current", "step")
        expect(page.locator("#outcomes li")).to_have_text(["shared, 2 clients: 3,000 files/s"])
    assert not complaints.unexpected()
