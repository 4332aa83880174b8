"""readers.registry: declarations are checked, every type finds a handler."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.formats import page
from cli.main import OK, USAGE, main
from core.records import Limits
from dataset_gen import faults
from dataset_gen.profile import load_profile
from dataset_gen.workshop import BUILDERS, Workshop, extension
from readers import last
from readers.base import Declared, Handler, LeafHandler, MemorySource, Source, Text, is_leaf
from readers.clean import read, written
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.keys import KEYS, misfits
from readers.last import Last, remembered
from readers.listing import STATES, listed
from readers.modules import LIKELY
from readers.records import TextState
from readers.registry import all_handlers, check_handlers, handler_for


class One(LeafHandler):
    name = "one"
    media_types: tuple[str, ...] = ("application/x-one",)


class Two(LeafHandler):
    name = "two"
    media_types: tuple[str, ...] = ("application/x-two", "application/x-one")


class Malformed(LeafHandler):
    name = "malformed"
    media_types: tuple[str, ...] = ("Application",)


class Nameless(LeafHandler):
    media_types: tuple[str, ...] = ("application/x-nameless",)


class Incomplete(LeafHandler):
    name = "incomplete"
    media_types: tuple[str, ...] = ("application/x-incomplete",)
    container = None  # type: ignore[assignment]


@pytest.mark.parametrize("handlers", [(One(), Two()), (Malformed(),), (Nameless(),), (Incomplete(),), (One(), One())])
def test_bad_declarations_are_refused(handlers: tuple[Handler, ...]) -> None:
    with pytest.raises(ValueError, match=r"Malformed|Nameless|Two|Incomplete|One"):
        check_handlers(handlers)


@pytest.mark.parametrize(
    ("media_type", "name", "container"),
    [
        ("message/rfc822", "eml", False),
        ("application/mbox", "mbox", True),
        ("application/zip", "zip", True),
        ("application/x-tar", "tar", True),
        ("application/gzip", "gzip", True),
        ("application/epub+zip", "zip", True),
        ("application/vnd.etsi.asic-e+zip", "zip", True),
    ],
)
def test_containers_and_mail_have_handlers(media_type: str, name: str, container: bool) -> None:
    handler = handler_for(media_type)
    assert handler.name == name
    assert handler.container is container


def test_unknown_types_are_leaves() -> None:
    handler = handler_for("application/x-nobody-knows")
    source = MemorySource(b"x", b"y")
    assert handler.announced(source) is None
    assert handler.parts(source, 1) == []
    assert handler not in all_handlers()


def test_unknown_text_is_text() -> None:
    """Unknown subtypes of text are read as text/plain (RFC 2046, 4.1.4)."""
    assert handler_for("text/x-unheard-of") is handler_for("text/plain")


def test_each_handler_is_listed_once() -> None:
    """`all_handlers` is what pages and documentation list."""
    handlers = all_handlers()
    assert len({handler.name for handler in handlers}) == len(handlers) >= 5


class Parent(One):
    """Has children."""

    def announced(self, source: Source) -> int | None:
        return 1


class Container(One):
    """Would have them."""

    container = True


def test_only_who_cannot_have_children_is_not_asked_for_them() -> None:
    assert is_leaf(One())
    assert not is_leaf(Parent())
    assert not is_leaf(Container())
    assert is_leaf(handler_for("text/plain"))
    assert not any(
        is_leaf(handler_for(name)) for name in ("text/html", "application/zip", "message/rfc822", "text/vcard")
    )


def test_what_a_file_is_likely_to_be_by_its_name_is_what_its_handler_declares() -> None:
    for ending, media_type in LIKELY.items():
        declared = [one for one in listed((handler_for(media_type),)) if media_type in one.media_types]
        assert any(ending in one.declared.extensions for one in declared), ending


def flaws(media_types: tuple[str, ...], declared: tuple[Declared, ...]) -> list[str]:
    """Return the errors in a handler's declarations as sentences; [] if there are none."""
    wrong = [] if declared else ["declares no format"]
    listed = [media_type for one in declared for media_type in one.media_types or media_types]
    if declared and sorted(listed) != sorted(media_types):
        wrong.append(f"declares {sorted(listed)}, has {sorted(media_types)}")
    for one in declared:
        wrong += [f"{one.title}: {flaw}" for flaw in _flaws(one)]
    return wrong


def _flaws(one: Declared) -> list[str]:
    wrong = [f"no key {key}: it is not in readers.keys" for key in one.metadata if key not in KEYS]
    if not one.title:
        wrong.append("no title")
    if not one.leaves_out:
        wrong.append("does not list what is omitted")
    if one.announces and not one.children:
        wrong.append("announces children and has none")
    wrong += [f"{e!r} is no extension" for e in one.extensions if e != e.lower() or e.startswith(".") or not e]
    sentences = (one.text, one.children, one.announces, *one.leaves_out)
    wrong += [f"{s!r} ends with a full stop or is empty" for s in sentences if s.endswith(".") or s != s.strip()]
    return wrong


@pytest.mark.parametrize("handler", all_handlers(), ids=lambda handler: handler.name)
def test_every_handler_is_declared(handler: Handler) -> None:
    """A handler without declarations would be missing from docs/formats.md: `readers.base.Declared` says how to
    declare."""
    assert flaws(handler.media_types, handler.declared) == []


@pytest.mark.parametrize(
    ("flaw", "declared"),
    [
        ("no format", ()),
        ("omitted", (Declared(title="T", extensions=("t",), leaves_out=()),)),
        ("no key", (Declared(title="T", extensions=(), metadata=("invented",), leaves_out=("x",)),)),
        ("full stop", (Declared(title="T", extensions=(), text="Words.", leaves_out=("x",)),)),
        ("no extension", (Declared(title="T", extensions=(".T",), leaves_out=("x",)),)),
        ("has none", (Declared(title="T", extensions=(), announces="it", leaves_out=("x",)),)),
        ("has", (Declared(title="T", extensions=(), media_types=("a/b",), leaves_out=("x",)),)),
        ("no title", (Declared(title="", extensions=(), leaves_out=("x",)),)),
    ],
)
def test_flaws_are_found(flaw: str, declared: tuple[Declared, ...]) -> None:
    assert any(flaw in found for found in flaws(("application/x-t",), declared))


def test_dates_and_types_of_values_are_told_from_others() -> None:
    assert misfits({"created": "2020-01-02T03:04:05Z", "date": "2020-01-02", "pages": 3, "to": ["a"], "rows": 2}) == [
        "pages=3",
        "to=['a']",
    ]
    assert misfits({"modified": "yesterday", "well_formed": False}) == ["modified='yesterday'"]


def test_every_recipient_is_kept() -> None:
    people = ", ".join(f"person{n}@example.org" for n in range(400))
    mail = f"From: a@b.example\nTo: {people}\nSubject: {'x' * 3000}\n\ntext\n"
    found = handler_for("message/rfc822").text(MemorySource(b"m.eml", mail.encode()), Limits()).metadata
    assert found["to"] == people
    assert len(found["subject"]) == 1_000


REPOSITORY = Path(__file__).parents[3]
REAL = REPOSITORY.parent / "shared/data/real-files"
_MOST = 100_000  # bytes of a real file that is looked at here


def test_the_page_is_what_the_handlers_declare() -> None:
    """After a change of a handler's declaration: `make formats-page`."""
    assert (REPOSITORY / "docs/formats.md").read_text() == page()


def test_every_text_state_is_explained() -> None:
    assert set(STATES) == set(TextState)


def test_titles_are_distinct() -> None:
    titles = [one.declared.title for one in listed(all_handlers())]
    assert len(set(titles)) == len(titles)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`edbench formats` lists them; a word asks for details by extension, media type or title."""
    assert main(["formats"], {}) == OK
    assert "OpenDocument" in capsys.readouterr().out
    for word in (".PST", "application/vnd.ms-outlook-pst", "mail stores"):
        assert main(["formats", word], {}) == OK
        assert "Left out" in capsys.readouterr().out
    assert main(["formats", "nonesuch"], {}) == USAGE


def _files() -> list[tuple[str, bytes, bytes]]:
    """(id, name, bytes) of real files and of one made document of each kind."""
    real = sorted(p for p in REAL.rglob("*") if p.is_file() and p.stat().st_size <= _MOST)
    shop = Workshop(load_profile("reference"), 3, 0.001)
    made = [(f"{fmt}.{extension(fmt)}", shop.document(fmt, f"listing/{fmt}", 3_000).data) for fmt in BUILDERS if fmt not in faults.BUILDERS]  # fmt: skip
    return [(str(p.relative_to(REAL)), p.name.encode(), p.read_bytes()) for p in real] + [
        (name, name.encode(), data) for name, data in made
    ]


def _declared(media_type: str) -> Declared | None:
    return next((one.declared for one in listed(all_handlers()) if media_type in one.media_types), None)


def _wrong(name: bytes, data: bytes) -> list[str]:
    """What comes out of a file and is not declared for its format."""
    source = MemorySource(name, data)
    media_type = identify(source)
    declared = _declared(media_type)
    if declared is None or not data:
        return []
    handler = handler_for(media_type)
    try:
        found = handler.text(source, Limits())
    except DocumentError:
        found = Text()
    out = [f"metadata {what}" for what in misfits(found.metadata)]
    out += [f"key {key}" for key in found.metadata if key not in declared.metadata]
    if found.text and not declared.text:
        out.append("text")
    try:
        if not declared.children and next(handler.children(source, Limits()), None) is not None:
            out.append("children")
    except DocumentError:
        pass
    return out


def test_what_comes_out_is_declared() -> None:
    """Of real files and of made ones: no metadata key, text or child that the page does not tell of, and every value
    is what the table of keys says."""
    wrong = {ident: found for ident, name, data in _files() if (found := _wrong(name, data))}
    assert wrong == {}


def test_as_people_write_them() -> None:
    assert written([2, 5, 6, 7, 9]) == "2, 5-7, 9"
    assert (written([]), list(read(""))) == ("", [])


@given(st.sets(st.integers(min_value=1, max_value=60)))
def test_there_and_back(numbers: set[int]) -> None:
    assert list(read(written(sorted(numbers)))) == sorted(numbers)


def test_the_same_bytes_are_made_into_something_once() -> None:
    made: list[tuple[bytes, object]] = []

    def make(data: bytes, limit: object) -> int:
        made.append((data, limit))
        return len(made)

    known = Last(make)
    one, same, limits = b"one message", bytes(bytearray(b"one message")), object()
    assert [known(one, limits), known(one, limits)] == [1, 1]
    assert known(same, limits) == 2
    assert known(same, object()) == 3
    assert known(one, limits) == 4


def test_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last, "LARGEST", 4)
    known = Last(lambda data: [data])
    data = b"12345"
    assert known(data) is not known(data)


def test_an_error_is_raised_each_time() -> None:
    def make(data: bytes) -> None:
        raise ValueError(data)

    known = Last(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            known(b"bad")


def test_short_values_are_remembered_and_long_ones_are_not() -> None:
    """Messages have fields in common; a hostile one must not fill the memory."""
    made: list[str] = []

    @remembered
    def joined(value: str, end: str) -> str:
        made.append(value)
        return value + end

    long = "x" * 301
    assert [joined("a", "!"), joined("a", "!"), joined("a", "?")] == ["a!", "a!", "a?"]
    assert [joined(long, ""), joined(long, ""), joined("", long), joined("", long)] == [long] * 4
    assert made == ["a", "a", long, long, "", ""]
