"""PST files as two independent readers and a strict one see them."""

import email
import email.policy
import hashlib
import io
import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pst_layout import Layout, crc
from pst_seen import Seen, Strict, by_libpff, by_readpst, expected
from pst_tables import Heap, Tree, properties, table

from dataset_gen.formats.mapi_mail import PS_INTERNET_HEADERS, PSETID_APPOINTMENT, STRING, TIME, Details, Named, Value
from dataset_gen.formats.pst.heap import PROPERTIES, Blocks, Crypt, SubNode
from dataset_gen.formats.pst.heap import Heap as NewHeap
from dataset_gen.formats.pst.space import BBT, SPAN, Space
from dataset_gen.formats.pst.writer import PstWriter
from readers.mail_form import Address, MailAttachment, MailForm

Item = tuple[tuple[str, ...], MailForm]
INBOX = ("Inbox",)
SIZES = (0, 1, 3579, 3580, 3581, 8175, 8176, 8177, 2 * 8176, 40_000)
NAMES = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=("Cs",)), max_size=40)
WORDS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12)


def stored(items: list[Item], crypt: Crypt = Crypt.PERMUTE) -> bytes:
    """A store of them."""
    file = io.BytesIO()
    store = PstWriter(file, crypt=crypt)
    for folders, form in items:
        store.add(folders, form)
    assert store.finish() == len(file.getvalue())
    return file.getvalue()


def in_order(items: list[Item]) -> list[Seen]:
    """What has to be seen, in the order of the writer's own account of its folders."""
    store = PstWriter(io.BytesIO())
    for folders, _ in items:
        store.folder(folders)
    return [expected(path, form) for path in store.paths() for folders, form in items if folders == path]


def without_messages(seen: Seen) -> Seen:
    """As libpff's Python interface has it."""
    attachments = tuple(None if isinstance(one, Seen) else one for one in seen.attachments)
    return Seen(**{**{name: getattr(seen, name) for name in Seen.__dataclass_fields__}, "attachments": attachments})


@st.composite
def forms(draw: st.DrawFn, depth: int = 1) -> MailForm:
    """Any message, with sizes about the limits of the format."""
    people = st.tuples(NAMES.filter(lambda name: name != ""), WORDS.map(lambda word: f"{word}@mail.example"))

    def group() -> tuple[Address, ...]:
        return tuple(draw(st.lists(people, max_size=3)))

    def data() -> bytes:
        return draw(st.binary(min_size=1, max_size=9)) * (draw(st.sampled_from(SIZES)) // 2)

    files = [
        MailAttachment(
            name=draw(NAMES), data=data(), media_type="application/pdf", content_id=draw(st.just("") | WORDS)
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    inner = [MailAttachment(name="", message=draw(forms(depth - 1)))] if depth and draw(st.booleans()) else []
    size = draw(st.sampled_from(SIZES)) // 2
    return MailForm(
        message_id=draw(st.just("") | WORDS),
        sent=draw(st.none() | st.integers(-11_644_473_600, 4_102_444_800)),
        sender=draw(st.none() | people),
        to=group(),
        cc=group(),
        bcc=group(),
        subject=draw(NAMES),
        references=tuple(draw(st.lists(WORDS, max_size=3))),
        plain=draw(st.none() | NAMES.map(lambda text: "ü" * size + text)),
        html=draw(st.none() | NAMES.map(lambda text: "<p>" * size + text)),
        attachments=(*files, *inner),
    )


FOLDERS = st.lists(st.sampled_from(("Inbox", "Über uns", "a", "b")), max_size=4).map(tuple)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(FOLDERS, forms()), max_size=5), st.sampled_from(Crypt))
def test_any_small_store_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Item], crypt: Crypt
) -> None:
    data = stored(items, crypt)
    wanted = in_order(items)
    assert list(Strict(io.BytesIO(data)).messages()) == wanted
    path = tmp_path_factory.getbasetemp() / "any.pst"
    path.write_bytes(data)
    assert by_libpff(path) == [without_messages(seen) for seen in wanted]


def letter(number: int, attachments: tuple[MailAttachment, ...] = ()) -> MailForm:
    """An ordinary message."""
    return MailForm(
        message_id=f"{number}@mail.example",
        sent=1_500_000_000 + number,
        sender=("Jörg Groß", "joerg@mail.example"),
        to=(("Anna Keller", "anna@mail.example"),),
        cc=(("Bob", "bob@mail.example"),),
        subject=f"Re: Nummer {number} für Anna",
        in_reply_to="0@mail.example",
        references=("0@mail.example",),
        plain=f"Hello {number}\n\nüber\n",
        html=f"<p>Hello {number}</p>\n" if number % 2 else None,
        attachments=attachments,
    )


FILES = (
    MailAttachment(name="résumé.pdf", data=b"%PDF" * 5000, media_type="application/pdf"),
    MailAttachment(name="tiny.txt", data=b"tiny", media_type="text/plain"),
)


def test_readpst_sees_every_message_with_its_attachments(tmp_path: Path) -> None:
    inner = letter(7, FILES)
    items: list[Item] = [(INBOX, letter(n, FILES if n % 3 == 0 else ())) for n in range(20)]
    items += [(("Inbox", "Deep", "Deeper"), letter(30, (*FILES, MailAttachment(name="", message=inner))))]
    path = tmp_path / "mail.pst"
    path.write_bytes(stored(items))
    found = by_readpst(path, tmp_path / "out")
    assert [folders for folders, _ in found] == [folders for folders, _ in items]
    for (_, form), (_, parsed) in zip(items, found, strict=True):
        assert parsed["Subject"] == form.subject
        assert parsed["Message-Id"] == f"<{form.message_id}>"
        assert parsed["Date"].datetime.timestamp() == form.sent
        assert parsed["From"].addresses[0].addr_spec == "joerg@mail.example"
        body = parsed.get_body(("plain",))
        assert body.get_content().rstrip("\n") == (form.plain or "").rstrip("\n")
        html = parsed.get_body(("html",))
        assert (html is not None) is (form.html is not None)
        files = [one for one in form.attachments if one.data is not None]
        data = {part.get_filename(): part.get_content() for part in parsed.iter_attachments() if part.get_filename()}
        for one in files:
            content = data[one.name]
            assert (content.encode() if isinstance(content, str) else content) == one.data
    inside = [part for part in found[-1][1].walk() if part.get_content_type() == "message/rfc822"]
    text = inside[0].get_payload(0).get_payload()  # readpst begins it with a From_ line, so all of it is "body"
    nested = email.message_from_string(text.partition("\n")[2], policy=email.policy.default)
    assert nested["Subject"] == inner.subject
    assert {part.get_filename() for part in nested.iter_attachments()} == {"résumé.pdf", "tiny.txt"}


@pytest.mark.parametrize(
    ("count", "name"),
    [(0, "an empty store"), (700, "contents and B-trees of several levels")],
)
def test_many_messages(tmp_path: Path, count: int, name: str) -> None:
    items: list[Item] = [((f"Folder {n % 7}",), letter(n)) for n in range(count)]
    data = stored(items)
    path = tmp_path / "many.pst"
    path.write_bytes(data)
    wanted = in_order(items)
    strict = Strict(io.BytesIO(data))
    assert list(strict.messages()) == wanted, name
    assert by_libpff(path) == wanted
    assert strict.layout.page(strict.layout.bbt_root[1], BBT)[491] == (2 if count else 0)


def test_a_folder_of_thousands_has_a_heap_that_reports_its_fill_levels_twice() -> None:
    items: list[Item] = [(INBOX, MailForm(subject="x" * 1700)) for _ in range(1200)]
    strict = Strict(io.BytesIO(stored(items)))
    (inbox,) = [nid for nid, own in strict.folders().items() if own[0x3001001F] == "Inbox"]
    heap = Heap(Tree(strict.layout, strict.layout.nodes[inbox & ~0x1F | 0x0E]), 0x7C)
    assert len(heap.pages) > 8 + 128
    assert sum(1 for _ in strict.messages()) == 1200


def test_recipients_and_attachments_by_the_hundred(tmp_path: Path) -> None:
    crowd = tuple((f"Person {n}", f"person.{n}@mail.example") for n in range(600))
    files = tuple(MailAttachment(name=f"{n}.bin", data=bytes([n % 256]) * n * 20) for n in range(400))
    items: list[Item] = [(INBOX, MailForm(subject="crowd", to=crowd, attachments=files))]
    data = stored(items)
    path = tmp_path / "crowd.pst"
    path.write_bytes(data)
    assert list(Strict(io.BytesIO(data)).messages()) == in_order(items) == by_libpff(path)


def test_a_large_attachment_has_a_tree_of_two_levels(tmp_path: Path) -> None:
    large = MailAttachment(name="large.bin", data=hashlib.sha512(b"seed").digest() * 131_000)
    assert len(large.data or b"") > 1021 * 8176
    items: list[Item] = [(INBOX, MailForm(subject="large", attachments=(large,)))]
    path = tmp_path / "large.pst"
    path.write_bytes(stored(items))
    assert list(Strict(io.BytesIO(path.read_bytes())).messages()) == in_order(items) == by_libpff(path)


def test_messages_inside_messages_inside_messages() -> None:
    form = MailForm(subject="innermost", plain="deep", attachments=FILES)
    for level in range(20):
        form = MailForm(subject=f"level {level}", attachments=(MailAttachment(name="", message=form),))
    items: list[Item] = [(INBOX, form)]
    assert list(Strict(io.BytesIO(stored(items))).messages()) == in_order(items)


def test_named_properties_and_other_classes(tmp_path: Path) -> None:
    path = tmp_path / "calendar.pst"
    named: dict[Named, Value] = {
        Named(PSETID_APPOINTMENT, 0x820D, TIME): 131_000_000_000_000_000,
        Named(PS_INTERNET_HEADERS, "x-mailer", STRING): "Example Mail",
    }
    with path.open("w+b") as file:
        store = PstWriter(file)
        nid, again = (
            store.add(("Calendar",), MailForm(subject="Lunch"), Details(message_class="IPM.Appointment", named=named))
            for _ in range(2)
        )
        store.finish()
        strict = Strict(file)
        own, same = (properties(Tree(strict.layout, strict.layout.nodes[n])) for n in (nid, again))
    start, mailer = 0x80020040, 0x8003001F  # behind the two names that every store has
    assert own.keys() == same.keys()
    assert own[start] == 131_000_000_000_000_000
    assert own[mailer] == "Example Mail"
    assert own[0x001A001F] == "IPM.Appointment"
    seen, _ = by_libpff(path)
    assert (seen.folders, seen.subject) == (("Calendar",), "Lunch")


def test_the_store_states_what_it_is() -> None:
    file = io.BytesIO()
    key = bytes(range(16))
    PstWriter(file, display_name="Mail of Änne", key=key, password="Geheim").finish()
    strict = Strict(file)
    assert strict.store[0x3001001F] == "Mail of Änne"
    assert strict.store[0x0FF90102] == key
    assert strict.store[0x67FF0003] & 0xFFFFFFFF == crc(b"Geheim")
    for tag, name in (
        (0x35E00102, "Top of Outlook data file"),
        (0x35E30102, "Deleted Items"),
        (0x35E70102, "Search Root"),
    ):
        entry = strict.store[tag]
        assert entry[:20] == bytes(4) + key
        assert strict.folders()[int.from_bytes(entry[20:], "little")][0x3001001F] == name
    mandatory = {0x21, 0x61, 0x122, 0x12D, 0x12E, 0x12F, 0x1E1, 0x201, 0x60D, 0x60E, 0x60F, 0x610, 0x671, 0x692}
    mandatory |= {0x2223, 0x2226, 0x2227, 0x2230, *(n | k for n in (0x8020, 0x8040, 0x8060) for k in (2, 13, 14, 15))}
    assert mandatory <= strict.layout.nodes.keys()


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = Blocks(Space(io.BytesIO()), Crypt.NONE)
    with pytest.raises(ValueError, match="3580"):
        NewHeap(blocks, PROPERTIES).add(bytes(3581))
    with pytest.raises(ValueError, match="do not go into one"):
        blocks.subnodes([SubNode(n, 4, 0) for n in range(340 * 510 + 1)])
    with pytest.raises(ValueError, match="before 1601"):
        stored([(INBOX, MailForm(sent=-11_644_473_601))])
    monkeypatch.setattr("dataset_gen.formats.pst.heap.MOST_BYTES", 10_000)
    with pytest.raises(ValueError, match="may not be over"):
        blocks.data_tree(bytes(10_001))


@given(st.lists(st.sampled_from((64, 128, 1024, 4096, 8192)), max_size=300))
@settings(max_examples=40, deadline=None)
def test_space_is_given_once_and_nothing_crosses_a_map(sizes: list[int]) -> None:
    space = Space(io.BytesIO())
    taken: list[tuple[int, int]] = []
    for size in sizes:
        _, _, offset = space.take(size)
        taken.append((offset, offset + size))
        assert (offset - 0x4400) // SPAN == (offset + size - 1 - 0x4400) // SPAN
    taken.sort()
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(taken))


REAL = Path(__file__).parents[4] / "shared" / "data" / "real-files"


@pytest.mark.parametrize("name", ["ingest-file/testPST.pst", "java-libpst/dist-list.pst", "java-libpst/passworded.pst"])
def test_the_strict_reader_holds_for_stores_that_outlook_wrote(name: str) -> None:
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open("rb") as file:
        layout = Layout(file)
        for bid in layout.blocks:
            layout.raw(bid)
        for nid, node in layout.nodes.items():
            if nid & 0x1F in (2, 3):
                properties(Tree(layout, node))
            elif nid & 0x1F in (13, 14, 15):
                table(Tree(layout, node))
