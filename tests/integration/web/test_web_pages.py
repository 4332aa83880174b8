"""The pages over a finished job: each is there, its links lead somewhere, and it says what the API says."""

from __future__ import annotations

import collections
import html
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

pytestmark = pytest.mark.services

TOKEN = "0123456789abcdef0123456789abcdef"
FEW = 3


def _page(site: Any, path: str, status: int = 200) -> str:
    answer = site.client.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    return str(answer.text)


def _links(text: str) -> Iterator[str]:
    """Addresses on this server."""
    for found in re.findall(r"(?:href|src)=\"([^\"]*)\"", text):
        address = html.unescape(found)
        if not address.startswith("#"):
            yield address.partition("#")[0]


@pytest.fixture(scope="module")
def base(site: Any) -> str:
    """The path of the job's pages."""
    return f"/jobs/{site.copy.handle.id}"


def test_every_link_of_every_page_leads_somewhere(site: Any, base: str) -> None:
    found: dict[str, None] = {}
    shapes: collections.Counter[str] = collections.Counter()
    for path in ("/", base, f"{base}/items", f"{base}/search?q=the", f"{base}/exceptions", "/results", "/compare"):
        for link in _links(_page(site, path)):
            shape = re.sub(r"[0-9a-f-]{36}|=[^&]*", "*", link)
            if link not in found and shapes[shape] < FEW:
                shapes[shape] += 1
                found[link] = None
    for link in found:
        assert site.client.get(link).status_code in (200, 303), link
    assert len(found) > 30


def test_pages_say_what_the_api_says(site: Any, base: str) -> None:
    job = site.client.get(site.job).json()
    listed = _page(site, "/")
    assert f"{job['items']:,}" in listed
    assert job["name"] in listed
    counts = site.client.get(f"{site.job}/exceptions", params={"by": "code"}).json()["rows"]
    page = _page(site, f"{base}/exceptions")
    for row in counts:
        assert re.search(rf"exception={row['name']}\">{row['exceptions']}</a>", page), row
    for row in site.client.get(f"{site.job}/counts").json()["jobs"][0]["texts"]:
        assert re.search(rf"items\?text={row['name']}\">{row['items']:,}</a>", page), row


@pytest.mark.parametrize(("filters", "matches"), [
    ({"exception": "any"}, lambda item: bool(item["exceptions"])),
    ({"kind": "attachment"}, lambda item: item["kind"] == "attachment"),
    ({"type": "application/pdf", "exception": "", "kind": "", "custodian": ""},
     lambda item: item["media_type"] == "application/pdf"),
    ({"text": "empty", "where": ""}, lambda item: item["text_state"] == "empty"),
])  # fmt: skip
def test_items_are_narrowed_and_paged(
    site: Any, base: str, filters: dict[str, str], matches: Callable[[Any], bool]
) -> None:
    """Following `next page` to the end gives exactly the items that match; empty fields of the form are no filter."""
    every = site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"]
    wanted = [item["id"] for item in every if matches(item)]
    shown: list[str] = []
    path: str | None = f"{base}/items?{urlencode(filters)}"
    while path is not None:
        text = _page(site, path)
        shown += re.findall(rf"<a href=\"{base}/items/([0-9a-f-]{{36}})[\"?]", text)
        following = re.search(r"href=\"([^\"]+)\" rel=\"next\"", text)
        path = html.unescape(following[1]) if following else None
    assert shown == wanted
    assert wanted


def test_items_are_narrowed_by_metadata(site: Any, base: str) -> None:
    dated = site.client.get(f"{site.job}/items", params={"limit": 1000, "where": "date>1970"}).json()["items"]
    assert dated
    shown = re.findall(
        rf"<a href=\"{base}/items/([0-9a-f-]{{36}})[\"?]", _page(site, f"{base}/items?where=date%3E1970")
    )
    assert shown == [item["id"] for item in dated[:100]]
    refused = _page(site, f"{base}/items?where=autor%3Dx", 422)
    assert "did you mean author?" in html.unescape(refused)
    assert "container path</th>" not in refused
    answer = site.client.get(f"{site.job}/items", params={"where": "autor=x"})
    assert (answer.status_code, "author" in answer.json()["errors"]["where"]) == (422, True)


def test_an_item_shows_its_family_its_text_and_its_exceptions(site: Any, base: str) -> None:
    items = site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"]
    child = next(item for item in items if item["parent"] and item["characters"])
    text = _page(site, f"{base}/items/{child['id']}")
    assert f"{base}/items/{child['parent']}" in text
    assert child["sha256"] in text
    assert '<pre class="text"' in text
    failed = next(item for item in items if item["exceptions"])
    assert f"exception={failed['exceptions'][0]}" in _page(site, f"{base}/items/{failed['id']}")


@pytest.mark.parametrize("families", [False, True])
def test_a_facet_leads_to_the_items_that_it_counts(site: Any, base: str, families: bool) -> None:
    """Whatever signs a custodian has in the name, and though one's name begins as another's; with families as without."""
    names = dict(enumerate(("ann", "ann marie", r'a"b\\c', "*?", "&")))
    before = site.copy.run("SELECT number, display FROM custodian WHERE job = %(job)s", job=site.copy.handle.id)
    asked = urlencode({"q": "the"} | ({"families": "true"} if families else {}))
    try:
        for number, name in names.items():
            site.copy.run("UPDATE custodian SET display = %(name)s WHERE number = %(number)s", name=name, number=number)
        facets = _page(site, f"{base}/search?{asked}").partition('aria-label="facets"')[2]
        rows = re.findall(r"<a href=\"([^\"]+)\">[^<]*</a></td><td class=\"number\">([\d,]+)", facets)
        for link, items in rows:
            found = _page(site, html.unescape(link))
            assert re.search(rf">{items} items? match(es)?[.;]", found), link
        assert len([link for link, _ in rows if "custodian_is" in link]) > 1
        assert bool([link for link, _ in rows if "type_is" in link]) is not families
    finally:
        for number, name in before:
            site.copy.run("UPDATE custodian SET display = %(name)s WHERE number = %(number)s", name=name, number=number)


def test_a_query_that_cannot_be_read_is_said_at_the_field(site: Any, base: str) -> None:
    text = _page(site, f"{base}/search?q=nosuchfield:x", 422)
    assert 'aria-invalid="true"' in text
    assert "nosuchfield" in text


def test_what_is_not_there_is_a_page_too(site: Any, base: str) -> None:
    for path in ("/nothing", "/jobs/ffffffff", f"{base}/items/{'0' * 32}", "/results/none"):
        assert "<h1>Not Found</h1>" in _page(site, path, 404)
    wrong = _page(site, f"{base}/items?kind=nonsense&text=nonsense", 422)
    assert "Kind: Input should be &#39;loose_file&#39;" in wrong
    assert "; text: Input should be" in wrong
    assert "literal" not in wrong


def test_the_form_asks_for_the_token_and_leads_back(make_site: Any) -> None:
    site = make_site(token=TOKEN)
    asked = site.client.get("/results?x=1")
    assert asked.status_code == 303
    form = site.client.get(asked.headers["location"])
    assert 'name="next" value="/results?x=1"' in form.text
    wrong = site.client.post("/login", data={"token": "no", "next": "/results?x=1"})
    assert "Wrong token." in site.client.get(wrong.headers["location"]).text
    right = site.client.post("/login", data={"token": TOKEN, "next": "/results?x=1"})
    assert right.headers["location"] == "/results?x=1"
    assert "Sign out" in site.client.get("/results?x=1").text
