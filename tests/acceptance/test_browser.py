"""The pages in a real browser: create a job, watch it, look into its items, compare results."""

import json
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import TIMEOUT_MS, Complaints, Watched, launched, serving, watch
from installation import Bench, Hold
from memory_traces import write_trace
from playwright.sync_api import Browser, Page, Route, expect
from replay_traces import reading_trace
from report_results import point, result

from experiments.package.manifest import seal
from experiments.report.page import write_report
from experiments.report.style import PAPER
from experiments.result.codec import write_result

FIRST, OTHER, ALIEN = "20261121-034500-scale-up", "20261121-051500-scale-up", "20261120-120000-scale-up"
FIRST_LOAD = 200_000  # bytes
FEW = " AND custodian:griswold_auer"  # who has four of the items that are found: to draw all takes half a minute
STEPS = (
    (Path(__file__).parents[2] / "docs/worked-example.md")
    .read_text(encoding="utf-8")
    .partition("## The same in the web UI")[2]
)
PLACES = (
    *("/", "/measure", "/measure?kind=profile", "/measure?kind=replay", "/results", f"/results/{FIRST}", "/labels"),
    *(
        f"{{job}}{of}"
        for of in ("", "/items", "/search?q=the", "/terms", "/review", "/produce", "/exceptions", "/custody")
    ),
    "/api/v1/docs",
)

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def bench(browser: Browser, empty_scratch: Path) -> Iterator[Bench]:
    """An installation without a corpus, with three results."""
    home = Path(tempfile.mkdtemp(prefix="edbench browser "))
    home.chmod(0o711)
    made_here = Bench(home=home, corpus=home / "storage root/corpora/tiny", furniture=empty_scratch).furnish()
    made_here.hold("expand").let_go()  # the server is started with what a test may hold a job with
    try:
        for run, workers, corpus in ((FIRST, (1, 2), "503e2127"), (OTHER, (1, 2), "503e2127"), (ALIEN, (1,), "0")):
            made = result(*(point(number) for number in workers), run_id=run)
            made.conditions["corpus"]["hash"] = corpus
            write_result(made, made_here.storage / "results" / run)
        write_report(result(), made_here.storage / "results" / FIRST)
        for run in (FIRST, OTHER, ALIEN):
            seal(made_here.storage / "results" / run)
        yield made_here
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def link(bench: Bench) -> Iterator[str]:
    """What its server printed: a link that lets in whoever has it."""
    with serving(bench) as printed:
        yield printed


@pytest.fixture(scope="module")
def site(link: str) -> str:
    """Where its server is."""
    return link.partition("/login#token=")[0]


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[tuple[Page, Complaints]]:
    """One for all tests: to open it takes longer than most of them."""
    context, noted = browser.new_context(), Complaints()
    context.set_default_timeout(TIMEOUT_MS)
    opened = context.new_page()
    noted.listen(opened)
    yield opened, noted
    context.close()


@pytest.fixture
def complaints(window: tuple[Page, Complaints]) -> Complaints:
    _, noted = window
    noted.lines, noted.expected = [], ()
    return noted


@pytest.fixture
def page(link: str, site: str, window: tuple[Page, Complaints], complaints: Complaints) -> Iterator[Page]:
    """The window, signed in; nothing may have gone wrong in it that the test did not provoke."""
    opened, _ = window
    opened.set_viewport_size({"width": 1400, "height": 900})
    opened.emulate_media(color_scheme="light")
    opened.request.post(f"{site}/login", form={"token": link.partition("#token=")[2]})
    yield opened
    opened.unroute_all()
    opened.route("**/still", lambda route: route.fulfill(content_type="text/html", body="<link rel=icon href=data:,>"))
    opened.goto(f"{site}/still")  # the page of a test may be loading itself again
    opened.evaluate("sessionStorage.clear()")
    opened.goto("about:blank")
    assert not complaints.unexpected()


def _smaller(route: Route) -> None:
    """The button's order for a corpus, of a twentieth of the size: the test takes no longer than it has to."""
    route.continue_(post_data=json.dumps(json.loads(route.request.post_data or "") | {"scale": 0.00005}))


@pytest.fixture(scope="module")
def first(link: str, site: str, browser: Browser) -> Complaints:
    """The first open of the installation, on a phone: its one button generates a corpus and runs a job over it."""
    noted = Complaints()
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
    expect(page.locator("#state")).to_have_text(re.compile("^completed"))
    page.goto(site)
    expect(page.locator("#first")).to_have_count(0)
    expect(page.locator("#f-corpus option")).to_have_text([re.compile("^sample")])
    context.close()
    return noted


def test_one_button_generates_a_corpus_and_runs_a_job_over_it(first: Complaints) -> None:
    assert not first.unexpected()


@pytest.fixture(scope="module")
def watched(link: str, site: str, bench: Bench, browser: Browser, first: Complaints, small: Path) -> Watched:
    """A job over a tiny corpus, created with the form, and watched to its end without touching the page."""
    shutil.rmtree(bench.corpus.parent)
    shutil.copytree(small, bench.corpus)
    return watch(link, site, bench.hold("expand"), browser)


def test_a_job_is_created_and_its_charts_move_until_it_is_over(watched: Watched) -> None:
    assert watched.states[0] == "running"
    assert watched.states[-1] == "completed with exceptions"
    assert len(watched.calls) >= 2, "the chart of calls never moved"
    assert not watched.reloaded
    assert not watched.complaints


def test_the_run_page_has_every_panel_its_figures_its_bottleneck_and_its_operations(
    bench: Bench, site: str, watched: Watched, page: Page
) -> None:
    page.goto(site + watched.path)
    for panel in (
        *("gb_per_hour", "calls", "latency_read", "items", "exceptions", "database_rows", "database_commits", "queue"),
        *("slots", "worker_cpu", "run_queue", "space_1", "emulated_1"),
    ):
        expect(page.locator(f"[data-panel={panel}] canvas")).to_be_visible()
    expect(page.locator("#labels")).to_contain_text("EMULATED FILER nas-10g")
    items = json.loads((bench.corpus / "dataset.json").read_text())["items"]
    expect(page.locator("[data-figure=items] .beside")).to_have_text(f"{items:,} items")
    expect(page.locator("#phases li")).to_have_text([re.compile(p) for p in ("walk", "expand", "index", "finalise")])
    expect(page.get_by_role("button", name="Requeue exceptions")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("<b>seen</b> & \\u202ewatched")
    page.get_by_label("operation of the latency chart").select_option("write")
    expect(page.locator("[data-panel=latency_write] canvas")).to_be_visible()
    shown = page.locator(".zoom")
    chart = page.locator("[data-panel=items] .u-over")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 50, steps=5)
    page.mouse.up()
    expect(shown).to_contain_text("since the first claim")
    page.locator("[data-panel=queue] .u-over").dblclick()
    expect(page.get_by_role("button", name="whole run")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#verdict")).to_contain_text(re.compile(r"bottleneck"))
    expect(page.locator("#storage")).to_contain_text("emulated filer nas-10g")
    calls = page.request.get(f"{site}/api/v1{watched.path}/result").json()["calls"]
    table = page.locator("#operations tbody tr:not(.part)")
    expect(table).to_have_count(len(calls))
    expect(table.filter(has_text=re.compile("^read")).locator("td").nth(3)).to_have_text(f"{calls['read']['count']:,}")
    label = page.locator("#labels a", has_text="EMULATED FILER")
    expect(label).to_have_attribute("title", re.compile("emulated filer delayed"))
    label.click()
    expect(page.locator("#emulated-filer:target")).to_be_visible()


def test_a_job_is_verified_from_its_page(site: str, watched: Watched, page: Page) -> None:
    page.goto(site + watched.path)
    page.get_by_role("button", name="Verify").click()
    page.wait_for_url("**/custody#verify")
    expect(page.locator("#verified")).to_contain_text(re.compile(r"differences\s*0"))


def test_twelve_series_have_twelve_colours_and_an_increment_replaces_their_end(site: str, page: Page) -> None:
    page.goto(site)
    looks = page.evaluate(
        """async () => {
          const { lookOf } = await import("/static/js/colours.js");
          const series = Array.from({ length: 13 }, (_none, n) => ({ id: `w${n}` }));
          return series.map((_one, n) => lookOf({ kind: "stacked", series }, n));
        }"""
    )
    assert len({look["variable"] for look in looks[:12]}) == 12
    assert (looks[12]["variable"], looks[12]["hatched"], looks[0]["hatched"]) == (looks[0]["variable"], True, False)
    # Increments as the server sends them: overlapping by some seconds, with series that come and go.
    merged = page.evaluate(
        """async () => {
          const { Timeline } = await import("/static/js/timeline.js");
          const part = (t, series, step_s = 1) => ({ t, step_s, panels: [{ id: "p", series:
            Object.entries(series).map(([id, values]) => ({ id, values })) }] });
          const timeline = new Timeline(part([0, 1, 2], { a: [1, 2, 3], gone: [7, 7, 7] }));
          const fits = timeline.add(part([2, 3], { a: [4, 5], new: [8, 9] }));
          const series = timeline.panel("p").series.map(({ id, values }) => [id, values]);
          return { fits, t: timeline.data.t, series, other: timeline.add(part([4], { a: [6] }, 2)) };
        }"""
    )
    assert merged["fits"]
    assert merged["t"] == [0, 1, 2, 3]
    assert dict(merged["series"]) == {"a": [1, 2, 4, 5], "gone": [7, 7, None, None], "new": [None, None, 8, 9]}
    assert not merged["other"], "another step does not fit: the whole has to be fetched again"


def test_signing_out_shows_nothing_any_more(link: str, site: str, page: Page) -> None:
    page.goto(f"{site}/results")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site}/login")
    page.goto(f"{site}/results")
    expect(page.get_by_label("Token")).to_be_visible()
    page.goto(link)
    page.wait_for_url(f"{site}/")
    page.go_back()
    assert "token=" not in page.url


def test_what_was_read_over_the_wire_stands_by_phase(site: str, watched: Watched, page: Page) -> None:
    share = {"seconds": 9.0, "call_read_bytes": 2_000_000, "wire_read_bytes": 500_000, "ratio": 0.25}
    short = share | {"ratio": None, "why": "shorter than 2 s"}
    wire = {"phases": {"walk": short, "index": share}, "total": share, "sources": ["a:/mnt"], "other_jobs": 1}
    panel = {"id": "wire_1", "title": "Wire ops/second, a:/mnt", "unit": "ops/s", "kind": "stacked", "series": []}

    timeline = page.request.get(f"{site}/api/v1{watched.path}/timeline").json()
    timeline["panels"].append(panel)
    page.route(f"**{watched.path}/timeline?*", lambda route: route.fulfill(json=timeline))
    page.route(f"**{watched.path}/result", lambda route: route.fulfill(json={"wire": wire}))
    page.goto(site + watched.path)
    expect(page.locator("#wire tbody tr")).to_have_text(
        ["walk2 MB500 kB–shorter than 2 s", "index2 MB500 kB0.250", "whole run2 MB500 kB0.250"]
    )


def _pause(page: Page, hold: Hold) -> None:
    """Press the button while a task is held, and let it go on once the page knows that the job is to pause."""
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_have_text(re.compile("^paus(ing|ed)$"))
    hold.let_go()
    expect(page.locator("#state")).to_have_text("paused")


@pytest.mark.usefixtures("watched")
def test_a_job_is_paused_resumed_cancelled_and_deleted(site: str, bench: Bench, page: Page) -> None:
    hold = bench.hold("expand", 0)
    corpus = page.request.get(f"{site}/api/v1/corpora").json()["corpora"][0]["id"]
    order = {"corpus": corpus, "workers": 1, "slots": 1, "filer": "nas-1g"}
    job = page.request.post(f"{site}/api/v1/jobs", data=order).json()["id"]
    page.goto(f"{site}/jobs/{job}")
    expect(page.locator("#phases li").first).to_contain_text("walk")
    _pause(page, hold)
    hold.after(0)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_have_text("running")
    _pause(page, hold)
    page.reload()
    ended, lasting = r"^paused \d+:[\d.]+ – \d+:[\d.]+$", r"^paused since \d+:[\d.]+$"
    expect(page.locator("#pauses li")).to_have_text([re.compile(ended), re.compile(lasting)])
    page.get_by_role("button", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
    expect(page.locator("#state")).to_have_text("paused")
    page.get_by_role("button", name="Cancel job").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    expect(page.locator("#state")).to_have_text("cancelled")
    page.get_by_role("button", name="Delete job").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete job").click()
    page.wait_for_url(f"{site}/")
    expect(page.locator(f"#job-{job}")).to_have_count(0)


@pytest.mark.usefixtures("watched")
def test_what_is_wrong_stands_at_the_field(site: str, page: Page, complaints: Complaints) -> None:
    complaints.expected = ("422",)
    page.goto(site)
    page.locator("details.box").evaluate("box => box.open = true")
    page.get_by_label("Workers").fill("513")
    page.get_by_role("button", name="Create and run").click()
    expect(page.locator("#error-workers")).to_contain_text("512")
    expect(page.get_by_label("Workers")).to_be_focused()
    page.get_by_label("Workers").fill("2")
    page.get_by_label("or a directory").fill("/etc")
    page.get_by_role("button", name="Create and run").click()
    expect(page.locator("#error-source")).to_contain_text("is not below")
    expect(page.locator("#error-workers")).to_be_empty()


def test_from_a_count_of_exceptions_to_the_single_file_in_two_clicks(site: str, watched: Watched, page: Page) -> None:
    page.goto(f"{site}{watched.path}/exceptions")
    page.locator("#by-exception tr", has_text="zero_bytes").get_by_role("link").first.click()
    page.locator("table.cards tbody tr").first.get_by_role("link").first.click()
    expect(page.locator(".notice:not([hidden])")).to_contain_text("zero_bytes")
    expect(page.get_by_text("sha256")).to_be_visible()


def test_a_search_shows_snippets_and_its_facets_narrow_it(site: str, watched: Watched, page: Page) -> None:
    page.goto(f"{site}{watched.path}/search")
    page.get_by_label("Search text and fields").fill("the")
    page.keyboard.press("Enter")
    expect(page.locator(".snippet mark").first).to_have_text(re.compile("the", re.IGNORECASE))
    row = page.locator(".facet tr", has_text="application/pdf")
    number = row.locator(".number").inner_text()
    row.get_by_role("link").click()
    expect(page.locator("main")).to_contain_text(f"{number} items match")
    page.locator(".hits a").first.click()
    expect(page.locator("pre.text")).to_be_visible()


def _translated(words: str) -> str:
    """What the worked example says that the page says."""
    assert f"*{words}*" in STEPS or f"`{words}`" in STEPS, words
    return words


def test_the_worked_example_in_the_web_ui(
    bench: Bench, site: str, watched: Watched, page: Page, complaints: Complaints
) -> None:
    """Everything with the mouse, in the words of docs/worked-example.md: duplicates, threads, terms, tags, pages with numbers,
    the production with them, its verification, and who did it."""
    complaints.expected = ("422",)  # of the directory that is refused
    page.goto(site + watched.path)
    _follow(page, "Review")
    page.get_by_role("button", name=_translated("Find duplicates")).click()
    expect(page.locator("#dedupe")).to_contain_text("Duplicates: ")
    expect(page.locator("[data-background]")).to_have_count(
        0
    )  # a page that waits is shown anew, and a click on it is lost
    page.wait_for_load_state()
    page.get_by_role("button", name=_translated("Find threads")).click()
    expect(page.locator("#threads")).to_contain_text("in the largest")
    _follow(page, "Search")
    _follow(page, "Hit report of a list of terms")
    page.get_by_label("Terms, one per line").fill('budget\ncontract OR agreement\n"third quarter"\n')
    page.get_by_role("button", name=_translated("Report")).click()
    page.locator("#report").get_by_role("link", name="contract OR agreement", exact=True).click()
    for tag, query in (("privileged", "attorney OR counsel"), ("responsive", "budget AND (contract OR agreement)")):
        page.get_by_label(_translated("Search text and fields")).fill(_translated(query))
        with page.expect_navigation():
            page.get_by_role("button", name=_translated("Search"), exact=True).click()
        page.get_by_label(_translated("Tag all that match")).fill(_translated(tag))
        page.get_by_label(_translated("with families"), exact=True).check()
        page.get_by_role("button", name=_translated("Tag"), exact=True).click()
        expect(page.get_by_role("link", name=tag, exact=True)).to_be_visible()
        expect(page.locator("[data-message]")).to_contain_text(
            re.compile(rf"items found, .* of them now have the tag {tag}")
        )
    _read_in_turn(page)
    page.get_by_role("link", name="responsive", exact=True).click()
    expect(page.get_by_label("Search text and fields")).to_have_value('tag:"responsive"')
    _follow(page, "Produce")
    _follow(page, "Processing")
    page.get_by_label(_translated("Query"), exact=True).fill(_translated("tag:responsive") + FEW)
    page.get_by_label(_translated("Withhold"), exact=True).fill(_translated("privileged"))
    page.get_by_label(_translated("Prefix"), exact=True).fill(_translated("ABC"))
    page.get_by_label(_translated("Originals alone")).check()
    page.get_by_label("Resolution, dpi", exact=True).fill("150")
    page.get_by_label(_translated("Output directory")).fill("/etc/production")
    page.get_by_role("button", name=_translated("Create and run")).click()
    expect(page.locator("#error-out")).to_contain_text("is not below")
    processed = _produced(page, bench.storage / "productions/pages")
    page.goto(f"{site}{watched.path}/produce")
    _follow(page, "Export")
    page.get_by_label(_translated("Images"), exact=True).select_option(processed)
    made = bench.storage / "productions/first"
    _produced(page, made)
    expect(page.locator("#production")).to_contain_text("of them produced")
    _follow(page, "Custody")
    page.get_by_role("button", name=_translated("Verify")).click()
    expect(page.locator("#verified")).to_contain_text(re.compile(r"verified at\s*20.*differences\s*0"))
    expect(page.locator("#verified")).to_contain_text(re.compile(r"missing\s*0"))
    expect(page.locator("#verified")).to_contain_text(re.compile(r"load file faults\s*0"))
    assert list(made.glob("VOL001/IMAGES/*/ABC*.tif"))
    table = made / "loadfile.csv"
    table.write_bytes(table.read_bytes().replace(b"ABC00000001,", b"ABC00000007,", 1))
    page.wait_for_load_state()
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#faults")).to_contain_text("ABC00000001: loadfile.csv lacks it")
    page.goto(f"{site}{watched.path}/custody")
    for done in ("dedupe", "threads", "tagged", "processing created", "export created"):
        expect(page.locator("#actions")).to_contain_text(done)


def _follow(page: Page, words: str) -> None:
    """A link, until its page's scripts are there: a button without them does nothing."""
    with page.expect_navigation():
        page.get_by_role("link", name=_translated(words), exact=True).click()


def _read_in_turn(page: Page) -> None:
    """From a hit, whose words are marked, to the next one by a key, and back to the search."""
    page.locator(".hits a").first.click()
    expect(page.locator("pre.text mark").first).to_have_text(re.compile("budget|contract|agreement", re.IGNORECASE))
    expect(page.locator("mark.here")).to_be_visible()  # keys are heard from here on
    first = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != first)
    page.get_by_role("link", name="previous").click()
    page.wait_for_url(first)
    page.get_by_role("link", name="back to search").click()


def _produced(page: Page, out: Path) -> str:
    """What the form asks for, written to this directory; the job's id."""
    page.get_by_label("Output directory").fill(str(out))
    page.get_by_role("button", name="Create and run").click()
    page.wait_for_url(lambda url: "/jobs/" in url and "/produce" not in url)
    expect(page.locator("#state")).to_have_text(re.compile("^completed"))
    return page.url.rpartition("/")[2]


def test_a_list_of_terms_is_reported_on(site: str, watched: Watched, page: Page, complaints: Complaints) -> None:
    """From a file in the character set of another program; what a term finds is a click away. Lines have the file's numbers,
    and its CSV is the API's, out of the answer that is shown."""
    complaints.expected = ("422",)  # of the list that is refused
    page.goto(f"{site}{watched.path}/terms")
    lines = ["", "the", "", "nosuchwordanywhere", '=the OR "x, y"', "the"]
    listed = "\n".join(lines).encode("utf-16")
    page.get_by_label("or from a file").set_input_files([{"name": "t.txt", "mimeType": "text/plain", "buffer": listed}])
    expect(page.get_by_label("Terms, one per line")).to_have_value(re.compile("the"))
    page.get_by_role("button", name="Report").click()
    row = page.locator("#report tr", has_text="nosuchwordanywhere")
    expect(row.locator("td").first).to_have_text("4")
    expect(row.locator(".number").first).to_have_text("0")
    asked: list[str] = []
    page.route("**/api/**", lambda route: asked.append(route.request.url))
    with page.expect_download() as saved:
        page.get_by_role("button", name="As CSV").click()
    assert not asked
    page.unroute_all()
    reported = page.request.post(
        f"{site}/api/v1{watched.path}/terms.csv", data={"terms": lines}, headers={"Origin": site}
    )
    assert Path(saved.value.path()).read_bytes() == reported.body()
    page.get_by_label("Terms, one per line").fill('the\n\n\n\n"open')
    page.get_by_role("button", name="Report").click()
    expect(page.locator("#error-terms")).to_contain_text("line 5")
    page.get_by_label("Terms, one per line").fill("the")
    custodian = page.locator("#report td.name", has_text="griswold_auer").first.inner_text()
    page.get_by_label("Custodian").fill(custodian)
    page.get_by_role("button", name="Report").click()
    expect(page.locator("#report tbody tr")).to_have_count(4)  # the term and any, each with its custodian
    found = page.locator("#report tbody .number").first.inner_text()
    page.locator("#report").get_by_role("link", name="the", exact=True).click()
    expect(page.locator("main")).to_contain_text(re.compile(rf"\b{found} items? match"))
    expect(page.locator(".snippet mark").first).to_be_visible()


def test_a_corpus_outside_its_place_is_refused(site: str, page: Page, complaints: Complaints) -> None:
    """The first job's button makes one and chooses it."""
    complaints.expected = ("422",)
    page.goto(f"{site}/measure?kind={_translated('generate')}")
    page.get_by_label(_translated("Name"), exact=True).fill("../made")
    page.get_by_label(_translated("Scale"), exact=True).fill("0.00005")
    page.get_by_role("button", name=_translated("Generate")).click()
    expect(page.locator("#error-name")).not_to_be_empty()


def test_a_trace_is_replayed(site: str, bench: Bench, watched: Watched, page: Page, complaints: Complaints) -> None:
    """What is wrong with a measurement is reported at its field. A trace is chosen by the job that recorded it; no job starts
    during the replay; its log moves, and its result is among the results."""
    complaints.expected = ("422", "409")
    job, target = watched.path.rpartition("/")[2], bench.storage / "target"
    write_trace(reading_trace(), bench.storage / "jobs" / uuid.UUID(job).hex / "trace.edbtrace")
    target.mkdir()
    corpus = page.request.get(f"{site}/api/v1/corpora").json()["corpora"][0]["id"]
    page.goto(f"{site}/measure?kind=replay")
    page.locator("#f-job").select_option(job)
    page.locator("#f-paths").fill("/etc")
    page.locator("#f-pace").fill("max")
    page.locator("#f-repeats").evaluate("input => { input.value = 1 }")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator("#error-paths")).to_contain_text("EDBENCH_TARGETS")
    page.locator("#f-paths").fill(str(target))
    page.get_by_role("button", name="Measure").click()
    page.wait_for_url("**/measurements/*")
    during = page.request.post(f"{site}/api/v1/jobs", data={"corpus": corpus})
    assert during.status == 409, during.text()
    expect(page.locator("#state")).to_have_text("completed")
    expect(page.locator("#log")).to_contain_text("report.html")
    assert list(target.iterdir()) == []
    page.locator("#result a").click()
    expect(page.frame_locator("iframe.report").locator(".verdict")).to_be_visible()


def test_results_are_shown_and_compared(site: str, page: Page, complaints: Complaints) -> None:
    """Those that differ are refused with what differs."""
    complaints.expected = ("409",)
    page.goto(f"{site}/results/{FIRST}")
    report = page.frame_locator("iframe.report")
    expect(report.locator(".verdict")).to_contain_text("EMULATED FILER titan")
    expect(page.get_by_role("link", name="Everything as ZIP")).to_be_visible()
    page.goto(f"{site}/results")
    for run in (FIRST, OTHER):
        page.get_by_label(f"compare {run}").check()
    page.get_by_role("button", name="Compare selected").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Results side by side")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").first).to_contain_text("fewer than 5 repeats")
    page.goto(f"{site}/compare?run={FIRST}&run={ALIEN}")
    expect(page.get_by_role("alert")).to_contain_text("corpus hash")
    page.get_by_role("link", name="Compare anyway").click()
    expect(page.get_by_role("alert")).to_contain_text("NOT COMPARABLE")


def test_every_page_is_dark_where_that_is_wanted_and_fits_a_phone(site: str, watched: Watched, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 800})
    red, green, blue = (int(PAPER.dark[n : n + 2], 16) for n in (1, 3, 5))
    for place in PLACES:
        page.goto(site + place.format(job=watched.path))
        expect(page.locator("body"), place).to_have_css("background-color", f"rgb({red}, {green}, {blue})")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, place
        assert ".. " not in page.locator("main").inner_text(), place


def test_a_reason_with_a_long_path_fits_a_phone(site: str, watched: Watched, page: Page) -> None:
    """The list of pauses of a job that was suspended names a file."""
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(site + watched.path)
    expect(page.locator("#phases li").first).to_be_visible()
    page.locator("#pauses").evaluate(
        "list => { list.hidden = false; list.innerHTML = `<li>${'/jobs'.repeat(60)}</li>` }"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("place", ["/", "{job}"])
def test_the_first_load_is_small(site: str, watched: Watched, page: Page, browser: Browser, place: str) -> None:
    sizes: list[int] = []
    empty = browser.new_page(storage_state=page.context.storage_state())  # in whose cache is nothing
    empty.set_default_timeout(TIMEOUT_MS)
    empty.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    empty.goto(site + place.format(job=watched.path), wait_until="load")
    expect(empty.locator("#jobs, canvas").first).to_be_visible()
    empty.close()
    assert 0 < sum(sizes) < FIRST_LOAD
