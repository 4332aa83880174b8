"""Generated mail stores, as the worker unpacks them and as readers it does not use see them."""

import hashlib
import io
from pathlib import Path

import pytest
from pst_seen import Strict, by_libpff, canonical
from unpacking import unpack

from dataset_gen.formats.eml import EPOCH, Letter
from dataset_gen.formats.pst.store import folder_of, write_store
from dataset_gen.made import Made, leaf
from dataset_gen.material.people import everyone
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers.mail_form import store_name


@pytest.fixture(scope="module")
def built() -> Made:
    """A store with what its messages hold."""
    return Workshop(load_profile("reference"), 7, 0.001).document("pst", "a store", 300_000)


def letter(number: int, thread: int, forwarded: Letter | None = None) -> Letter:
    """One of a thread."""
    people = everyone()
    attachments = (("note ü.txt", leaf(b"A note.\n" * number, "text/plain")),) if number % 2 else ()
    return Letter(
        key=f"mail/{thread}/{number}",
        sender=people[0],
        to=(people[1],),
        cc=(people[2],),
        when=EPOCH + 86_400 * (number + 1),
        subject=f"Re: {thread}/{number}",
        message_id=f"{thread}.{number}@mail.example",
        references=(f"{thread}.0@mail.example",),
        body=f"Text {number}\n",
        terms=("quxterm",) if number == 3 else (),
        html=number % 3 == 0,
        encoding="7bit",
        attachments=attachments,
        forwarded=forwarded,
    )


def test_other_readers_find_what_the_truth_states(built: Made, tmp_path: Path) -> None:
    path = tmp_path / "store.pst"
    path.write_bytes(built.data)
    strict = list(Strict(io.BytesIO(built.data)).messages())
    assert len(strict) > 10
    named = [(store_name(seen.folders, seen.subject), hashlib.sha256(canonical(seen)).digest()) for seen in strict]
    assert named == [(child.name, child.truth.sha256) for child in built.truth.children]
    libpff = by_libpff(path)
    assert [(s.folders, s.subject, s.message_id, s.plain) for s in libpff] == [
        (s.folders, s.subject, s.message_id, s.plain) for s in strict
    ]


def test_a_store_of_threads_lies_in_folders_and_keeps_its_order(tmp_path: Path) -> None:
    letters = [letter(n, thread) for thread in range(12) for n in range(5)]
    letters.append(letter(5, 3, forwarded=letter(1, 3)))
    path = tmp_path / "threads.pst"
    with path.open("w+b") as file:
        truth = write_store(iter(letters), file)
        found = list(Strict(file).messages())
    assert truth.size == path.stat().st_size
    assert truth.sha256 == hashlib.sha256(path.read_bytes()).digest()
    assert truth.announced == len(letters)
    assert [child.ordinal for child in truth.children] == list(range(len(letters)))
    assert [store_name(s.folders, s.subject) for s in found] == [child.name for child in truth.children]
    assert {s.folders for s in found} == {folder_of(one) for one in letters}
    assert len({s.folders for s in found}) > 3
    assert {child.truth.terms for child in truth.children} == {(), ("quxterm",)}
    assert unpack(b"threads.pst", path.read_bytes()).count("threads.pst") == (61, 61, 0, False)
