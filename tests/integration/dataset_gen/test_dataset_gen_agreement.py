"""Every document the generator can make, read by the worker: the same items, fields, counts and exceptions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agreement import EXPECTED, differences

from dataset_gen import faults
from dataset_gen.formats.mail import eml
from dataset_gen.made import Made, Placed, Truth, branch
from dataset_gen.packing.zip import ZipWriter
from dataset_gen.profile import load_profile
from dataset_gen.truth.manifest import EXCEPTIONS, rows_of
from dataset_gen.workshop import BUILDERS, Workshop, extension
from readers.errors import ExceptionCode
from readers.records import Kind

SOUND = sorted(set(BUILDERS) - set(faults.FILES))


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return Workshop(load_profile("reference"), 23, 0.01)


def name_of(fmt: str) -> bytes:
    return f"file.{extension(fmt)}".encode()


def codes_in(truth: Truth, name: bytes) -> set[str]:
    """Every code the manifest expects in this document."""
    return {code for row in rows_of(name, truth, 0) for code in row[EXCEPTIONS]}


def faulty(shop: Workshop, kind: str, key: str) -> Made:
    return shop.document(kind, key, faults.FILES[kind][1])


@pytest.mark.parametrize("fmt", SOUND)
def test_a_sound_document_is_found_as_it_was_made(shop: Workshop, fmt: str) -> None:
    for size in (8_000, 60_000):
        made = shop.document(fmt, f"agreement/{size}", size)
        assert differences(name_of(fmt), made.data, made.truth) == []


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


def test_a_fault_is_the_same_bytes_every_time(shop: Workshop) -> None:
    """A second process with empty caches makes the same files."""
    again = Workshop(load_profile("reference"), 23, 0.01)
    for kind in faults.FILES:
        assert faulty(shop, kind, "agreement/twice").truth == faulty(again, kind, "agreement/twice").truth, kind


def test_zip_in_mail_in_zip(shop: Workshop) -> None:
    made = shop.document("zip_mail", "agreement/large", 1_500_000)
    inside = [(child, part) for child in made.truth.children for part in child.truth.children]
    assert any(part.truth.media_type == "application/zip" and part.truth.children for _, part in inside)
    assert {child.truth.media_type for child in made.truth.children} >= {"message/rfc822", "application/mbox"}
    assert made.truth.announced == len(made.truth.children)
