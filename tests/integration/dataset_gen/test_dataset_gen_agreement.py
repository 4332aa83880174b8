"""Every document the generator can make, read by the worker: the same items, fields, counts and exceptions."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from agreement import EXPECTED, differences, discover
from documents import TERMS, make

from controller.verify.job import as_phrase
from dataset_gen import faults
from dataset_gen.formats import eml, msg
from dataset_gen.languages import build_sample, pairs, sample_key, sample_size
from dataset_gen.made import Made, Placed, Truth, branch
from dataset_gen.material.mail import letters, thread
from dataset_gen.packing import ZipWriter
from dataset_gen.profile import load_profile
from dataset_gen.truth.manifest import EXCEPTIONS, each_row
from dataset_gen.workshop import BUILDERS, WITH_TEXT, Workshop, extension
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from search.engine import IndexDocument, new_writer, open_reader

SOUND = sorted(set(BUILDERS) - set(faults.FILES))


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return Workshop(load_profile("reference"), 23, 0.01)


def name_of(fmt: str) -> bytes:
    return f"file.{extension(fmt)}".encode()


def codes_in(truth: Truth, name: bytes) -> set[str]:
    """Every code the manifest expects in this document."""
    return {code for row in each_row(name, truth, 0) for code in row[EXCEPTIONS]}


def faulty(shop: Workshop, kind: str, key: str) -> Made:
    return shop.document(kind, key, faults.FILES[kind][1])


@pytest.mark.parametrize("fmt", SOUND)
def test_a_sound_document_is_found_as_it_was_made(fmt: str) -> None:
    terms = TERMS if fmt in WITH_TEXT else ()
    for number, size in enumerate((700, 8_000, 60_000, 180_000)):
        made = make(fmt, number, size, terms=terms)
        assert differences(name_of(fmt), made.data, made.truth) == []
        assert {*made.truth.terms} >= {*terms}


def test_every_language_is_found_in_every_charset(tmp_path: Path) -> None:
    """Real text of the profile `languages`, each language in each charset once, in one manner after another: the index finds the
    planted words, or the text says that it may be wrong. That the engines answer alike: tests/unit/search/test_same_answers.py."""
    planted, wrong = {}, []
    writer = new_writer("tantivy", tmp_path / "shard")
    for number in range(len(pairs())):
        made = build_sample(1, key := sample_key(number), sample_size(number))
        found = discover(f"{number}.{key.split('/')[2].partition('-')[0]}".encode(), made.data)
        (ident,) = found.items
        text, read = found.texts[ident]
        if read.state not in made.truth.states or found.codes(ident):
            wrong.append((key, read.state, found.codes(ident)))
        if read.state is TextState.OK:
            planted[ident] = (key, made.truth.terms)
        writer.add(IndexDocument(item=ident, owner="1", body=text))
    writer.finish()
    writer.close()
    reader = open_reader("tantivy", tmp_path / "shard", tmp_path / "view")
    for ident, (key, terms) in planted.items():
        hits = [{hit.item for hit in reader.search(as_phrase(term), 1_000, snippets=False)} for term in terms]
        wrong += [(key, term) for term, those in zip(terms, hits, strict=True) if ident not in those]
    assert wrong == []
    assert len(planted) > 0.9 * len(pairs())


@pytest.mark.parametrize("kind", sorted(faults.FILES))
def test_a_faulty_document_has_the_exceptions_it_has_to_cause(shop: Workshop, kind: str) -> None:
    for key in ("agreement/1", "agreement/2"):
        made = faulty(shop, kind, key)
        assert differences(name_of(kind), made.data, made.truth) == []
        assert codes_in(made.truth, name_of(kind)) == EXPECTED[kind]
        assert kind in faults_in(made.truth)
        assert all(ExceptionCode(code) for code in EXPECTED[kind])


def faults_in(truth: Truth) -> set[str]:
    """The kinds of fault that stand in the manifest for this document."""
    return {truth.fault or ""}.union(*(faults_in(child.truth) for child in truth.children))


@pytest.mark.parametrize("kind", faults.ATTACHABLE)
def test_an_attached_fault_is_the_same_fault(shop: Workshop, kind: str) -> None:
    made = faulty(shop, kind, "agreement/attached")
    letter = eml.single(shop.order("eml", "agreement/letter", 1200))
    mail = eml.write(replace(letter, attachments=((name_of(kind).decode(), made),)))
    out = ZipWriter()
    out.add(b"letter.eml", mail.data)
    children = (Placed(name=b"letter.eml", ordinal=0, kind=Kind.ARCHIVE_MEMBER, truth=mail.truth),)
    zipped = branch(out.finish(), "application/zip", children=children, container=True, announced=1)
    assert differences(b"mail.zip", zipped.data, zipped.truth) == []


def test_zip_in_mail_in_zip(shop: Workshop) -> None:
    made = shop.document("zip_mail", "agreement/large", 1_500_000)
    inside = [(child, part) for child in made.truth.children for part in child.truth.children]
    assert any(part.truth.media_type == "application/zip" and part.truth.children for _, part in inside)
    assert {child.truth.media_type for child in made.truth.children} >= {"message/rfc822", "application/mbox"}
    assert made.truth.announced == len(made.truth.children)


@pytest.mark.parametrize("fmt", ["doc", "ppt", "docx", "xlsx", "pptx"])
def test_some_hold_documents_and_packages(shop: Workshop, fmt: str) -> None:
    for number in range(400):
        made = shop.document(fmt, f"holds/{number}", 60_000 if fmt.startswith("ppt") else 36_000)
        held = [c for c in made.truth.children if not c.name.startswith((b"image", b"picture", b"Microsoft_"))]
        if held:
            assert all(child.name.count(b".") == 1 for child in held)
            assert differences(f"x.{fmt}".encode(), made.data, made.truth) == []
            return
    pytest.fail("none of 400 holds a package")


def test_a_letter_is_the_same_message_as_an_outlook_item(shop: Workshop) -> None:
    inside: Counter[str] = Counter()
    for number in range(30):
        talk = thread(shop, 0, number, 60_000)
        for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches)))):
            item, message = msg.write(letter), eml.formed(letter).message()
            assert differences(b"a.msg", item.data, item.truth) == []
            assert differences(b"a.eml", message.data, message.truth) == []
            assert (message.truth.children, message.truth.terms) == (item.truth.children, item.truth.terms)
            inside.update(child.truth.media_type for child in item.truth.children)
    assert inside["message/rfc822"]
    assert len(inside) > 2


def test_items_of_several_classes(shop: Workshop) -> None:
    names = ["IPM.Note", "REPORT.IPM.Note.IPNRN", "IPM.Appointment", "IPM.Schedule.Meeting.Request"]
    found: Counter[str] = Counter()
    for number in range(120):
        data = shop.document("msg", f"class/{number}", 3000).data
        found.update(name for name in names if f"{name}".encode("utf-16-le") + b"\0" in data)
    assert all(found[name] for name in names), found
