"""Charsets: what tells them, what contradicts a declaration, and what is said of a guess."""

import base64
import io
import itertools
import random
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks.charsets import samples
from core.records import Limits
from dataset_gen.languages import texts
from readers import charset
from readers.base import MemorySource, Text
from readers.charset import CHUNK, CharsetSource, Decoder, code_page, decode
from readers.charset_guess import SAMPLE, doubtful, plainly_western, sample_of, western
from readers.charset_mixed import parts
from readers.charset_wider import errors_of
from readers.identification.identify import identify
from readers.mail.headers import decode_words
from readers.records import TextState
from readers.registry import handler_for

REPOSITORY = Path(__file__).parents[3]
RUSSIAN = (
    "Уважаемые коллеги, направляю вам протокол вчерашнего совещания и прошу до пятницы прислать замечания. "
    "Договор поставки подписан, счёт оплачен, оборудование прибудет на склад в начале следующего месяца.\n"
)
JAPANESE = "昨日の会議の議事録をお送りします。金曜日までにご意見をお寄せください。契約書は既に署名されています。\n"
CHINESE = "各位同事，现将昨天的会议记录发给大家，请在星期五之前提出意见。供货合同已经签订，货款已经支付。\n"
KOREAN = "어제 회의록을 보내 드리니 금요일까지 의견을 보내 주시기 바랍니다. 계약서는 이미 서명되었습니다.\n"
GREEK = "Αγαπητοί συνάδελφοι, σας στέλνω τα πρακτικά της χθεσινής σύσκεψης και περιμένω τις παρατηρήσεις σας.\n"
HEBREW = "עמיתים יקרים, אני שולח לכם את פרוטוקול הישיבה של אתמול ומבקש לשלוח הערות עד יום שישי.\n"
ARABIC = "الزملاء الأعزاء، أرسل إليكم محضر اجتماع أمس وأرجو إرسال ملاحظاتكم قبل يوم الجمعة القادم.\n"
POLISH = "Szanowni Państwo, przesyłam protokół z wczorajszego posiedzenia. Proszę o uwagi do piątku, także w związku z umową.\n"
GERMAN = (
    "Sehr geehrte Damen und Herren, anbei erhalten Sie die Änderungen für das nächste Gespräch über die Verträge.\n"
)
FRENCH = (
    "Chers collègues, voici le procès-verbal de la réunion d'hier; les remarques sont attendues d'ici à vendredi. Le contrat "
    "de fourniture est signé, la facture est réglée, le matériel arrivera au dépôt au début du mois prochain.\n"
)

UNDECLARED = [
    *((RUSSIAN, codec) for codec in ("cp1251", "koi8-r", "iso8859-5", "cp866", "mac-cyrillic")),
    *((JAPANESE, codec) for codec in ("shift_jis", "euc_jp", "iso2022_jp")),
    *((CHINESE, codec) for codec in ("gb18030", "gbk", "hz")),
    *((KOREAN, codec) for codec in ("euc_kr", "iso2022_kr")),
    *((GREEK, codec) for codec in ("cp1253", "iso8859-7")),
    *((HEBREW, "cp1255"), (ARABIC, "cp1256"), (POLISH, "cp1250"), (POLISH, "iso8859-2")),
    *((GERMAN, codec) for codec in ("cp1252", "cp850", "mac-roman", "cp273")),
    *((text, f"utf-{n}-{e}e") for text in (RUSSIAN, JAPANESE, CHINESE, GERMAN) for n in (16, 32) for e in "lb"),
    ("😀 " + RUSSIAN, "utf-16-be"),
]


def text_of(data: bytes, name: bytes = b"a.txt", declared: str | None = None) -> Text:
    source = MemorySource(name, data)
    return handler_for(identify(source, declared)).text(source, Limits())


@pytest.mark.parametrize(("text", "codec"), UNDECLARED, ids=lambda value: value if len(value) < 20 else value[:6])
def test_nothing_declares_it(text: str, codec: str) -> None:
    whole = 3 * text
    data = whole.encode(codec)
    assert decode(data)[0] == whole
    decoder = Decoder(data[:4096])
    assert "".join(decoder.chunks(io.BytesIO(data))) == whole
    out = text_of(data)
    assert out.text == whole
    assert out.metadata["charset_source"] in ("detected", "structure")


HEBREW = ("חדשות", "אנשים", "הייד", "פארק", "מרכז", "פורומים", "ישראלים", "ברוכים", "הבאים", "לאתר", "שלנו")
LETTER = "Wir haben für Sie geprüft, was übrig bleibt, und möchten Ihnen die Lösung schön erklären"
DEAR = "Voici une note très brève à propos de l'été et de la réunion; elle est déjà signée"
FORUM = "<item><title>%s</title><link>http://www.example.org/forum/topic.asp?topic_id=1&amp;forum_id=7957</link><author>me</author></item>"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        # Ά, where windows-1253 has ¶
        ("Ο Άνεμος και η Άνοιξη ήρθαν, είπε ο Άρης στην Αθήνα.", "iso8859-7"),
        ("Ο Άνεμος και η Άνοιξη ήρθαν, είπε ο Άρης στην Αθήνα.", "cp1253"),
        # Welsh, Maltese and Esperanto, which were read as French, Polish and Lithuanian
        ("Mae'r dŵr yn y tŷ yn oer, ac mae'r gŵr yn mynd i'r gwaith ar frys yn y bore.", "iso8859-14"),
        ("Il-librerija tal-lokal jinstema' l-ħoss tal-paġni. Il-qarrejja jfittxu kotba dwar l-istorja, u t-tfal "
         "jaqraw stejjer żgħar ħdejn it-tieqa.", "iso8859-3"),
        ("La nomo venas de la kaŝnomo sub kiu la juda okulkuracisto publikigis la bazon de la lingvo. Ĝi estas ĉiutage "
         "uzata de homoj kiuj loĝas en ĉiuj landoj, kaj oni ankaŭ verkas en ĝi.", "iso8859-3"),
        # Hebrew, few words of it among many addresses
        ("\n".join(FORUM % word for word in HEBREW), "cp1255"),
        # Signs: a half was read as œ, and an amount in euros as one in a currency that there is not
        *((f"{LETTER}: {sign}.", "cp1252") for sign in ("½ Liter", "2½ kg", "¾", "don´t", "´so´", "Titel ¦ Autor", "25 €")),
        *((f"{LETTER}: {sign}.", "iso8859-15") for sign in ("25 €", "€ 12", "Bœuf", "Šachy", "Tallinna džonk")),
        *((f"{DEAR}, {sign}.", "cp1252") for sign in ("½ litre", "l´eau", "un ¦ deux", "25 €", "le cœur")),
        *((f"{DEAR}, {sign}.", "iso8859-15") for sign in ("le cœur", "l'œuvre", "un œil", "25 €")),
        ("El a spus: „Așa ceva nu se poate”, și a plecat spre țară în aceeași zi.\n" * 4, "iso8859-16"),
        # Accents, which are no letters of another alphabet
        ("n plusieurs à plusieurs\nSaisissez", "iso8859-1"), ("s autorisé à supprim", "iso8859-15"),
    ],
)  # fmt: skip
def test_text_is_not_read_in_a_similar_charset(text: str, codec: str) -> None:
    """All of these were wrong with the state `ok`."""
    assert decode(text.encode(codec))[0] == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (f"{LETTER} (€).", "iso8859-15"),  # ¤ in the older one, and nothing beside it that tells
        (
            "În această dimineață oamenii și-au văzut de treabă în fața școlii noastre, ținând cărțile în mâini.",
            "iso8859-16",
        ),
        ("ㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋ", "euc_kr"),
        ("ㅋㅋㅋ ㅠㅠ ㄷㄷ ㄱㅅ", "euc_kr"),
    ],
)
def test_what_bytes_do_not_show_is_a_guess(text: str, codec: str) -> None:
    assert decode(text.encode(codec))[1].guessed


def test_blanks_are_no_words_of_another_alphabet() -> None:
    """Word sets places of tables apart with them, in rows that DOS's Cyrillic would read as letters."""
    text = "<p>Prisen gjelder ikke på helligdager" + "\xa0" * 40 + "</p>\n<p>Bodø – Düsseldorf" + "\xa0" * 60 + "</p>\n"
    data = (text * 9).encode("cp1252")
    assert decode(data, "windows-1252")[0] == text * 9
    assert decode(data)[1].charset == "cp1252"


def test_a_charset_that_nothing_here_reads_is_a_guess() -> None:
    """EUC-TW looks like GB 18030, in which it has characters that nobody assigned."""
    rows = ((0xC4 + n % 40, 0xA1 + n * 7 % 94) for n in range(200))
    data = b"".join(bytes(pair) + (b"\x8e\xa2\xf6\xd9" if n % 9 == 0 else b"") for n, pair in enumerate(rows))
    assert decode(data)[1].guessed


def test_ascii_for_long_and_then_something() -> None:
    data = b"plain words and nothing else\n" * 20_000 + (2 * RUSSIAN).encode("koi8-r") + b"more plain words\n" * 20_000
    assert RUSSIAN in decode(data)[0]
    assert RUSSIAN in text_of(data).text
    assert len(sample_of(data)) <= SAMPLE


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (RUSSIAN, "cp1251", "iso-8859-1"),  # mailers write the label that they know
        (RUSSIAN, "koi8-r", "windows-1251"),
        (RUSSIAN, "cp1251", "koi8-r"),
        (RUSSIAN, "cp1251", "us-ascii"),
        (RUSSIAN, "cp1251", "utf-8"),
        (JAPANESE, "shift_jis", "iso-8859-1"),
        (CHINESE, "gb18030", "us-ascii"),
        (RUSSIAN, "utf-8", "windows-1251"),
        (GERMAN, "utf-8", "iso-8859-1"),
        (
            FRENCH,
            "mac-roman",
            "iso-8859-1",
        ),  # few letters are accented, and what they are in windows-1252 are mostly letters
        (FRENCH, "cp850", "windows-1252"),
        (POLISH, "cp1250", "iso-8859-1"),
        (POLISH, "cp852", "windows-1252"),
        (GERMAN, "utf-16-le", "us-ascii"),  # zero bytes and escape sequences are ASCII
        (GERMAN, "utf-16-be", "iso-8859-1"),
        (GERMAN, "utf-16-be", "utf-16-le"),
        (GERMAN, "utf-32-le", "windows-1252"),
        (RUSSIAN, "utf-16-le", "us-ascii"),
        (JAPANESE, "iso2022_jp", "us-ascii"),
        (JAPANESE, "iso2022_jp", "iso-8859-1"),
        (JAPANESE, "iso2022_jp", "shift_jis"),
        (CHINESE, "hz", "us-ascii"),
        (CHINESE, "hz", "windows-1252"),
    ],
)
def test_the_bytes_contradict_what_is_declared(text: str, codec: str, label: str) -> None:
    assert decode(text.encode(codec), label)[0] == text


@pytest.mark.parametrize(
    ("data", "label", "text"),
    [
        ("ПРОТОКОЛ СОВЕЩАНИЯ".encode("koi8-r"), "koi8-r", "ПРОТОКОЛ СОВЕЩАНИЯ"),  # capitals alone are no reason
        (b"Gr\xfc\xdfe", "iso-8859-1", "Grüße"),
        (b"\xe9\xe8\xe0\xe7\xf9\xea\xee", "windows-1252", "éèàçùêî"),
        ("联通".encode("gb2312"), "gb2312", "联通"),  # which is valid UTF-8 too
        (b"a \x93quoted\x94 word \x96 and more\x85", "windows-1252", "a “quoted” word – and more…"),
        (b"\x82\xa0", "x-sjis", "あ"),
        (
            "« Le cœur de l'œuvre coûte ½ £ le m² », ¿no?".encode("cp1252"),
            "windows-1252",
            "« Le cœur de l'œuvre coûte ½ £ le m² », ¿no?",
        ),
        (b"a few\0 zero\0 bytes in a text that is ASCII", "us-ascii", "a few\0 zero\0 bytes in a text that is ASCII"),
        (b"\x1b[1mbold\x1b[0m on a terminal", "iso-8859-1", "\x1b[1mbold\x1b[0m on a terminal"),
        (b"\x1b$B no Japanese follows \x80", "iso-8859-1", "\x1b$B no Japanese follows €"),
        (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", JAPANESE),
    ],
)
def test_what_is_declared_counts(data: bytes, label: str, text: str) -> None:
    assert decode(data, label)[0] == text


@pytest.mark.parametrize("word", ["Grüße", "Ça va", "señor", "smörgåsbord", "Straße 5", "über", "naïve façade"])
def test_short_western_text_stays_windows_1252(word: str) -> None:
    """It is most of what there is; where so few bytes leave room for something else, that is said."""
    for data in (word.encode("cp1252"), f"The {word} of the plan is attached.".encode("cp1252")):
        text, found = decode(data)
        assert found.charset == "cp1252"
        assert word in text


def test_a_guess_is_reported() -> None:
    out = text_of("Zażółć".encode("cp1250"))
    assert (out.state, out.metadata["charset_source"]) == (TextState.GUESSED, "detected")
    assert out.metadata["charset_confidence"] < 95
    sure = text_of((4 * RUSSIAN).encode("cp1251"))
    assert (sure.state, sure.metadata["charset"]) == (None, "cp1251")
    for plain in (b"plain", "Grüße".encode()):
        assert text_of(plain).metadata == {"charset": "utf-8", "charset_source": "utf-8"}


@pytest.mark.parametrize("far", [0, 10_000])
def test_html_declares_it_behind_a_long_preamble(far: int) -> None:
    page = b"<html><!--" + b"x" * far + b'--><head><meta charset="koi8-r"></head><p>' + "Привет".encode("koi8-r")
    out = text_of(page, b"a.html")
    assert (out.text, out.metadata["charset_source"]) == ("Привет", "declared")


def test_mail_bodies_and_fields_that_declare_nothing() -> None:
    head = b"Received: from a\nFrom: \xc8\xe2\xe0\xed <i@a.example>\nTo: b@c.example\nSubject: \xcf\xf0\xee\xf2\xee\xea\xee\xeb\n"
    out = text_of(head + b"\n" + RUSSIAN.encode("cp1251"), b"a.eml")
    assert (out.text.strip(), out.metadata["subject"]) == (RUSSIAN.strip(), "Протокол")
    assert (out.metadata["from"], out.metadata["charset"]) == ("Иван <i@a.example>", "cp1251")
    reported = text_of(head + b"Content-Type: text/plain; charset=windows-1251\n\n\xc4\xe0", b"a.eml")
    assert (reported.text, reported.metadata["subject"], "charset" in reported.metadata) == ("Да", "Протокол", False)


def test_a_code_page_that_is_wrong() -> None:
    assert code_page(b"\x07\x13" + RUSSIAN.encode("cp1251"), "cp1252") == "cp1251"
    assert code_page(GERMAN.encode("cp1252"), "cp1252") == "cp1252"
    assert code_page(RUSSIAN.encode("cp1251"), "cp1251") == "cp1251"


def test_what_is_no_text_stays_none() -> None:
    import random

    noise = random.Random(5)
    for width in (1, 40, 256):
        units = [noise.randrange(0x3000, 0x3000 + 256 * width) & 0xFFFF for _ in range(2000)]
        data = b"\x02\x81" + b"".join(unit.to_bytes(2, "little") for unit in units)
        assert identify(MemorySource(b"a.bin", data)) == "application/octet-stream"


def test_sources_have_names() -> None:
    assert decode("\ufeffä".encode("utf-16-le"))[1].source is CharsetSource.MARK
    assert decode(b"\xe4", hint="cp1252")[1].source is CharsetSource.HINT


def test_real_text_in_the_charsets_of_its_language() -> None:
    """What docs/charsets.md says, held on a part of the samples."""
    right = [decode(sample.data)[0] == sample.text for sample in samples(texts(), lengths=(200, 2_000))]
    assert len(right) > 500
    assert sum(right) >= 0.97 * len(right)


def test_everything_is_loaded_before_a_sandbox_is_locked() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _AFTER_PRELOAD], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


_AFTER_PRELOAD = """
import sys
from benchmarks.charsets import samples
from dataset_gen.languages import texts
from worker.sandbox.main import load_everything
from readers.charset import decode
load_everything(())
found = [sample.data for sample in samples(texts(), lengths=(50,))]
seen = []
sys.addaudithook(lambda event, given: seen.append(str(given[0])) if event in ("open", "import") else None)
for data in found:
    decode(data)
print(seen)
"""


@pytest.mark.parametrize("label", ["undefined", "unicode_escape", "raw_unicode_escape", "charmap", "punycode"])
def test_a_label_that_is_no_charset(label: str) -> None:
    """Scripts write `charset=undefined` where a variable of theirs is; Python has a codec of that name, which fails always."""
    text = "Grüße \\x41 \\u0042\n" * 9
    assert decode(text.encode(), label)[0] == text
    page = f"<html><head><meta charset={label}></head><body>{text}</body></html>".encode()
    assert "Grüße \\x41 \\u0042" in handler_for("text/html").text(MemorySource(b"p", page), Limits()).text
    mail = b"Content-Type: text/plain; charset=%b\r\n\r\n%b" % (label.encode(), text.encode())
    assert "Grüße \\x41" in handler_for("message/rfc822").text(MemorySource(b"m", mail), Limits()).text


def test_half_a_character_is_none() -> None:
    """UTF-7 can spell half of a surrogate pair, which nothing that takes text takes; a fuzzer found it in a mail."""
    half = b"before +288- after"
    assert half.decode("utf-7") == "before \udbcf after"
    assert decode(half, "utf-7")[0] == "before \ufffd after"
    mail = b"Subject: =?utf-7?Q?+288-?=\r\nContent-Type: text/plain; charset=utf-7\r\n\r\n" + half
    found = handler_for("message/rfc822").text(MemorySource(b"m", mail), Limits())
    assert "before \ufffd after" in found.text
    assert found.text.encode("utf-8")


def test_letters_of_a_western_text_are_judged_the_same_by_their_bytes() -> None:
    random = Random(1)
    pools = (
        bytes(range(0xC0, 0x100)),
        bytes(range(0xC0, 0xDF)),
        b"\xe9\xfc\xdf\x92\xa0\x85",
        bytes(range(0x80, 0x100)),
    )
    plain = 0
    for _ in range(5_000):
        pool, share = random.choice(pools), random.choice((0.01, 0.1, 0.4, 0.5, 0.9))
        size = random.choice((5, 60, 200))
        data = bytes(random.choice(pool if random.random() < share else b"abcdE 123\n.,") for _ in range(size))
        if plainly_western(data):
            plain += 1
            assert western(data), data
            assert not doubtful(data.decode("cp1252", "replace")), data
    assert plain > 1_000


LATIN, UMLAUTS, RUSSIAN_CHARSET_MIXED = "begin of the word {}{}", "größe über straße {}{}", "договор подписан {}{}"
CHINESE_CHARSET_MIXED, HINDI, PUNJABI = (
    "合同文本已经签署 {}{}",
    "यह हिन्दी में एक वाक्य है {}{}",
    "ਇਹ ਪੰਜਾਬੀ ਵਿੱਚ ਇੱਕ ਵਾਕ ਹੈ {}{}",
)
# Text, charset, and whether a byte-order mark is before it.
PARTS = (
    (LATIN, "ascii", False),
    (UMLAUTS, "utf-8", False),
    (RUSSIAN_CHARSET_MIXED, "utf-8", True),
    (RUSSIAN_CHARSET_MIXED, "cp1251", False),
    (CHINESE_CHARSET_MIXED, "utf-8", False),
    (LATIN, "utf-16-le", False),
    (LATIN, "utf-16-le", True),
    (UMLAUTS, "utf-16-be", True),
    (RUSSIAN_CHARSET_MIXED, "utf-16-le", False),
    (CHINESE_CHARSET_MIXED, "utf-16-le", True),
    (HINDI, "utf-16-le", True),
)


def _read(data: bytes) -> str:
    return "".join(Decoder(data[:4096]).chunks(io.BytesIO(data)))


def _lines(form: str, count: int, end: str) -> str:
    return "".join(form.format(number, end) for number in range(count))


def _encoded(text: str, codec: str, mark: bool) -> bytes:
    return ("\ufeff" * mark + text).encode(codec)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("one", "two"), [pair for pair in itertools.product(PARTS, PARTS) if pair[0][1] != pair[1][1]])
def test_two_charsets_in_a_text(one: tuple[str, str, bool], two: tuple[str, str, bool], end: str) -> None:
    """Whichever comes first, with a mark or without, few lines and many: every word of both comes out."""
    for first, second in ((20, 20), (3, 400), (400, 3), (CHUNK // 20, 400))[: 3 + ("cp1251" in (one[1], two[1]))]:
        parts = [
            (_lines(form, count, end), codec, mark) for (form, codec, mark), count in ((one, first), (two, second))
        ]
        data = b"".join(_encoded(*part) for part in parts)
        assert _read(data).replace("\ufeff", "") == "".join(text for text, _, _ in parts)
        assert identify(MemorySource(b"x.log", data)) == "text/plain"


@pytest.mark.parametrize(("line", "mark"), [("first asciiword\r\n", False), ('{"a":"jsonword"}\n', True)])
def test_a_line_of_an_odd_length_before_utf_16(line: str, mark: bool) -> None:
    text = _lines(UMLAUTS, 2, "\r\n")
    for codec in ("utf-16-le", "utf-16-be"):
        assert _read(line.encode() + _encoded(text, codec, mark)) == line + text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "form",
    [
        LATIN,
        UMLAUTS,
        RUSSIAN_CHARSET_MIXED,
        CHINESE_CHARSET_MIXED,
        HINDI,
        PUNJABI,
        "李{}{}",
        "これは日本語の文章です{}{}",
    ],
)
def test_one_charset_stays_one(form: str, codec: str) -> None:
    for count in (3, 50, 3 * CHUNK // 40):
        text = _lines(form, count, "\r\n")
        assert _read(_encoded(text, codec, True)) == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_character_of_four_bytes_is_kept_where_a_read_ends_within_it(codec: str) -> None:
    for before in range(4):
        text = before * "a" + CHUNK // 8 * "x\U0001f600y" + "\r\n"
        assert _read(_encoded(text, codec, True)) == text
        first, second = before * "a", _lines(RUSSIAN_CHARSET_MIXED, CHUNK // 20, "\r\n")
        assert _read((first + second).encode("cp1251") + second.encode()) == first + 2 * second


def test_three_parts_over_several_reads() -> None:
    """Parts of an odd number of bytes, each larger than what is read at once."""
    count = CHUNK // 20
    texts = [
        _lines(LATIN, count, "\r\n") + "odd\r\n",
        _lines(RUSSIAN_CHARSET_MIXED, count, "\r\n"),
        _lines(UMLAUTS, count, "\n") + "end",
    ]
    data = texts[0].encode() + _encoded(texts[1], "utf-16-le", True) + texts[2].encode()
    assert _read(data) == "".join(texts)


@pytest.mark.parametrize(
    "data",
    [
        b"Sub\0ject: a zero in a line of text\n" * 9,
        b"columns\0with\0zeros between\n" * 9,
        "ÿþ is no mark in a word, nor яю".encode(),
        "слово за словом, яюшка".encode("cp1251") + b"\n" * 3,
    ],
)
def test_zeros_and_what_looks_like_a_mark_are_no_other_part(data: bytes) -> None:
    assert "\ufffd" not in _read(data)
    assert len(_read(data)) == len(data.decode(Decoder(data).detected.charset, "replace")) or b"\xff" in data


def test_chinese_in_utf_16_is_one_text() -> None:
    letters = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经"
    chance = random.Random(1)
    for _ in range(100):
        text = "\n".join("".join(chance.choices(letters, k=chance.randint(1, 30))) for _ in range(20))
        for codec in ("utf-16-le", "utf-16-be"):
            assert [found for found, _ in parts([text.encode(codec)], codec)] == [codec], text


@pytest.mark.parametrize(("first", "second"), [("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le")])
@pytest.mark.parametrize("form", [LATIN, RUSSIAN_CHARSET_MIXED, CHINESE_CHARSET_MIXED])
def test_orders_of_bytes_line_by_line(first: str, second: str, form: str) -> None:
    lines = [form.format(number, "\r\n") for number in range(3_000)]
    data = b"".join(line.encode(second if number % 3 else first) for number, line in enumerate(lines))
    assert _read("\ufeff".encode(first) + data) == "".join(lines)


@pytest.mark.parametrize(("first", "second"), [("utf-16-le", "utf-16-be"), ("utf-16-be", "utf-16-le")])
def test_parts_in_the_other_order_without_ends_of_lines(first: str, second: str) -> None:
    for one, two in (("little\n", "last words"), ("no end of line", "next words\n")):
        assert _read(_encoded(one, first, True) + two.encode(second)) == one + two


def test_whole_texts_of_several_parts() -> None:
    one, two, three = (_lines(form, 20, "\r\n") for form in (LATIN, RUSSIAN_CHARSET_MIXED, UMLAUTS))
    text = one + two + three
    data = one.encode("utf-16-le") + two.encode("utf-16-be") + three.encode("utf-16-le")
    assert decode(data, "utf-16le")[0] == decode(b"\xff\xfe" + data)[0] == text
    assert decode(three.encode() + data)[0] == three + text


def test_an_order_of_bytes_that_changes_with_every_letter() -> None:
    letters = "Every letter in another order of bytes. " * 500
    orders = (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"))
    data = b"".join(orders[n % 2][1] + c.encode(orders[n % 2][0]) for n, c in enumerate(letters))
    assert decode(data)[0] == letters
    assert len(list(parts((data[2:],), "utf-16-le"))) < 1_000


PLAIN = "お世話になっております。昨日お送りした契約書につきまして、ご確認いただけましたでしょうか。"
NAMES = "髙橋様と㈱山田商事①"
TAIPEI = "本公司位於中環,歡迎客戶預約會面。我們會在下星期二舉行會議,討論合同的細節以及付款安排。"


def _euc(text: str) -> bytes:
    """As CP51932: what EUC-JP lacks by way of Shift-JIS."""
    return b"".join(_pair(char) for char in text)


def _pair(char: str) -> bytes:
    try:
        return char.encode("euc_jp")
    except UnicodeEncodeError:
        first, second = {"髙": b"\xee\xe0", "㈱": b"\x87\x8a", "①": b"\x87\x40"}[char]
        assert bytes((first, second)).decode("cp932") == char
        row = 2 * (first - (0x81 if first < 0xE0 else 0xC1)) + 0x21
        if second >= 0x9F:
            return bytes((row + 1 + 0x80, second - 0x7E + 0x80))
        return bytes((row + 0x80, second - (0x20 if second > 0x7F else 0x1F) + 0x80))


def _jis(text: str) -> bytes:
    return b"\x1b$B" + bytes(byte & 0x7F for byte in _euc(text)) + b"\x1b(B"


def _mail(body: bytes, label: str, subject: str = "t") -> bytes:
    return b"From: a@b.c\nSubject: %b\nContent-Type: text/plain; charset=%b\n\n%b" % (
        subject.encode(),
        label.encode(),
        body,
    )


@pytest.mark.parametrize(
    ("body", "label", "wanted"),
    [
        (_jis(PLAIN + NAMES), "iso-2022-jp", PLAIN + NAMES),
        (_jis(PLAIN) + b"\x1b(ITO@^<^]\x1b(B", "iso-2022-jp", PLAIN + "ﾔﾏﾀﾞｼﾞﾝ"),
        (_jis(PLAIN + NAMES), "cp50220", PLAIN + NAMES),
        (_euc(PLAIN + NAMES + PLAIN), "euc-jp", PLAIN + NAMES + PLAIN),
        (TAIPEI.encode("big5") + b"\xf9\xda\xa4j\xb6\xb0\xb9\xce", "big5", TAIPEI + "恒大集團"),
        (TAIPEI.encode("big5") + b"\xa3\xe1100", "big5", TAIPEI + "€100"),
    ],
)
def test_declared_text_is_read_as_windows_writes_it(body: bytes, label: str, wanted: str) -> None:
    text = text_of(_mail(body, label), b"a.eml")
    assert (text.text, text.state) == (wanted, None)


@pytest.mark.parametrize(
    ("data", "named"), [(_jis(PLAIN + NAMES), "iso2022_jp"), (_euc(PLAIN + NAMES + PLAIN), "euc_jp"), (_euc("株式会社は㈱と書く。" + NAMES), "euc_jp")]
)  # fmt: skip
def test_so_is_text_that_nothing_declares(data: bytes, named: str) -> None:
    text = text_of(data)
    assert NAMES in text.text
    assert text.state is not TextState.GUESSED
    assert text.metadata["charset"] == named


def test_so_are_words_of_a_header() -> None:
    """RFC 2047 in both ways."""
    word = base64.b64encode(_jis("髙橋㈱との契約①")).decode()
    assert decode_words(f"=?ISO-2022-JP?B?{word}?=") == "髙橋㈱との契約①"
    quoted = "".join(f"={byte:02X}" for byte in _euc("髙橋"))
    assert decode_words(f"=?euc-jp?Q?{quoted}?=") == "髙橋"


@pytest.mark.parametrize(
    ("data", "codec", "wanted"),
    [
        (_euc("契約") + b"\xfe\xfe" + _euc("契約"), "euc_jp", "契約\ufffd契約"),
        (_euc("契約") + b"\x8f\xfe\xfe" + _euc("契約"), "euc_jp", "契約\ufffd契約"),
        (_euc("契約") + b"\xfe " + _euc("契約"), "euc_jp", "契約\ufffd 契約"),
        (b"\x1b$B" + b"7@~~7@\x1b(Bend", "iso2022_jp", "契\ufffd契end"),
        (b"\x1b$B" + b"7@7\x1b(Bend", "iso2022_jp", "契\ufffdend"),
        (b"\x1b$B" + b"7\n7@\x1b(Bend", "iso2022_jp", "\ufffd\n契end"),
        (b"\x1b(ITO\x1b$B7@", "iso2022_jp", "ﾔﾏ契"),
        (b"\x1b$(D-!\x1b(Bend", "iso2022_jp_ext", "\ufffdend"),
        ("大".encode("big5") + b"\xfe\xff" + "大集".encode("big5"), "big5", "大\ufffd大集"),
        ("大".encode("big5") + b"\xff" + "大集".encode("big5"), "big5", "大\ufffd大集"),
        ("約".encode("cp932") + b"\x81\xad" + "約束".encode("cp932"), "cp932", "約\ufffd約束"),
        ("약".encode("cp949") + b"\xfe\xfe" + "약속".encode("cp949"), "cp949", "약\ufffd약속"),
    ],
)
def test_a_broken_pair_leaves_the_rest_as_it_is(data: bytes, codec: str, wanted: str) -> None:
    assert charset.read_in(data, codec) == wanted


@pytest.mark.parametrize("codec", ["euc_jp", "iso2022_jp", "big5"])
def test_what_the_codec_reads_stays_as_it_reads_it(codec: str) -> None:
    for lead in range(0x21, 0x7F) if codec == "iso2022_jp" else range(0x81, 0xFF):
        for trail in range(0x21, 0xFF):
            pair = bytes((lead, trail))
            data = b"\x1b$B" + pair + b"\x1b(B" if codec == "iso2022_jp" else pair
            try:
                plain = data.decode(codec)
            except UnicodeDecodeError:
                continue
            assert data.decode(codec, errors_of(codec)) == plain


@pytest.mark.parametrize("text", ["größe 😀 müller", "😀"])
def test_utf_8_with_characters_as_two_halves(text: str) -> None:
    """As databases and Java write it; half of one is no character."""
    raw = text.replace("😀", "\ud83d\ude00").encode("utf-8", "surrogatepass")
    found, detected = decode(raw)
    assert (found, detected.charset, detected.guessed) == (text, "utf-8", False)
    assert decode("größe ".encode() * 19 + b"\xed\xa0\xbd \xc0\x80")[0] == "größe " * 19 + "\ufffd\ufffd\ufffd \0"


def test_other_codecs_keep_their_own_way() -> None:
    assert (errors_of("koi8_r"), errors_of("koi8_r", "strict")) == ("replace", "strict")
    assert b"\xfc\xe2".decode("euc_jp", errors_of("euc_jp", "strict")) == "髙"
    with pytest.raises(UnicodeDecodeError):
        b"\xfe\xfe".decode("euc_jp", errors_of("euc_jp", "strict"))
    with pytest.raises(UnicodeEncodeError):
        "ä".encode("big5", errors_of("big5"))
