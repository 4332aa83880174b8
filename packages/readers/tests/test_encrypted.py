"""Encrypted items of every format that a password opens: real files of the programs that encrypt, each with the bank
that fits, one that does not, and none."""

import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from archive_files import zipped
from encrypted import OFFICE_PASSWORD, agile, archive, odt, old_office, pdf

from core.records import Limits
from dataset_gen.formats import encrypted as encrypted_office
from dataset_gen.made import Made, Order
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import Workshop
from readers.archives.zip import crypto as zip_crypto
from readers.base import Child, MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.passwords import Passwords, TryBudget
from readers.registry import handler_for

LIMITS = Limits()
SECRET = "geheim"
WRONG = Passwords({"wrong": 1, "worse": 2})
FILES = {"a.txt": b"first " * 500, "b.bin": random.Random(5).randbytes(40_000), "c.txt": b"not by chance"}
ARCHIVES = {
    "zipcrypto.zip": ("-tzip", "-mem=ZipCrypto"),
    "stored.zip": ("-tzip", "-mem=ZipCrypto", "-mx0"),
    "aes128.zip": ("-tzip", "-mem=AES128"),
    "aes256.zip": ("-tzip", "-mem=AES256"),
    "members.7z": (),
    "header.7z": ("-mhe=on",),
    "copied.7z": ("-mx0",),
}


def bank(password: str) -> Passwords:
    """The password behind others that do not fit."""
    return Passwords({"wrong": 1, "ganz und gar anders": 2, password: 3})


def source(name: str, data: bytes, passwords: Passwords) -> MemorySource:
    return MemorySource(name.encode(), data, passwords)


def text_of(item: MemorySource) -> Text:
    return handler_for(identify(item)).text(item, LIMITS)


def children_of(item: MemorySource) -> list[Child]:
    return list(handler_for(identify(item)).children(item, LIMITS))


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Each archive as the program 7z encrypts it."""
    directory = tmp_path_factory.mktemp("archives")
    return {name: archive(directory, name, FILES, f"-p{SECRET}", *how) for name, how in ARCHIVES.items()}


@pytest.mark.parametrize("name", ARCHIVES)
def test_members_of_archives_come_out_with_the_right_password(archives: dict[str, bytes], name: str) -> None:
    found = children_of(source(name, archives[name], bank(SECRET)))
    assert {child.name.decode(): child.data for child in found} == FILES
    assert all(child.notes == {"decrypted": True, "password_line": 3} for child in found)


@pytest.mark.parametrize(
    ("passwords", "message"),
    [(WRONG, "2 passwords tried"), (Passwords(), "a password is needed")],
    ids=["wrong", "none"],
)
@pytest.mark.parametrize("name", ARCHIVES)
def test_members_of_archives_stay_shut_without_it(
    archives: dict[str, bytes], name: str, passwords: Passwords, message: str
) -> None:
    """Every member is announced and failed, and says how many passwords were tried; with an encrypted header the
    whole archive does."""
    item = source(name, archives[name], passwords)
    if name == "header.7z":
        with pytest.raises(DocumentError, match=f"^encrypted: .*{message}"):
            children_of(item)
        return
    found = children_of(item)
    assert [child.emit for child in found] == [False] * len(FILES)
    assert handler_for(identify(item)).announced(item) == len(FILES)
    for child in found:
        assert child.error is not None
        assert child.error.code is ExceptionCode.ENCRYPTED
        assert message in child.error.detail


def test_an_archive_with_a_hidden_header_announces_once_it_can_be_opened(archives: dict[str, bytes]) -> None:
    handler = handler_for("application/x-7z-compressed")
    assert handler.announced(source("h.7z", archives["header.7z"], WRONG)) is None
    assert handler.announced(source("h.7z", archives["header.7z"], bank(SECRET))) == len(FILES)


@pytest.mark.parametrize("method", ["ZipCrypto", "AES256"])
def test_large_members_come_as_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    for module in ("directory", "crypto"):
        monkeypatch.setattr(f"readers.archives.zip.{module}.SMALL_MEMBER", 10_000)
    data = archive(tmp_path, "x.zip", FILES, "-tzip", f"-mem={method}", f"-p{SECRET}")
    item = source("x.zip", data, bank(SECRET))
    found = {}
    for child in handler_for("application/zip").children(item, LIMITS):
        found[child.name] = child.data if child.stream is None else child.stream.read()
    assert found == {name.encode(): content for name, content in FILES.items()}


def test_a_password_that_passes_the_check_byte_is_not_believed(tmp_path: Path) -> None:
    """One wrong password in 256 fits ZipCrypto's check byte: of 2,000, several do, and none opens the member."""
    data = archive(tmp_path, "x.zip", {"a.txt": b"the first" * 9}, "-tzip", "-mem=ZipCrypto", "-mx0", f"-p{SECRET}")
    passwords = Passwords({f"guess {n}": n for n in range(2_000)} | {SECRET: 2_000})
    (child,) = children_of(source("x.zip", data, passwords))
    assert (child.data, child.notes["password_line"]) == (b"the first" * 9, 2_000)


def test_damage_in_an_encrypted_member_is_never_taken_for_content(archives: dict[str, bytes]) -> None:
    data = bytearray(archives["aes256.zip"])
    data[data.index(b"b.bin") + 200] ^= 1
    bad = [child.name for child in children_of(source("x.zip", bytes(data), bank(SECRET))) if child.error is not None]
    assert len(bad) == 1


def test_the_traditional_cipher_is_its_own_authority() -> None:
    """Of an empty stream the keys stand where the specification puts them (6.1.5)."""
    assert zip_crypto._Traditional(b"")._keys == (0x12345678, 0x23456789, 0x34567890)


@dataclass(frozen=True)
class Document:
    """How an encrypted document is made, what opens it, and what is in it then."""

    make: Callable[[], bytes]
    password: str
    text: str


def _docx() -> bytes:
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName='
        '"/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.'
        'document.main+xml"/></Types>',
        "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
        "<w:t>agile text</w:t></w:r></w:p></w:body></w:document>",
        "docProps/filling.bin": FILES["b.bin"],  # short streams of compound files lie elsewhere
    }
    return agile(zipped(parts, zipfile.ZIP_STORED), SECRET)


def _generated(build: Callable[[Order], Made]) -> bytes:
    shop = Workshop(load_profile("reference"), 5, 0.01)
    return build(Order(maker=shop, dice=Dice(derive(5, "encrypted", 1)), key="k", size=4_000, terms=())).data


DOCUMENTS = {
    "standard.docx": Document(lambda: _generated(encrypted_office.encrypted_docx), encrypted_office.PASSWORD, " the "),
    "rc4.doc": Document(lambda: _generated(encrypted_office.encrypted_doc), encrypted_office.PASSWORD, " the "),
    "agile.docx": Document(_docx, SECRET, "agile text"),
    "new.odt": Document(lambda: odt("text under AES", SECRET), SECRET, "text under AES"),
    "old.odt": Document(lambda: odt("text under Blowfish", SECRET, blowfish=True), SECRET, "text under Blowfish"),
    "user.pdf": Document(lambda: pdf("a page", SECRET, "owner"), SECRET, "a page"),
    "owner.pdf": Document(lambda: pdf("a page", "user", SECRET), SECRET, "a page"),
    "r.doc": Document(lambda: old_office("rc4cryptoapi_password.doc"), OFFICE_PASSWORD, "lorem ipsum"),
    "r.xls": Document(lambda: old_office("rc4cryptoapi_password.xls"), OFFICE_PASSWORD, "lorem ipsum\t3"),
    "r.ppt": Document(lambda: old_office("rc4cryptoapi_password.ppt"), OFFICE_PASSWORD, "Lorem ipsum"),
    "x.xls": Document(lambda: old_office("xor_password_123456789012345.xls"), "123456789012345", "1\t1\t1"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_open_with_the_right_password(name: str) -> None:
    document = DOCUMENTS[name]
    data = document.make()
    found = text_of(source(name, data, bank(document.password)))
    assert document.text in found.text
    assert found.error is None
    assert (found.metadata["decrypted"], found.metadata["password_line"]) == (True, 3)
    assert document.password not in str(found.metadata)
    for passwords, shown in ((WRONG, "2 passwords tried"), (Passwords(), "a password is needed")):
        with pytest.raises(DocumentError, match=shown) as caught:
            text_of(source(name, data, passwords))
        assert caught.value.code is ExceptionCode.ENCRYPTED
        assert children_of(source(name, data, passwords)) == []


@pytest.mark.parametrize(
    ("name", "password", "text"),
    [("password_protected.xlsx", "password", "The answer\t42"), ("password-hunter2.pdf", "hunter2", "has a password")],
)
def test_files_of_other_projects_open(real_files: Path, name: str, password: str, text: str) -> None:
    data = (real_files / "ingest-file" / name).read_bytes()
    assert text in text_of(source(name, data, bank(password))).text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damaged_encrypted_documents_raise_document_errors_only(name: str) -> None:
    """Cut, or with bytes changed, with the right password at hand."""
    document, dice = DOCUMENTS[name], random.Random(name)
    data = document.make()
    for _ in range(2 if name.endswith(".docx") else 12):  # their keys take a tenth of a second
        bad = bytearray(data[: dice.randrange(len(data))] if dice.random() < 0.3 else data)
        for _ in range(dice.randrange(1, 9)):
            if bad:
                bad[dice.randrange(min(len(bad), dice.choice((600, 4_000, len(bad)))))] = dice.randrange(256)
        item = source(name, bytes(bad), bank(document.password))
        handler = handler_for(identify(source(name, data, WRONG)))
        for read in (lambda: handler.text(item, LIMITS), lambda: list(handler.children(item, LIMITS))):  # noqa: B023
            with suppress(DocumentError):
                read()


BANK = {"one": 1, "two": 2, "three": 5}


class Door:
    """Something locked, that counts what was tried on it."""

    def __init__(self, *fitting: str) -> None:
        self.fitting, self.tried = fitting, list[str]()

    def attempt(self, password: str) -> str | None:
        self.tried.append(password)
        return "inside" if password in self.fitting else None


def test_passwords_are_tried_in_order_until_one_fits() -> None:
    """The empty one first; the metadata has the line and not the password."""
    door = Door("two")
    opened = Passwords(BANK).open(b"lock", door.attempt, cost=1, budget=TryBudget(LIMITS))
    assert door.tried == ["", "one", "two"]
    assert opened.metadata == {"decrypted": True, "password_line": 2}
    assert "two" not in repr(opened)


def test_the_empty_password_needs_no_bank() -> None:
    opened = Passwords().open(b"lock", Door("").attempt, cost=1, budget=TryBudget(LIMITS))
    assert opened.metadata == {"decrypted": True}


def test_what_does_not_open_states_how_many_were_tried_and_is_not_tried_again() -> None:
    """The second time it is known."""
    passwords, door = Passwords(BANK), Door()
    for _ in range(2):
        with pytest.raises(DocumentError, match="3 passwords tried") as caught:
            passwords.open(b"lock", door.attempt, cost=1, budget=TryBudget(LIMITS))
        assert caught.value.code is ExceptionCode.ENCRYPTED
    assert len(door.tried) == 4


def test_what_opened_once_is_tried_first_on_the_neighbours_and_alone_on_the_same_lock() -> None:
    passwords = Passwords(BANK)
    passwords.open(b"lock", Door("three").attempt, cost=1, budget=TryBudget(LIMITS))
    again, neighbour = Door("three"), Door("three")
    passwords.open(b"lock", again.attempt, cost=1, budget=TryBudget(LIMITS))
    passwords.open(b"other", neighbour.attempt, cost=1, budget=TryBudget(LIMITS))
    assert (again.tried, neighbour.tried) == (["three"], ["", "three"])


def test_no_more_is_tried_than_half_of_an_items_time_allows() -> None:
    """Thirty tries of a second each, and the message says that there were more."""
    passwords, door = Passwords({str(n): n for n in range(1, 101)}), Door("100")
    with pytest.raises(DocumentError, match="29 of 100 passwords tried"):
        passwords.open(b"lock", door.attempt, cost=1e6, budget=TryBudget(LIMITS))


def test_locks_of_one_container_share_their_time() -> None:
    passwords, budget = Passwords({str(n): n for n in range(1, 101)}), TryBudget(LIMITS)
    passwords.open(b"a", Door("7").attempt, cost=1e6, budget=budget)
    with pytest.raises(DocumentError):
        passwords.open(b"b", Door().attempt, cost=1e6, budget=budget)
    last = Door("7")
    assert passwords.open(b"c", last.attempt, cost=1e6, budget=budget).line == 7
    assert last.tried == ["", "7"]


REPOSITORY = Path(__file__).parents[3]
# The last comes with importlib.metadata, which is most of what it costs.
LATE = ("cryptography", "inflate64")


def _loaded(code: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name.partition(".")[0] for name in ended.stdout.split()}


def test_readers_come_without_what_few_files_need() -> None:
    handlers = (
        *(
            f"{name}.handler"
            for name in ("archives.zip", "office.ooxml", "office.doc", "office.xls", "office.ppt", "office.odf")
        ),
        "outlook.msg",
    )
    code = "import " + ", ".join(f"readers.{handler}" for handler in handlers)
    assert _loaded(code).isdisjoint(LATE)


def test_a_sandbox_has_them_before_it_is_locked() -> None:
    assert _loaded("from worker.sandbox.main import load_everything; load_everything(())").issuperset(LATE)
