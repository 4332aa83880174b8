"""`search`, `terms` and `tag` as a person types them."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from finished_job import Finished, copied
from schema_check import refuse_unlike_schema

from cli.main import OK, USAGE, main

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A command over a copy of the finished job; what it printed, on either stream."""
    with copied(finished, tmp_path_factory.mktemp("cli")) as copy:
        (address,) = copy.settings.databases
        env = {
            "EDBENCH_DATABASES": f"{address.name}={address.url}",
            "EDBENCH_BROKER": str(finished.settings.broker),
            "EDBENCH_STORAGE": str(copy.settings.storage),
            "EDBENCH_SCRATCH": str(copy.settings.scratch),
        }

        def command(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = OK, noted: bool = False) -> str:
            group = "job" if arguments[0] == "custody" else "review"
            assert main([group, arguments[0], "last", *arguments[1:]], env) == status, capsys.readouterr()
            printed = capsys.readouterr()
            if status == OK and "json" in arguments:
                refuse_unlike_schema(arguments[0], json.loads(printed.out))
            return printed.err if noted or status != OK else printed.out

        yield command


def test_duplicates_are_no_filter_before_they_were_looked_for(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `dedupe` all would be no duplicates."""
    assert "was not searched for duplicates yet" in run(capsys, "items", "--duplicates", "no", status=USAGE)
    assert "was not searched for system files yet" in run(capsys, "items", "--system", "no", "-o", "csv", status=USAGE)
    for asked in (("items", "--language", "de"), ("search", "* NOT language:de")):
        assert "languages were not detected" in run(capsys, *asked, status=USAGE)


def test_a_filter_by_what_nothing_has_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a search: a misspelt type would be an empty table. One that this job happens not to have is one."""
    shown = "no item has the media type 'text/plian'; did you mean text/plain?"
    assert shown in run(capsys, "items", "--type", "text/plian", status=USAGE)
    assert "no item has the media type 'foo/bar'" in run(
        capsys, "items", "--type", "foo/bar", "-o", "jsonl", status=USAGE
    )
    assert "no item has the field 'load_x'" in run(capsys, "search", "load_x:1", status=USAGE)
    assert "text/plain" in run(capsys, "items", "--type", "text/plain", "-o", "csv")
    run(capsys, "items", "--type", "application/vnd.lotus-wordpro")


@pytest.mark.parametrize("query", ["the", "the AND size:>0"])
def test_hits_that_a_limit_cuts_off_are_counted_whatever_is_written(
    run: Run, capsys: pytest.CaptureFixture[str], query: str, tmp_path: Path
) -> None:
    """A file of the first hits looks as complete as one of all; 20 are the usual limit."""
    every = tmp_path / "hits.jsonl"
    run(capsys, "search", query, "--limit", "100000", "-o", "jsonl", "--output-file", str(every))
    number = len(every.read_text().splitlines())
    for form in ("table", "csv", "json", "jsonl"):
        assert f"3 of {number} items\n" in run(capsys, "search", query, "--limit", "3", "-o", form, noted=True)


def test_from_a_list_of_terms_to_a_tag(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_bytes("the\nüber OR of\n=1+1\n".encode("cp1252"))
    report = json.loads(run(capsys, "terms", str(terms), "-o", "json"))
    rows = list(csv.DictReader(io.StringIO(run(capsys, "terms", str(terms), "-o", "csv"))))
    whole = [row for row in rows if not row["custodian"]]
    assert [int(row["items"]) for row in whole] == [*(t["items"] for t in report["terms"]), report["total"]["items"]]
    assert [row["term"] for row in whole] == ["the", "über OR of", "'=1+1", "any term"]
    raw = list(csv.DictReader(io.StringIO(run(capsys, "terms", str(terms), "-o", "csv", "--csv-raw"))))
    assert raw == [row | {"term": row["term"].removeprefix("'")} for row in rows]
    table = run(capsys, "terms", str(terms), "--custodians")
    assert "any term" in table
    assert all(each["custodian"] in table for each in report["custodians"])
    items = report["terms"][0]["items"]
    assert f"{items:,} items found" in run(capsys, "tag", "seen", "the")
    assert len(json.loads(run(capsys, "search", "tag:seen", "-o", "json", "--limit", "100000"))) == items
    assert run(capsys, "search", "the AND of", "--save", "both")
    assert "the AND of" in run(capsys, "search")
    assert "seen" in run(capsys, "tag")
    done = ["created", "tagged", "search saved"]
    listed = json.loads(run(capsys, "custody", "--actions", "-o", "json"))
    assert [each.get("action") for each in listed] == [*done, None]
    table = run(capsys, "custody")
    assert all(action in table for action in done)
    families = json.loads(run(capsys, "search", "kind:attachment", "--families", "-o", "json", "--limit", "100000"))
    assert {True, False} == {each["hit"] for each in families}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", '"open'), "not closed"),
        (("search", "NOT the"), "only excludes"),
        (("search", "--families"), "QUERY is missing"),
        (("search", "--forget", "none"), "no saved search"),
        (("search", "saved:none"), "no saved search"),
        (("tag", "seen"), "requires QUERY"),
        (("search", "tag:nosuch"), "no item has the tag 'nosuch'"),
        (("tag", "a/b", "the"), "not a name for"),
        (("tag", "seen", "the NOT tag:nobodys"), "no item has the tag 'nobodys'"),
        (("terms", "/nonexistent"), "/nonexistent does not exist"),
        (("terms", "/nonexistent", "--csv-raw"), "requires -o csv"),
        (("tag", "seen", "the", "--item", "ab"), "exclude each other"),
        (("tag", "seen", "--item", "zz"), "'zz' is not an item id"),
        (("item", ""), "is not an item id"),
        (("item", "0" * 33), "is not an item id"),
        (("item", "0" * 32), "there is no item"),
        (("item", "ab", "--text-only", "-o", "json"), "--text-only prints plain text"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    run: Run, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = run(capsys, *arguments, status=USAGE)
    assert message in line
    assert line.count("\n") == 1


def test_one_item_of_a_search(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """By the beginning of its id: what is known of it and its family, what lies beside it once that was looked for, its text,
    and a tag of its own."""
    hit = json.loads(run(capsys, "search", "kind:attachment AND the", "-o", "json"))[0]
    begins = hit["item"][:13]
    reported = json.loads(run(capsys, "item", begins, "-o", "json"))
    assert (reported["item"]["id"], reported["item"]["container_path"]) == (hit["item"], hit["container_path"])
    family = [member["id"] for member in reported["family"]["members"]]
    assert family[0] == hit["family"]
    assert hit["item"] in family
    assert reported["duplicates"] is reported["near_duplicates"] is reported["thread"] is None
    assert "edbench review dedupe" in reported["unknown"]["duplicates"]
    text = run(capsys, "item", begins, "--text-only")
    assert reported["item"]["characters"] in (len(text), len(text) - 1)
    assert "the" in text.lower()
    assert "1 item found, tag mine added to 1 of them" in run(capsys, "tag", "mine", "--item", begins)
    assert [each["item"] for each in json.loads(run(capsys, "search", "tag:mine", "-o", "json"))] == [hit["item"]]
    assert "removed from 1 of them" in run(capsys, "tag", "mine", "--item", hit["item"], "--remove")
    assert "several item ids begin" in run(capsys, "item", begins[0], status=USAGE)
    for command in ("dedupe", "threads"):
        run(capsys, command)
    topmost = json.loads(run(capsys, "item", hit["family"], "-o", "json"))
    assert topmost["unknown"].keys() == {"near_duplicates"}
    assert hit["family"] in [message["item"] for message in topmost["thread"]]
    shown = run(capsys, "item", hit["family"])
    assert hit["family"] in shown
    assert begins[:8] in shown
    assert "thread" in shown
