"""readers.office.ole.compound: what is written is read, what others read is read, nothing hostile takes time or memory."""

import base64
import hashlib
import io
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import olefile
import pytest
from archive_files import zipped
from as_found import children_of, text_of
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from old_office import packager, property_section

from core.records import Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.charset import code_page
from readers.charset_labels import by_page
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.encryption.locks import lock_of
from readers.office.ole.compound import MAGIC, CompoundFile, DirectoryEntry
from readers.office.ole.objects import packaged
from readers.office.ole.property_set import metadata, properties
from readers.records import Kind, TextState
from readers.registry import handler_for

FILES = Path(__file__).parents[4].parent / "shared/data/real-files"
_NAMES = st.text("abcXYZ 0159_\x01é", min_size=1, max_size=31)
_SIZES = st.sampled_from([0, 1, 63, 64, 65, 511, 512, 4095, 4096, 4097, 9000])


def streams(entry: DirectoryEntry, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], DirectoryEntry]]:
    for child in entry.children:
        if child.storage:
            yield from streams(child, (*path, child.name))
        else:
            yield (*path, child.name), child


def read_all(data: bytes) -> dict[tuple[str, ...], bytes]:
    compound = CompoundFile(data)
    return {path: compound.read(entry) for path, entry in streams(compound.root)}


def distinct(names: dict[str, int]) -> dict[str, bytes]:
    """Streams whose names differ in more than case."""
    kept = {name.upper(): (name, size) for name, size in names.items()}
    return {name: bytes([size % 251]) * size for name, size in kept.values()}


@given(
    st.dictionaries(_NAMES, _SIZES, max_size=12),
    st.dictionaries(_NAMES, _SIZES, max_size=5),
    st.sampled_from([3, 4]),
)
def test_reads_what_is_written(outer: dict[str, int], inner: dict[str, int], version: int) -> None:
    one, two = distinct(outer), distinct(inner)
    one.pop("Sub", None)
    root = Storage(streams={k: v for k, v in one.items() if k.upper() != "SUB"}, storages=[Storage("Sub", streams=two)])
    found = read_all(write(root, version=version))
    assert found == {**{(k,): v for k, v in root.streams.items()}, **{("Sub", k): v for k, v in two.items()}}


def test_many_entries_and_a_big_stream() -> None:
    """More FAT sectors than the header names, and a directory of many sectors."""
    big = random.Random(1).randbytes(8_000_000)
    root = Storage(streams={"big": big, **{f"s{i}": b"%d" % i for i in range(300)}})
    found = read_all(write(root))
    assert found[("big",)] == big
    assert len(found) == 301
    assert found[("s299",)] == b"299"


@pytest.mark.skipif(not FILES.is_dir(), reason="the real files are not on this machine")
def test_real_files_as_olefile_reads_them() -> None:
    seen = 0
    for path in sorted(p for p in FILES.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if data.startswith(MAGIC):
            with olefile.OleFileIO(io.BytesIO(data)) as other:
                assert read_all(data) == {tuple(n): other.openstream(n).read() for n in other.listdir()}, path.name
            seen += 1
    assert seen >= 8


def sample() -> bytearray:
    return bytearray(write(Storage(streams={"long": bytes(range(256)) * 40, "short": b"x" * 200, "other": b"y" * 70})))


def directory_of(data: bytes) -> int:
    return (struct.unpack_from("<I", data, 48)[0] + 1) * 512


def test_a_chain_that_turns_back_is_no_longer_than_the_file() -> None:
    """A stream of 4 GB over a chain that runs in a circle ends with the file, and says that it is short."""
    data = sample()
    at = directory_of(data)
    entry = next(at + 128 * i for i in range(8) if data[at + 128 * i :][:8] == "long".encode("utf-16-le"))
    start = struct.unpack_from("<I", data, entry + 116)[0]
    struct.pack_into("<I", data, entry + 120, 0xFFFFFFF0)
    fat = (struct.unpack_from("<I", data, 76)[0] + 1) * 512
    struct.pack_into("<I", data, fat + 4 * (start + 1), start)
    compound = CompoundFile(bytes(data))
    assert len(compound.read(compound.root.stream("long"))) <= len(data)
    assert (compound.error and compound.error.code) is ExceptionCode.TRUNCATED


def test_streams_that_overlap_are_not_read_for_ever() -> None:
    data = sample()
    compound = CompoundFile(bytes(data))
    long = compound.root.stream("long")
    many = (compound.read(long) for _ in range(1_000))
    with pytest.raises(DocumentError, match=r"^expansion_limit:"):
        list(many)


def test_entries_that_point_at_each_other_are_met_once() -> None:
    data = sample()
    at = directory_of(data)
    for i in range(1, 4):
        struct.pack_into("<III", data, at + 128 * i + 68, 1, 2, 0)
        data[at + 128 * i + 66] = 1
    names = [entry.name for entry in CompoundFile(bytes(data)).root.children]
    assert len(names) == len(set(names)) <= 3


@pytest.mark.parametrize("data", [b"", MAGIC, MAGIC + bytes(600), b"PK\3\4" + bytes(600)])
def test_no_compound_file(data: bytes) -> None:
    """Too short, without sector sizes, something else."""
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        CompoundFile(data)


INGEST = Path(__file__).parents[4].parent / "shared/data/real-files/ingest-file"


@pytest.mark.parametrize(
    ("stream", "name", "data"),
    [
        (packager(b"C:\\docs\\a b.txt", b"text"), b"a b.txt", b"text"),
        (packager(b"na\xefve.txt", b""), b"na\xefve.txt", b""),
        (packager(b"x.txt", b"text", wide="D:\\größe.txt"), "größe.txt".encode(), b"text"),
        (struct.pack("<I", 3) + b"BMP" + b"behind", b"", b"BMP"),
        (struct.pack("<I", 60) + b"\2\0no end of a name", b"", b"\2\0no end of a name"),
        (struct.pack("<I", 0), b"", b""),
    ],
)
def test_packages(stream: bytes, name: bytes, data: bytes) -> None:
    assert packaged(stream) == (name, data)


@pytest.mark.parametrize("stream", [b"", b"\1\0", packager(b"a", b"abc", size=0x7FFFFFFF)])
def test_packages_cut_short(stream: bytes) -> None:
    with pytest.raises(DocumentError, match=r"^truncated:"):
        packaged(stream)


def ooxml(folder: str, objects: dict[str, bytes]) -> bytes:
    embeddings = {f"{folder}/embeddings/{name}": data for name, data in objects.items()}
    return zipped({"[Content_Types].xml": "<Types/>", f"{folder}/document.xml": "<x/>", **embeddings})


@pytest.mark.parametrize("folder", ["word", "xl", "ppt"])
def test_packages_in_office_open_xml(folder: str) -> None:
    """`oleObject1.bin` is the file packed in it; an object that is a document, or damaged, stays what it is."""
    package = write(Storage(streams={"\x01Ole10Native": packager(b"plan.pdf", b"%PDF")}))
    other = write(Storage(streams={"WordDocument": b"w" * 5_000}))
    cut = write(Storage(streams={"\x01Ole10Native": packager(b"cut.pdf", b"%PDF", size=99)}))
    whole = write(Storage(streams={"Package": b"PK\5\6" + bytes(18)}))
    objects = {"oleObject1.bin": package, "oleObject2.bin": other, "oleObject3.bin": cut, "oleObject4.bin": whole}
    found = children_of(ooxml(folder, objects | {"Sheet.xlsx": b"PK"}))
    assert [(c.name, c.ordinal, c.kind, c.data) for c in found] == [
        (b"plan.pdf", 0, Kind.EMBEDDED_OBJECT, b"%PDF"),
        (b"oleObject2.bin", 1, Kind.EMBEDDED_OBJECT, other),
        (b"oleObject3.bin", 2, Kind.EMBEDDED_OBJECT, cut),
        (b"oleObject4.bin", 3, Kind.EMBEDDED_OBJECT, b"PK\5\6" + bytes(18)),
        (b"Sheet.xlsx", 4, Kind.EMBEDDED_OBJECT, b"PK"),
    ]


def property_stream(*values: tuple[int, bytes], page: int = 1252) -> bytes:
    """A property set of raw values."""
    return struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0, bytes(16), 1, bytes(16), 48) + property_section(*values, page=page)


def narrow(text: str, codec: str = "cp1252") -> bytes:
    raw = text.encode(codec) + b"\0"
    return struct.pack("<II", 30, len(raw)) + raw


def test_properties() -> None:
    """Strings in their code page, times as ISO 8601, numbers; a time of "never" and a value cut off are left out."""
    moment = struct.pack("<IQ", 64, 127_909_224_000_000_000)
    stream = property_stream(
        (2, narrow("Отчёт", "cp1251")),
        (4, struct.pack("<II", 31, 4) + "Änne".encode("utf-16-le")),
        (12, moment),
        (13, struct.pack("<IQ", 64, 0)),
        (14, struct.pack("<II", 3, 7)),
        (18, struct.pack("<I", 30)),
        page=1251,
    )
    found = metadata(CompoundFile(write(Storage(streams={"\x05SummaryInformation": stream}))))
    assert found == {"title": "Отчёт", "author": "Änne", "created": "2006-05-01T02:00:00Z", "page_count": 7}
    for cut in range(len(stream)):
        properties(stream[:cut])


def test_a_code_page_that_is_no_number() -> None:
    """A time where the code page should be: windows-1252."""
    found = properties(property_stream((1, struct.pack("<IQ", 64, 127_909_224_000_000_000)), (2, narrow("é"))))
    assert found == {2: "é"}


def test_code_pages() -> None:
    """One table for every format: KOI8, ISO 8859, the Macintosh's, which some readers did not know."""
    pages = {
        1251: "cp1251",
        1200: "utf-16-le",
        10029: "mac-latin2",
        20866: "koi8-r",
        28592: "iso8859-2",
        50220: "iso2022_jp",
    }
    assert code_page("Größe".encode(), "cp1252") == "utf-8"
    assert {page: by_page(page) for page in (*pages, 0, 31_999)} == {**pages, 0: "", 31_999: ""}


@pytest.mark.parametrize(
    ("stream", "media_type"),
    [
        ("VisioDocument", "application/vnd.visio"),
        ("something", "application/x-ole-storage"),
    ],
)
def test_other_compound_files_have_metadata(stream: str, media_type: str) -> None:
    summary = property_stream((2, narrow("Floor plan")))
    source = MemorySource(b"x", write(Storage(streams={stream: b"x" * 99, "\x05SummaryInformation": summary})))
    assert identify(source) == media_type
    out = handler_for(media_type).text(source, Limits())
    assert (out.metadata, out.state, out.error) == ({"title": "Floor plan"}, TextState.UNSUPPORTED, None)


def test_a_loose_package() -> None:
    data = write(Storage(streams={"\x01Ole10Native": packager(b"a.txt", b"hi")}))
    assert [(c.name, c.data) for c in children_of(data)] == [(b"a.txt", b"hi")]
    assert text_of(data).state is TextState.EMPTY


SALT, DATA_SALT, VERIFIER = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
SPINS = 20
INPUT, VALUE, KEY = (bytes.fromhex(h) for h in ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6"))


def sealed(key: bytes, vector: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor().update(data + bytes(-len(data) % 16))


def fitted(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\x36")


def locked(name: str, bits: int, password: str, package: bytes) -> tuple[bytes, bytes, bytes]:
    """EncryptionInfo, the encrypted package and its key ([MS-OFFCRYPTO] 2.3.4.10 to 2.3.4.15)."""

    def hashed(data: bytes) -> bytes:
        return hashlib.new(name, data).digest()

    state = hashed(SALT + password.encode("utf-16-le"))
    for number in range(SPINS):
        state = hashed(struct.pack("<I", number) + state)
    key = bytes(range(100, 100 + bits // 8))
    fields = {"saltValue": SALT}
    for field, purpose, data in (
        ("encryptedVerifierHashInput", INPUT, VERIFIER),
        ("encryptedVerifierHashValue", VALUE, hashed(VERIFIER)),
        ("encryptedKeyValue", KEY, key),
    ):
        fields[field] = sealed(fitted(hashed(state + purpose), bits // 8), SALT, data)
    how = f'cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="{name.upper()}" keyBits="{bits}"'
    shown = " ".join(f'{field}="{base64.b64encode(data).decode()}"' for field, data in fields.items())
    xml = (
        '<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption">'
        f'<keyData {how} saltValue="{base64.b64encode(DATA_SALT).decode()}"/>'
        '<p:encryptedKey xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password"'
        f' spinCount="{SPINS}" {how} {shown}/></encryption>'
    )
    segments = (package[at : at + 4096] for at in range(0, len(package), 4096))
    vectors = (fitted(hashed(DATA_SALT + struct.pack("<I", n)), 16) for n in range(len(package)))
    data = b"".join(sealed(key, vector, segment) for vector, segment in zip(vectors, segments, strict=False))
    return struct.pack("<HHI", 4, 4, 0x40) + xml.encode(), data, key


@pytest.mark.parametrize(
    ("name", "bits"), [("sha1", 128), ("sha1", 192), ("sha1", 256), ("sha256", 128), ("sha384", 256), ("sha512", 256)]
)
def test_agile_encryption_opens_with_its_password(name: str, bits: int) -> None:
    """Office 2010 writes SHA-1, whose hash does not fill whole blocks; of a package that breaks off, what is there."""
    package = b"PK\x03\x04" + bytes(range(256)) * 40
    info, data, key = locked(name, bits, "hunter2", package)
    lock = lock_of(info)
    assert lock.attempt("hunter3") is None
    assert lock.attempt("hunter2") == key
    assert lock.package(key, data)[: len(package)] == package
    assert lock.package(key, data[:9_005]) == package[:8_992]
