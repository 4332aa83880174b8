"""Lists of Word documents: the numbers that they make by themselves stand in front of their paragraphs."""

from __future__ import annotations

import pytest
from office_xml import docx, para, read

from readers.errors import ExceptionCode
from readers.office import numerals

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def level(at: int, text: str, form: str = "decimal", start: int = 1, more: str = "") -> str:
    """A level of a list."""
    return f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(inside: str) -> str:
    """The part that says what lists there are."""
    return f'<w:numbering xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">{inside}</w:numbering>'


def definition(identity: int, *levels: str) -> str:
    """What a list looks like."""
    return f'<w:abstractNum w:abstractNumId="{identity}">{"".join(levels)}</w:abstractNum>'


def instance(identity: int, of: int, overrides: str = "") -> str:
    """A list."""
    return f'<w:num w:numId="{identity}"><w:abstractNumId w:val="{of}"/>{overrides}</w:num>'


def item(text: str, number: int | None = 1, at: int | None = 0, style: str = "") -> str:
    """A paragraph of a list."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    level_of = f'<w:ilvl w:val="{at}"/>' if at is not None else ""
    listed = f'<w:numPr>{level_of}<w:numId w:val="{number}"/></w:numPr>' if number is not None else ""
    return f"<w:p><w:pPr>{named}{listed}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def lines(body: str, lists: str, styles: str = "") -> list[str]:
    """The paragraphs of a document with these lists."""
    more = {"word/numbering.xml": numbering(lists)}
    if styles:
        more["word/styles.xml"] = f'<w:styles xmlns:w="{W}">{styles}</w:styles>'
    return read(docx(body, **more)).text.splitlines()


OUTLINE = definition(
    0,
    level(0, "%1."),
    level(1, "%1.%2"),
    level(2, "%1.%2(%3)", "lowerLetter"),
    level(3, "(%4)", "lowerRoman"),
)


@pytest.mark.parametrize("padding", [0, 2_100_000], ids=["tree", "streamed"])
def test_what_people_cite_is_found(padding: int) -> None:
    """`4.2(b)` stands in no paragraph; deeper levels begin anew, and levels that no paragraph was on begin where they start."""
    body = "".join(item(f"s{n}") for n in range(4)) + item("x", at=1) + item("y", at=1) + item("a", at=2)
    body += item("b", at=2) + item("deep", at=3) + item("z", at=1) + item("c", at=2) + para("free") + item("last")
    found = lines(body + para("p" * padding), OUTLINE + instance(1, 0))
    assert found[:13] == [
        *("1.\ts0", "2.\ts1", "3.\ts2", "4.\ts3", "4.1\tx", "4.2\ty", "4.2(a)\ta", "4.2(b)\tb", "(i)\tdeep"),
        *("4.3\tz", "4.3(a)\tc", "free", "5.\tlast"),
    ]


def test_instances_count_on_unless_they_say_where_they_start() -> None:
    begins = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    other = f'<w:lvlOverride w:ilvl="0">{level(0, "Art. %1", "upperRoman")}</w:lvlOverride>'
    lists = OUTLINE + instance(1, 0) + instance(2, 0) + instance(3, 0, begins) + definition(5) + instance(4, 0, other)
    body = item("a") + item("b", 2) + item("c", 3) + item("d", 3) + item("e", 1) + item("f", 4)
    assert lines(body, lists) == ["1.\ta", "2.\tb", "7.\tc", "8.\td", "9.\te", "Art. X\tf"]


def test_levels_begin_anew_as_they_say() -> None:
    never = level(1, "%2", more='<w:lvlRestart w:val="0"/>')
    first = level(2, "%3", more='<w:lvlRestart w:val="1"/>')
    lists = definition(0, level(0, "%1"), never, first) + instance(1, 0)
    body = "".join(item("x", at=at) for at in (0, 1, 2, 1, 2, 0, 1, 2))
    assert [line.partition("\t")[0] for line in lines(body, lists)] == ["1", "1", "1", "2", "2", "2", "3", "1"]


def test_a_level_that_was_passed_over_was_there() -> None:
    """As Word has it: `1.1(a)` is followed by `1.2`, and this by `2`."""
    lists = definition(0, level(0, "%1"), level(1, "%1.%2"), level(2, "%1.%2(%3)", "lowerLetter")) + instance(1, 0)
    body = "".join(item("x", at=at) for at in (2, 1, 0))
    assert [line.partition("\t")[0] for line in lines(body, lists)] == ["1.1(a)", "1.2", "2"]


def test_a_style_has_its_list() -> None:
    named = '<w:pStyle w:val="Sub"/>'
    lists = definition(0, level(0, "Chapter %1"), level(1, "%1-%2", more=named)) + instance(1, 0)
    numbered = "<w:pPr><w:numPr>{}<w:numId w:val='1'/></w:numPr></w:pPr>"
    styles = f'<w:style w:type="paragraph" w:styleId="Head">{numbered.format("")}</w:style>'
    styles += '<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
    styles += '<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Head"/></w:style>'
    styles += f'<w:style w:type="paragraph" w:styleId="Sub">{numbered.format("")}</w:style>'
    body = item("a", None, None, "Head") + item("b", None, None, "Sub") + item("c", None, None, "Child")
    body += item("d", 0, None, "Head") + item("e", None, None, "Loop") + item("f", None, None, "Head")
    assert lines(body, lists, styles) == ["Chapter 1\ta", "1-1\tb", "Chapter 2\tc", "d", "e", "Chapter 3\tf"]


def test_a_list_may_look_as_a_style_says() -> None:
    link = '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Mine"/></w:abstractNum>'
    style = (
        '<w:style w:type="numbering" w:styleId="Mine"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    lists = definition(0, level(0, "No. %1")) + link + instance(1, 0) + instance(2, 1)
    assert lines(item("a") + item("b", 2), lists, style) == ["No. 1\ta", "No. 2\tb"]


def test_what_has_no_number() -> None:
    lists = definition(0, level(0, "\u2022", "bullet"), level(1, "Note:", "none"), level(2, "%3)")) + instance(1, 0)
    body = item("a") + item("b", at=1) + item("", at=2) + item("d", 9) + item("e", at=8) + item("f", at=77)
    assert lines(body, lists) == ["a", "Note:\tb", "1)", "d", "e", "f"]


@pytest.mark.parametrize(
    ("lang", "expected"), [("en-US", ["One", "Second", "003", "4th"]), ("de-DE", ["1", "2", "003", "4"])]
)
def test_forms(lang: str, expected: list[str]) -> None:
    """Words are English, so that other languages have digits; a form of Word 2010 is written with its zeros."""
    custom = '<mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/>'
    custom += '</mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent>'
    padded = f'<w:lvl w:ilvl="2"><w:start w:val="3"/>{custom}<w:lvlText w:val="%3"/></w:lvl>'
    words = (level(0, "%1", "cardinalText"), level(1, "%2", "ordinalText", 2))
    lists = definition(0, *words, padded, level(3, "%4", "ordinal", 4)) + instance(1, 0)
    styles = f'<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="{lang}"/></w:rPr></w:rPrDefault></w:docDefaults>'
    found = lines("".join(item("", at=at) for at in range(4)), lists, styles)
    assert found == expected


def test_legal_numbers_are_digits() -> None:
    """w:isLgl: `II` above is `2` in `2.1`."""
    lists = definition(0, level(0, "%1", "upperRoman", 2), level(1, "%1.%2", more="<w:isLgl/>")) + instance(1, 0)
    assert lines(item("a") + item("b", at=1), lists) == ["II\ta", "2.1\tb"]


def test_damaged_lists_say_so() -> None:
    out = read(docx(item("kept"), **{"word/numbering.xml": "<w:numbering"}))
    assert out.text == "kept\n"
    assert out.error is not None
    assert out.error.code is ExceptionCode.CORRUPT


def test_counts_are_bounded() -> None:
    """A start as large as it may be written, and far more of one letter than anyone would read."""
    lists = definition(0, level(0, "%1", "decimal", 4_294_967_295), level(1, "%2", "lowerLetter", 2_000_000_000))
    found = lines(item("") + item("") + item("", at=1), lists + instance(1, 0))
    assert found[:2] == ["2147483647"] * 2
    assert len(found[2]) <= 30


@pytest.mark.parametrize(
    ("number", "letters", "columns", "roman", "ordinal", "cardinal", "place"),
    [
        (1, "a", "a", "i", "1st", "One", "First"),
        (12, "l", "l", "xii", "12th", "Twelve", "Twelfth"),
        (28, "bb", "ab", "xxviii", "28th", "Twenty-eight", "Twenty-eighth"),
        (40, "nn", "an", "xl", "40th", "Forty", "Fortieth"),
        (53, "aaa", "ba", "liii", "53rd", "Fifty-three", "Fifty-third"),
        (111, "g" * 5, "dg", "cxi", "111th", "One hundred eleven", "One hundred eleventh"),
        (1999, "w" * 17, "bxw", "mcmxcix", "1999th", "One thousand nine hundred ninety-nine", None),
    ],
)
def test_numerals(
    number: int, letters: str, columns: str, roman: str, ordinal: str, cardinal: str, place: str | None
) -> None:
    assert numerals.letters(number) == letters
    assert numerals.alphabetic(number) == columns
    assert numerals.roman(number) == roman
    assert numerals.ordinal(number) == ordinal
    assert numerals.cardinal_words(number) == cardinal
    assert place is None or numerals.ordinal_words(number) == place
