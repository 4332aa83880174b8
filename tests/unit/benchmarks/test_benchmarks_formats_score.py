"""What `make bench-formats` counts as found, and what it says of a file in which we found less."""

import hashlib
from pathlib import Path

import pytest

from benchmarks.formats import engines
from benchmarks.formats.engines import TikaAbsent, files_per_second, find_tika
from benchmarks.formats.recall import format_of, losses, misread, peer_children, rows
from benchmarks.formats.score import Extract, our_extracts, peer_extract, scores, terms_of


def _line(path: list[str], text: str, media_type: str = "text/plain", **metadata: object) -> dict[str, object]:
    return {"container_path": path, "text": text, "media_type": media_type, "metadata": metadata}


def test_terms_are_runs_of_three_letters_without_case() -> None:
    assert terms_of("An APPLE, apple 2nd abc1def x_yzw Straße") == {"apple", "abc", "def", "yzw", "strasse"}


def test_what_tika_found_is_text_of_the_file_and_what_is_in_it() -> None:
    found = peer_extract(
        [
            {"X-TIKA:content": "outer words", "dc:title": "Unseen", "Content-Type": "application/vnd.ms-tnef"},
            {
                "X-TIKA:content": "the body",
                "resourceName": "message.rtf",
                "X-TIKA:embedded_resource_path": "/message.rtf",
            },
            {"X-TIKA:content": "inner", "resourceName": "a.txt", "X-TIKA:embedded_resource_path": "/a.txt"},
            {"Content-Type": "image/png"},
        ]
    )
    assert found.terms == {"outer", "words", "the", "body", "inner"}
    assert (found.children, found.characters) == (2, len("outer words" + "the body" + "inner"))


def test_parts_of_a_message_without_a_name_are_its_text() -> None:
    kinds = {"": ["message/rfc822", "text/plain"], "/embedded-1": "text/plain", "/a.txt": "text/plain", "/b.zip": "x/y"}
    kinds |= {"/b.zip/embedded-2": "text/plain", "/embedded-3": "image/png"}
    found = peer_extract({"X-TIKA:embedded_resource_path": path, "Content-Type": kind} for path, kind in kinds.items())
    assert (found.children, found.media_type, found.wrappers) == (4, "message/rfc822", 0)
    assert found.endings == {"txt", "zip"}


def test_a_file_called_message_rtf_is_a_child_elsewhere() -> None:
    found = peer_extract(
        [
            {"Content-Type": "application/zip"},
            {"resourceName": "message.rtf", "X-TIKA:embedded_resource_path": "/message.rtf"},
        ]
    )
    assert found.children == 1


def test_ours_are_text_metadata_and_names_at_all_depths() -> None:
    found = our_extracts(
        [
            _line(["a.eml", "deep.zip", "notes.txt"], "inmost"),
            _line(["a.eml", "deep.zip"], ""),
            _line(["a.eml"], "body", "message/rfc822", subject="Greeting", to=["Someone"]),
        ]
    )["a.eml"]
    assert found.terms >= {"inmost", "body", "greeting", "someone", "notes", "deep"}
    assert (found.children, found.media_type) == (2, "message/rfc822")


def test_a_shortfall_names_what_is_missing() -> None:
    ours = our_extracts([_line(["a"], "alpha beta"), _line(["b"], "gamma")])
    peers = {
        "a": peer_extract([{"X-TIKA:content": "alpha beta delta"}, {}]),
        "b": peer_extract([{"X-TIKA:content": "gamma"}]),
        "c": peer_extract([{"X-TIKA:content": "omega"}]),
    }
    total = scores(ours, peers)[""]
    assert (total.files, total.terms, total.found) == (3, 5, 3)
    assert total.fewer_children == 1
    assert [s.name for s in total.shortfalls] == ["a", "c"]
    assert total.shortfalls[0].line() == "a (text/plain): 66.7% of the terms; missing: delta; 0 of 1 children"


def test_equal_finds_are_no_shortfall() -> None:
    ours = our_extracts([_line(["a", "child"], ""), _line(["a"], "alpha beta")])
    total = scores(ours, {"a": peer_extract([{"X-TIKA:content": "beta"}])})[""]
    assert (total.recall, total.shortfalls) == (1.0, [])


def test_numbers_are_terms_too() -> None:
    """A missing amount counts as a missing word does; one digit is too common to say anything."""
    assert terms_of("Invoice 2031 of 7: 1,234.50") == {"invoice", "2031", "234", "50"}


@pytest.mark.parametrize(
    ("name", "reported"),
    [("a/b.DOC", "doc"), ("x.htm", "html"), ("pdf", "other"), ("a.pdf/b", "other"), ("b.docm", "other")],
)
def test_a_files_format_is_its_names_ending(name: str, reported: str) -> None:
    assert format_of(name) == reported


def test_a_shortfall_reports_it_or_is_silent() -> None:
    ours = {
        "a.doc": Extract(terms={"one", "more"}, children=1),
        "b.doc": Extract(terms={"one"}, codes={"corrupt"}),
        "unasked.doc": Extract(terms={"zzz"}),
    }
    peers = {name: Extract(terms={"one", "two"}, children=1) for name in ("a.doc", "b.doc", "c.doc")}
    peers["d.pdf"] = Extract()
    found = rows(ours, peers)
    assert list(found) == ["doc", "pdf"]
    doc = found["doc"]
    assert (doc.files, doc.terms, doc.found, doc.items, doc.peer_items) == (3, 6, 2, 4, 6)
    assert (doc.less, doc.silent) == (["a.doc", "b.doc", "c.doc"], ["a.doc", "c.doc"])
    assert (found["pdf"].share, found["pdf"].less) == (1.0, [])


def test_the_goal_states_by_which_share_it_is_met() -> None:
    mine, peer = Extract(terms={"one"}, children=1), Extract(terms={"one", "two"}, children=1)
    assert rows({"a.pdf": mine}, {"a.pdf": mine})["pdf"].met == "met"
    assert rows({"a.pdf": mine}, {"a.pdf": Extract(terms={"one", "unknown"})})["pdf"].met == "met as compared"
    assert rows({"a.pdf": mine}, {"a.pdf": peer})["pdf"].met == "NOT met"
    peer.children = 2
    assert rows({"a.pdf": mine}, {"a.pdf": peer})["pdf"].met == "NOT met (items)"


def test_a_file_that_tika_misread_is_named_and_its_terms_do_not_count() -> None:
    text, pdf = Extract(media_type="text/plain"), Extract(media_type="application/pdf")
    garbage = peer_extract([{"X-TIKA:content": "word \ufffd", "Content-Type": "text/html; charset=IBM420"}])
    assert misread(pdf, text)
    assert misread(text, garbage)
    assert not misread(Extract(media_type="application/octet-stream"), text)
    assert not misread(text, text)
    peer = Extract(terms={"zzz"}, media_type="text/plain", children=2)
    row = rows({"a.pdf": pdf}, {"a.pdf": peer, "b.pdf": Extract(terms={"one"})})["pdf"]
    assert (row.aside, row.terms, row.compared, row.lost, row.less) == (["a.pdf"], 2, 1, 1, ["a.pdf", "b.pdf"])
    assert (row.share, row.share_compared) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("term", "lost"),
    [
        ("mergeformat", False),  # its own
        ("xls", False),  # of a name that it makes up
        ("novemberdecember", False),  # our lines as one
        ("valueunit", False),  # our cells
        ("threelinesof", False),
        ("samuelcleveland", True),  # a blank is between ours: they may be one
        ("vemberdecember", True),  # begins in the middle of a word
        ("\u4eac\u30bf\u30ef\u30fc", False),  # no blanks: a search finds it
        ("\u4eac\u6771", True),
    ],
)
def test_what_is_no_loss(term: str, lost: bool) -> None:
    shown = "In November\nDecember value\tunit, Samuel Cleveland: Three\n lines\n\nof, \u6771\u4eac\u30bf\u30ef\u30fc"
    mine = our_extracts([{"container_path": ["a"], "text": shown, "metadata": {}, "media_type": "text/plain"}])["a"]
    peer = peer_extract([{}, {"X-TIKA:embedded_resource_path": "/_12.xls"}])
    assert bool(losses({term}, mine, peer)) is lost


_UUENCODED = ("begin 644 zzz.txt", "M" + "0ZZZ" * 15, "#YYYY", "`", "end")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize(
    "shown",
    [
        "a" * 60 + "zzz=",
        "M" + "0ZZZ" * 15,
        "begin 644 zzz",
        "Fr+zzz-sche",
        '&"zzz Bold"',
        _UUENCODED,
    ],
)
def test_what_tika_does_not_decode_is_no_loss(shown: str | tuple[str, ...], ending: str) -> None:
    lines = ("word", *((shown,) if isinstance(shown, str) else shown), "more zzzz")
    peer = peer_extract([{"X-TIKA:content": ending.join(lines)}])
    assert losses(peer.terms, Extract(), peer) == {"word", "more", "zzzz"}


def test_a_text_cut_at_the_limit_reports_it() -> None:
    line = {
        "container_path": ["a"],
        "text": "x",
        "metadata": {},
        "media_type": "text/plain",
        "text_state": "truncated_by_limit",
    }
    assert our_extracts([line])["a"].codes == {"truncated_by_limit"}


def test_a_message_that_begins_as_a_store_does_is_one_item() -> None:
    paths = {"": "application/mbox", "/embedded-1": "message/rfc822", "/embedded-1/a.png": "image/png"}
    peer = peer_extract({"X-TIKA:embedded_resource_path": path, "Content-Type": kind} for path, kind in paths.items())
    assert peer.children == 2
    assert peer_children(Extract(media_type="message/rfc822"), peer) == 1
    assert peer_children(Extract(media_type="application/mbox", stores=1), peer) == 2


def test_exceptions_of_all_items_are_the_files() -> None:
    line = {"text": "", "metadata": {}, "media_type": "message/rfc822"}
    found = our_extracts(
        [line | {"container_path": ["a", "b"], "exceptions": ["corrupt"]}, line | {"container_path": ["a"]}]
    )
    assert found["a"].codes == {"corrupt"}


def test_the_rate_is_that_after_the_warm_up() -> None:
    """Two files warm up until second 10; the other three take two seconds."""
    done = [5_000_000_000, 10_000_000_000, 10_500_000_000, 11_000_000_000, 12_000_000_000]
    assert files_per_second(done, 2) == pytest.approx(1.5)


def test_no_rate_without_files_after_the_warm_up() -> None:
    assert files_per_second([1, 2], 2) == 0.0


def test_without_java_the_comparison_states_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TikaAbsent, match="no java"):
        find_tika(tmp_path)


def test_a_jar_of_ones_own_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TIKA_APP_JAR` wins over the cache and over a download."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'some VM 1' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("TIKA_APP_JAR", str(tmp_path / "gone.jar"))
    with pytest.raises(TikaAbsent, match=r"gone\.jar"):
        find_tika(tmp_path)
    (tmp_path / "own.jar").write_bytes(b"jar")
    monkeypatch.setenv("TIKA_APP_JAR", str(tmp_path / "own.jar"))
    found = find_tika(tmp_path)
    assert (found.jar, found.jvm) == (tmp_path / "own.jar", "some VM 1")


def test_another_jar_than_the_pinned_one_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = tmp_path / "served"
    served.write_bytes(b"not the jar")
    monkeypatch.setattr(engines, "URL", served.as_uri())
    with pytest.raises(TikaAbsent, match="SHA-512"):
        engines._download(tmp_path / "cache" / "tika.jar")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setattr(engines, "SHA512", hashlib.sha512(b"not the jar").hexdigest())
    engines._download(tmp_path / "cache" / "tika.jar")
    assert (tmp_path / "cache" / "tika.jar").read_bytes() == b"not the jar"


def test_without_a_network_the_comparison_states_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "URL", (tmp_path / "gone").as_uri())
    with pytest.raises(TikaAbsent, match="cannot be downloaded"):
        engines._download(tmp_path / "tika.jar")
    assert list(tmp_path.iterdir()) == []


def test_names_that_cannot_stand_in_a_list() -> None:
    names = ["plain.txt", "a b/ü.eml", "two\nlines", "r\udce9sum\udce9", " first"]
    assert [engines.can_be_named(name) for name in names] == [True, True, False, False, False]
