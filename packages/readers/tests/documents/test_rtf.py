"""readers.documents.rtf.handler: what is text and what is not, code pages, objects and pictures, damage."""

import contextlib
import re
import struct
from pathlib import Path

import pytest
from as_found import read_by
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from dataset_gen.formats import ole_package
from dataset_gen.formats.mapi_mail import compress
from readers.base import MemorySource
from readers.documents.rtf.compressed import decompress
from readers.documents.rtf.handler import RtfHandler, read_rtf
from readers.documents.rtf.words import group_end
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind

RTF = RtfHandler()
text_of, children = read_by(RTF)


def read(body: str, head: str = r"\ansi\ansicpg1252\uc1") -> str:
    return read_rtf(f"{{\\rtf1{head} {body}}}".encode("latin-1")).text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"one\par two\line three\tab four", "one\ntwo\nthree\tfour"),
        (r"braces \{\} and \\", "braces {} and \\"),
        (r"Gr\'f6\'dfe", "Größe"),
        ("Gr\xf6\xdfe", "Größe"),
        (r"\u8364?uro and \u-10179?\u-8704?", "€uro and 😀"),
        (r"{\uc2\u26085\'93\'fa}x", "日x"),
        (r"{\uc0\u26085}x", "日x"),
        (r"a\u8217\'92s", "a’s"),
        (r"\u8226\bullet x", "•x"),
        (r"non\~breaking \_ op\-tional", "non\u00a0breaking - op\u00adtional"),
        (r"\ldblquote x\rdblquote\emdash y", "“x”—y"),
        (r"{\fonttbl{\f0 Arial;}}{\colortbl;\red1;}{\stylesheet{\s0 Normal;}}{\*\generator Word;}x", "x"),
        (r"{\field{\*\fldinst PAGE \\* MERGEFORMAT}{\fldrslt 7}} end", "7 end"),
        (r"{\*\unknown {deep {er}} text}x", "x"),
        (r"{\upr{ansi ?}{\*\ud{unicode \u937?}}}", "unicode Ω"),
        (r"word{\footnote note} on", "word\nnote\n on"),
        (r"x{\*\annotation remark}yes no", "xyes\nremark\n no"),  # a word is not cut by what is anchored in it
        (r"x{\footnote one}y{\shp{\*\shpinst{\shptxt two\par}}}z", "xyz\none\n\ntwo\n\n"),
        (r"x{\*\atnid AC}{\*\atnauthor Ann Clerk}\chatn{\*\annotation remark}", "x\nAC\n\nAnn Clerk\n\nremark\n"),
        (r"{\i0\*\cs7 said}{\*\unknown not}", "said"),
        (r"a{\super {\*\footnote\ftnalt \chftn\pard\plain {\tab note}}} on", "a\n\tnote\n on"),
        (r"{\header top}body", "\ntop\nbody"),
        (r"{\deleted gone} kept", "gone kept"),
        (r"\trowd a\cell b\cell\row c", "a\tb\t\nc"),
        (r"{\shp{\*\shpinst\shpleft0{\sp{\sn name}{\sv value}}{\shptxt boxed}}{\shprslt twice}}", "\nboxed\n"),
        (r"a{\bin3 }}}b", "ab"),
        (r"{\pict\jpegblip ffd8}x{\listtext 1.\tab}y", "x1.\ty"),
        (r"{\object\objemb{\*\objdata 0105}{\result shown}}", "shown"),
        (r"\htmlrtf {\htmlrtf0 {\*\htmltag64 <p>}text\htmlrtf \par}\htmlrtf0", "text\n"),
    ],
)
def test_text(body: str, text: str) -> None:
    assert read(body) == text


def field(instruction: str, result: str = "") -> str:
    """A field as Word writes it."""
    return rf"{{\field\fldedit{{\*\fldinst {{\rtlch\af0 \ltrch\insrsid1 {instruction}}}}}{{\fldrslt {{{result}}}}}}}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            field(r'HYPERLINK "http://x.example/a" \\o "tip" \\t "_blank"', "link") + " end",
            "link end\nhttp://x.example/a",
        ),
        (field(r"HYPERLINK http://x", "one") + field(r"HYPERLINK http://x", "two"), "onetwo\nhttp://x"),
        (field(r'HYPERLINK "http://x/p" \\l "here"', "a"), "a\nhttp://x/p#here"),
        (field(r'HYPERLINK \\l "_Toc7"', "Chapter"), "Chapter"),
        (field(r'hyperlink "mailto:a@b.de"', "a@b.de"), "a@b.de"),
        (field(r'HYPERLINK "file:///C:\\\\dir\\\\Gr\'f6\'dfe.doc"', "a"), "a\nfile:///C:\\dir\\Größe.doc"),
        (field(r'HYPERLINK "' + field("PAGE", "http://of.result") + '"', "a"), "a\nhttp://of.result"),
        (r'x{\*\fldinst { EQ \\* jc3 \\* "Font:A B" \\* hps12 \\o\\al(\\s\\up 11(ruby),base)}}y', "x ruby basey"),
        (field(r"EQ \\f(one\\,two,{\f1 \'cf\'f0})"), " one,two Ïð"),
        (field("MACROBUTTON  NoMacro Click {here} to type"), "Click here to type"),
        (field("MACROBUTTON NoMacro [Click here]", "[Click here]"), "[Click here]"),
        ("See " + field('HYPERLINK "http://a.b/c"', "(http://a.b/c)") + ".", "See (http://a.b/c)."),
        (field("GOTOBUTTON mark see there") + field("MACROBUTTON only"), "see there"),
        (field(r"SYMBOL 61 \\f Wingdings") + field("EQUALS x") + field(""), ""),
        (r"{\info{\title a" + field("HYPERLINK http://t", "b") + r"}}x", "x"),
        (r"\fromhtml1 " + field("HYPERLINK http://x", "link"), "link"),
    ],
)
def test_what_fields_show_or_address(body: str, text: str) -> None:
    """Of buttons and equations (furigana are such) the instruction is what people see; a link's address is told once, at the
    end, where the text does not show it. Of a web page it is an attribute, which is no text."""
    assert read(body) == text


@pytest.mark.parametrize(
    ("answer", "result", "text"),
    [
        (r"\ffres1", "", "b\u00f6se"),
        (r"\ffdefres2\ffres25", "", "third"),
        (r"\ffhaslistbox", "", "first"),
        (r"\ffres9", "", ""),
        (r"\ffres1", "shown", "shown"),
    ],
)
def test_the_chosen_entry_of_a_form(answer: str, result: str, text: str) -> None:
    """Programs show it, and write it nowhere but among all entries."""
    entries = r"{\*\ffname Name}{\*\ffl first}{\*\ffl b\'f6se}{\*\ffl third}"
    assert read(field(rf"FORMDROPDOWN }}{{\*\formfield{{\fftype2{answer}{entries}}}", result)) == text


def _coded(text: str, codec: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(codec))


@pytest.mark.parametrize(
    ("charset", "codec", "message"),
    [
        (238, "cp1250", "Vážený pane Dvořák, prosíme o potvrzení částky. Jiří Kučera, ředitel, Žďár."),
        (162, "cp1254", "Sayın İşçi Şahin"),
        (161, "cp1253", "Αγαπητέ κύριε"),
        (204, "cp1251", "Договор"),
    ],
)
@pytest.mark.parametrize(
    ("before", "behind"), [(r"\deff4", r"\pard\plain "), (r"\deff4", ""), ("", r"\f4 x\deff4\plain ")]
)
def test_text_in_the_default_font(charset: int, codec: str, message: str, before: str, behind: str) -> None:
    fonts = rf"{{\fonttbl{{\f0\fcharset0 A;}}{{\f4\froman\fcharset{charset} B;}}}}"
    info = rf"{{\info{{\title {_coded(message, codec)}}}}}"
    source = MemorySource(
        b"x.rtf", rf"{{\rtf1\ansi{before}{fonts}{info if before else ''}{behind}{_coded(message, codec)}}}".encode()
    )
    out = RTF.text(source, Limits())
    assert (out.text.removeprefix("x"), out.state) == (message, None)
    assert out.metadata == ({"title": message} if before else {})


def test_what_the_default_font_does_not_change() -> None:
    """Titles are in the code page that the document tells; a font of signs says nothing of letters; without `\\deff` it is
    the first one."""
    greek = r"{\fonttbl{\f0\fcharset161 A;}{\f1\fcharset2 Symbol;}}"
    data = rf"{{\rtf1\ansi\ansicpg1252\deff0{greek}{{\info{{\title \'e9t\'e9}}}}\pard\plain \'e1}}".encode()
    out = text_of(data)
    assert (out.text, out.metadata["title"]) == ("α", "été")
    assert read(greek + r"\plain \'e1", r"\ansi\deff1") == "á"
    assert read(greek + r"{\f1 \'e1\plain \'e1}", r"\ansi") == "áα"


def test_fonts_have_code_pages() -> None:
    fonts = r"{\fonttbl{\f0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}{\f3\fcharset238\cpg1250 D;}}"
    body = r"{\f1 \'cf\'f0\'e8} {\f2 \'93\'fa\'96{\b\'7b}} \f3\'b9\plain\'b9"
    assert read(fonts + body) == "При 日本 ą¹"
    assert read(r"\'cf\'f0", r"\ansi\ansicpg1251") == "Пр"
    assert read(r"\'8e", r"\mac") == "é"


def test_code_pages_that_are_not_known() -> None:
    """Bytes in one are read as windows-1252, and an exception says so: not where they say themselves what they are in,
    and not where all of the text is ASCII."""

    def error(text: str) -> ExceptionCode | None:
        source = MemorySource(b"x.rtf", f"{{\\rtf1\\ansi{text}}}".encode("latin-1"))
        found = RTF.text(source, Limits()).error
        return found.code if found else None

    russian = "".join(f"\\'{byte:02x}" for byte in "Протокол вчерашнего совещания и договор поставки".encode("cp1251"))
    assert error(r"{\fonttbl{\f0\fcharset83 A;}}\f0 a\'e0\'e1") is ExceptionCode.UNSUPPORTED
    assert error(r"\deff7{\fonttbl{\f7\fcharset83 A;}}\plain a\'e0\'e1") is ExceptionCode.UNSUPPORTED
    assert error(r"\ansicpg10005 a\'e0\'e1") is ExceptionCode.UNSUPPORTED
    assert error(r"\ansicpg10005 plain words") is None
    assert error(r"\ansicpg10005 " + russian) is None
    assert error(r"\ansicpg0 Gr\'f6\'dfe") is None
    assert read(r"{\fonttbl{\f0\fcharset85 A;}{\f1\fcharset89 B;}}\f0\'e1\f1\'8f") == "αП"


def test_font_tables_may_hold_anything() -> None:
    fonts = r"{\fonttbl{\f1\fbidi \froman\fcharset204{\*\panose 0202}Times {\*\falt \'7b x};}{\f2 \}\fcharset161 B;}}"
    assert read(fonts + r"\f1\'cf\f2\'e1\fcharset204\f0\'b9") == "Пα¹"


@pytest.mark.parametrize("closed", ["", "}}}"])
def test_font_table_that_does_not_end(closed: str) -> None:
    data = r"{\rtf1{\fonttbl{\f0 A;{\info{\title Held}}{\pict\pngblip 0102}" + closed
    source = MemorySource(b"x.rtf", data.encode())
    assert RtfHandler().text(source, Limits()).metadata == {"title": "Held"}
    assert [child.data for child in RtfHandler().children(source, Limits())] == [b"\1\2"]


def test_bytes_contradict_the_code_page() -> None:
    shown = "Протокол вчерашнего совещания и договор поставки оборудования, направляю для замечаний"
    coded = "".join(f"\\'{byte:02x}" for byte in shown.encode("cp1251"))
    assert read(coded) == shown
    assert read(coded, head=r"\ansi\ansicpg1251") == shown
    assert read(r"Gr\'f6\'dfe, \'c9T\'c9, \'c0 la carte") == "Größe, ÉTÉ, À la carte"


def test_the_picture_of_a_linked_object_is_all_there_is() -> None:
    rendering = rb"{\result{\pict\emfblip 01000000}}"
    linked = rb"{\rtf1{\object\objautlink{\*\objdata 0105000001000000}" + rendering + b"}}"
    assert [(child.name, child.notes) for child in children(linked)] == [(b"picture-0.emf", {})]


def test_what_a_shape_holds_a_second_time() -> None:
    """For Word 95: its texts stand there once more, its pictures may be others."""
    reported = rb"{\sp{\sn wzDescription}{\sv told}}"
    drawn = rb"{\shprslt{\*\do{\dptxbx{\dptxbxtext boxed}}}" + reported + rb"{\pict\wmetafile8 01}}"
    shape = rb"{\rtf1{\shp{\*\shpinst" + reported + rb"{\shptxt boxed{\pict\pngblip 89}}}" + drawn + rb"} end}"
    assert read_rtf(shape).text.split() == ["told", "boxed", "end"]
    assert [(c.name, c.notes) for c in children(shape)] == [
        (b"picture-0.png", {}),
        (b"picture-1.wmf", {"rendering": True}),
    ]


def test_what_is_written_about_a_picture_and_letters_that_are_drawn() -> None:
    reported = r"{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv Gr\'f6\'dfe \u8364\'3f\par}}}\pngblip 89}}"
    drawn = r"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 136}}{\sp{\sn gtextUNICODE}{\sv Annual \{report\\}}}}"
    assert read(f"a{reported}b").split() == ["a", "Größe", "€", "b"]
    assert "Annual" in read(drawn + "b").split()
    assert read_rtf(rb"{\rtf1{\sp{\sn wzDescription}{\sv never ends").text == ""
    assert read(r"{\uc0{\shp{\sp{\sn wzTooltip}{\sv \u26085n}}}}").split() == ["日n"]


@given(st.lists(st.sampled_from([b"{", b"}", b"\\", b"\\{", b"\\}", b"\\bin3 ", b"\\bin", b"\\b", b"x", b"\\'7d"])))
def test_where_a_group_ends(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    at, depth, end = 0, 1, len(data)
    while at < len(data):
        if (found := re.compile(rb"\\bin(\d{1,10}) ?").match(data, at)) is not None:
            at = found.end() + int(found[1])
        elif data[at] == 0x5C and not data[at + 1 : at + 2].isalpha() and at + 1 < len(data):
            at += 2
        else:
            depth += (data[at] == 0x7B) - (data[at] == 0x7D)
            if not depth:
                end = at
                break
            at += 1
    assert group_end(data, 0) == end


def test_very_many_pictures() -> None:
    body = "".join(rf"text {{\pict\pngblip {number:08x}}}\par" for number in range(5_000))
    found = children(rf"{{\rtf1 {body}}}".encode())
    assert [child.data for child in found] == [struct.pack(">I", number) for number in range(5_000)]


def test_metadata() -> None:
    data = (
        rb"{\rtf1\ansi{\info{\upr{\title ?}{\*\ud{\title \u937?mega}}}{\author A. Writer}{\operator B}{\*\company C}"
        rb"{\creatim\yr2020\mo3\dy6\hr9\min5}{\revtim\yr0}}body}"
    )
    out = text_of(data)
    assert out.text == "body"
    assert out.metadata == {
        "title": "Ωmega",
        "author": "A. Writer",
        "last_author": "B",
        "company": "C",
        "created": "2020-03-06T09:05:00",
    }


def _object(class_name: bytes, native: bytes, form: int = 2) -> bytes:
    name = struct.pack("<I", len(class_name) + 1) + class_name + b"\0"
    data = struct.pack("<II", 0x501, form) + name + bytes(8) + struct.pack("<I", len(native)) + native
    return b"{\\object\\objemb{\\*\\objdata\r\n" + data.hex("\n", 10).encode() + b"}{\\result{\\pict\\pngblip 00}}}"


def _package(name: bytes, data: bytes) -> bytes:
    path = b"C:\\tmp\\" + name + b"\0"
    return (
        b"\2\0"
        + name
        + b"\0"
        + path
        + struct.pack("<HHI", 0, 3, len(path))
        + path
        + struct.pack("<I", len(data))
        + data
    )


def test_children() -> None:
    """Packaged files under their names, other objects as they are; links not. Pictures that stand for an object or another
    picture say so: they may show what was there before."""
    data = b"".join(
        (
            b"{\\rtf1 ",
            _object(b"Package", _package(b"offer.xlsx", b"PK\3\4 sheet")),
            _object(b"PBrush", b"BM picture"),
            _object(b"Word.Document.8", b"", form=1),
            b"{\\*\\shppict{\\pict{\\*\\picprop{\\sp x}}\\picw1\\pngblip\n8950\n4e47}}{\\nonshppict{\\pict\\wmetafile8 00}}",
            b"{\\pict\\jpegblip\\bin4 }{\\\xff}{\\pict\\macpict 00}{\\pict\\wbitmap0 00}",
            _object(b"Package", b"\2\0 no end"),
            b"{\\pict\\jpegblip\\bin ffd8}",  # no number of bytes, and so no bytes
            b"}",
        )
    )
    found = children(data)
    assert [(c.name, c.data, bool(c.notes)) for c in found] == [
        (b"offer.xlsx", b"PK\3\4 sheet", False),
        (b"picture-1.png", b"\0", True),
        (b"object-2", b"BM picture", False),
        (b"picture-3.png", b"\0", True),
        (b"picture-4.png", b"\0", True),
        (b"picture-5.png", b"\x89PNG", False),
        (b"picture-6.wmf", b"\0", True),
        (b"picture-7.jpg", b"}{\\\xff", False),
        (b"picture-8.pict", bytes(513), False),
        (b"object-9", b"\2\0 no end", False),
        (b"picture-10.png", b"\0", True),
        (b"picture-11.jpg", b"\xff\xd8", False),
    ]
    assert found[1].notes == {"rendering": True}
    assert {c.kind for c in found} == {Kind.EMBEDDED_OBJECT}
    assert [c.ordinal for c in found] == list(range(12))


def test_a_picture_with_very_many_properties() -> None:
    properties = (
        rb"{\*\picprop" + rb"{\sp{\sn fLockRotation}{\sv 0}}" * 200 + rb"{\sp{\sn pib}{\sv {\pict\wmetafile8 00}}}}"
    )
    (child,) = children(rb"{\rtf1{\*\shppict{\pict" + properties + rb"\picw9\pngblip 8950}}}")
    assert (child.name, child.data) == (b"picture-0.png", b"\x89P")


def test_object_that_is_a_compound_file() -> None:
    inner = ole_package.compound_file("table.csv", b"a,b")
    data = b"{\\rtf1 " + _object(b"Excel.Sheet.12", inner) + b"}"
    assert [(c.name, c.data) for c in children(data) if not c.notes] == [(b"table.csv", b"a,b")]


def test_damage() -> None:
    cut = text_of(rb"{\rtf1 some {\b text")
    assert (cut.text, cut.error and cut.error.code) == ("some text", ExceptionCode.TRUNCATED)
    deep = text_of(b"{\\rtf1 x" + b"{" * 100_000)
    assert (deep.error and deep.error.code) is ExceptionCode.CORRUPT
    assert read_rtf(b"{\\rtf1 " + b"long " * 1000, 12).text == "long long lo"


@given(st.lists(st.sampled_from([b"{", b"}", b"\\", b"\\u-1?", b"\\bin9", b"\\'e", b"\\pict", b"\\objdata", b"\\f9", b"\\uc9", b"\\info\\title", b"\\upr", b"text", b"\\fonttbl", b"\\*", b"\0", b"\\fcharset128", b"ff "]), max_size=40))  # fmt: skip
def test_any_tokens_give_text(tokens: list[bytes]) -> None:
    data = b"{\\rtf1 " + b"".join(tokens)
    read_rtf(data).text.encode()
    children(data)


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("christmas", "Almost went to Aspen but something told me no"),
        ("MAPI_ATTACH_DATA_OBJ", "plisséskjørt hist ved Saltstraumen"),
        ("multi-value-attribute", "voice mail from Curie Conf Room"),
    ],
)
def test_real_files(name: str, fragment: str, real_files: Path) -> None:
    """Bodies of mail as Outlook wrote them."""
    out = text_of((real_files / "mimekit/tnef" / name / "message.rtf").read_bytes())
    assert fragment in out.text
    assert "HYPERLINK" not in out.text
    assert out.error is None


def test_bytes_among_the_digits_of_an_object_count_in_their_place() -> None:
    whole = _object(b"Package.1", ole_package.compound_file("in.txt", b"word inside a package"))
    head, _, rest = whole.partition(b"\\objdata")
    digits, _, tail = rest.partition(b"}")
    raw = bytes.fromhex(digits.decode())
    at = raw.index(b"inside")
    mixed = raw[:at].hex().encode() + b"\\bin6 inside" + raw[at + 6 :].hex().encode()
    found = children(b"{\\rtf1 " + head + b"\\objdata " + mixed + b"}" + tail + b"}")
    assert [(child.name, child.data) for child in found if not child.notes] == [(b"in.txt", b"word inside a package")]


@given(st.binary(max_size=300) | st.text("ab{}\\ ", max_size=9000).map(str.encode) | st.just(b"x" * 20_000))
def test_back_as_it_was(data: bytes) -> None:
    """What the generator's compressor, written from the same specification, makes."""
    assert decompress(compress(data), 1 << 20) == (data, None)


def test_the_examples_of_the_specification() -> None:
    """Section 4.1: a simple text, and one whose reference crosses the write position."""
    simple = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert decompress(simple, 1000).data == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    crossing = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
    assert decompress(crossing, 1000).data == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"


def test_limits_and_damage() -> None:
    """Never more than the limit, whatever the header says; no other error than a document's."""
    data = compress(b"{\\rtf1 " + b"word " * 1000 + b"}")
    some = decompress(data, 100)
    assert (len(some.data), some.error and some.error.code) == (100, ExceptionCode.TOO_LARGE)
    assert decompress(struct.pack("<IIII", 0, 5, 0x414C454D, 0) + b"plain rest", 1000) == (b"plain", None)
    for at in range(len(data)):
        with contextlib.suppress(DocumentError):
            decompress(data[:at] + b"\xff" + data[at + 1 :], 100_000)
    for broken in (b"", data[:15], data[:8] + b"none" + data[12:]):
        with pytest.raises(DocumentError):
            decompress(broken, 100)


def test_a_cut_is_reported() -> None:
    """Fewer bytes than the header counts; an end that the mark at it tells is none, whatever the header counts."""
    data = compress(b"{\\rtf1 " + b"word " * 1000 + b"}")
    for there in range(16, len(data) - 4):
        error = decompress(data[:there], 100_000).error
        assert (error and error.code) is ExceptionCode.TRUNCATED
    counted = data[:4] + struct.pack("<I", 6_000) + data[8:]
    assert decompress(counted, 100_000).error is None
