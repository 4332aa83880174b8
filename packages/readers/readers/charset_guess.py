"""Detection of the charset of bytes that nothing declares: by their structure, else by statistics (chardet 7).

The cost is bounded for any size: at most a few kilobytes that are not plain ASCII are examined, about a millisecond of
CPU. docs/charsets.md has the measurements and the origin of the numbers below."""

from __future__ import annotations

import codecs
import functools
import re
import unicodedata
from typing import NamedTuple

from readers.charset_wider import errors_of
from readers.last import remembered

SAMPLE = 4096  # bytes that the detector sees
_BEFORE = 256  # of a line, in front of the first byte that is not ASCII
_LOOKED_AT = 1 << 20  # bytes that are searched for non-ASCII ones
_HIGH = re.compile(rb"[\x80-\xff]")
# Removed, because the detector would believe it and is called to check it.
_DECLARATION = re.compile(rb"<(?:meta\b|\?xml\b)[^<>]*>", re.IGNORECASE)
# From this score of the detector on one sample in a hundred was wrong, below it one in eight.
SURE = 0.2
# If nothing is certain and the bytes may be windows-1252, another charset has to be this much better.
_LATIN_MARGIN, _LATIN_LEAST = 0.03, 0.1
_BAD = 0.05
_LATIN = ("cp1252", "iso8859-1", "iso8859-15")
# Bytes where windows-1252 has rare letters and signs, and where DOS and the Macintosh have the frequent letters.
_NOT_WESTERN = re.compile(rb"[\x81-\x84\x86-\x8f\x98-\x9f\xa1-\xa6\xa8-\xaa\xac-\xaf\xb1-\xba\xbc-\xbf\xd7\xf7]")
# Of two equally likely charsets the one that Windows programs write.
_TIE = 0.005
_TWINS = {"iso8859-2": "cp1250", "iso8859-7": "cp1253", "iso8859-8": "cp1255", "iso8859-13": "cp1257"}
# No undeclared files are in these, but short texts in other charsets look like them; the first are detected earlier.
_NEVER = (
    *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-7"),
    *("cp856", "cp860", "cp861", "cp863", "cp864", "cp865", "cp1006", "cp1125", "hp-roman8", "koi8-t", "mac-iceland"),
    *("iso8859-10", "iso8859-16", "iso2022_jp_2004", "iso2022_jp_ext"),
)
# Accepted only in the languages that they were made for.
_RARE = {"iso8859-3": ("eo", "mt"), "iso8859-14": ("cy",)}
# Bytes that are an accented capital alpha and a quote in ISO 8859-7, and signs that precede no letter in windows-1253.
_ISO_GREEK = re.compile(rb"(?<![\xb8-\xfe])\xb6[\xdc-\xfe]|\xa1[\xc1-\xfe]")
_RUN, _FEWEST_BARE = re.compile(rb"[\x80-\xff]{3,}"), 40  # bytes of such
_PRIVATE = re.compile("[\ue000-\uf8ff]")  # private-use characters
_MOST_PRIVATE = 0.005  # share of a text's characters
# Alphabets that share no word with the Latin one, and signs that no word contains.
_OTHER_ALPHABET, _OTHER_WORD = re.compile("[\u0370-\u06ff]"), re.compile("[\u0370-\u06ff]{2}")
# … and a single letter after a number, where windows-1252 has the euro sign, which they lack.
_OLD = ("cp4", "cp7", "cp8", "mac")
_SIGN_IN_WORD = re.compile("[a-z](?![\xad\xb7])[\x80-\xbf\xd7\xf7\u2500-\u25ff][a-z]|\\d[ \xa0]?[\xc4\xc7](?!\\w)")
_BOX = re.compile("[\u2500-\u259f]")  # a drawing never has only one
_LOOKED_DOWN = 16  # candidates of the detector that are examined
# Bytes that are € Š š Ž ž Œ œ Ÿ in ISO 8859-15 and ¤ ¦ ¨ ´ ¸ ¼ ½ ¾ in windows-1252; surroundings in which
# they are an amount or letters of words, and those in which they can only be the signs.
_DIFFERENT = re.compile(rb"[\xa4\xa6\xa8\xb4\xb8\xbc-\xbe]")
_EURO_SIGNS = re.compile(
    rb"\d[ \xa0]?\xa4|\xa4[ \xa0]?\d|[a-z\xe0-\xff][\xa8\xb8\xbd][a-z\xe0-\xff]|\xbd(?=uv|il|uf)"
    rb"|(?<![\w\x80-\xff])[\xa6\xbc][a-z\xe0-\xff]{2}"
)
_OLDER_SIGNS = re.compile(
    rb"\d ?[\xbc-\xbe]|(?<![\w\x80-\xff])[\xbc-\xbe](?![\w\x80-\xff])|(?<![\w\x80-\xff])[\xa6\xa8\xb4\xb8](?![\w\x80-\xff])|[A-Za-z\xc0-\xff]\xb4"
)
# ISO 8859-16 has ș and ț where these have ş and ţ, and quotes of its own; windows-1250 has others where it has controls.
_WITH_CEDILLAS, _CEDILLAS = ("cp1250", "iso8859-2"), re.compile("[\u015e\u015f\u0162\u0163]")
_WINDOWS = re.compile(rb"[\x80-\x9f]")
_ROMANIAN_QUOTES = re.compile(rb"(?<![\w\x80-\xff])\xa5[^\s\xa5\xb5][^\xa5\xb5]*\xb5(?![\w\x80-\xff])")
# The detector's name → the codec that programs mean, if it decodes the sample too.
_USUAL = {
    "shift_jis_2004": "cp932",
    "euc_jis_2004": "euc_jp",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}
# Lowest score, and how many of 100 samples with at least that score were right; next, for windows-1252.
_RIGHT = ((0.45, 100), (SURE, 99), (0.1, 92), (0.05, 59), (0.0, 20))
_RIGHT_LATIN = ((SURE, 99), (_LATIN_LEAST, 89), (0.05, 67), (0.0, 20))


class Guess(NamedTuple):
    """A codec ("" without evidence); how many of 100 such guesses are right; and whether it counts as certain. Short
    Western text does, although other code pages cannot be ruled out, because it is the most frequent."""

    codec: str
    confidence: int
    sure: bool
    score: float = 0.0  # the detector's own measure, of which two can be compared


@remembered
def guess(data: bytes) -> Guess:
    """Return the likeliest charset of non-UTF-8 bytes, whatever they declare. The first call loads the detector."""
    sample = _DECLARATION.sub(b"", sample_of(data))
    ranked = _ranked(sample)
    if ranked and ranked[0][1] < SURE and (words := _bare(sample)):
        ranked = max(ranked, _ranked(words), key=lambda one: one[0][1] if one else 0.0)
    if not ranked:
        return Guess("", 0, False)
    codec, score = _chosen(_likely(ranked, sample), sample)
    return _weighed(sample, codec, score)._replace(score=score)


def _weighed(sample: bytes, codec: str, score: float) -> Guess:
    """Return the likeliest codec, or one that differs from it in bytes by which the sample distinguishes them; and its
    certainty."""
    latin = codec in _LATIN and western(sample)
    right = next(right for least, right in (_RIGHT_LATIN if latin else _RIGHT) if score >= least)
    usual = _usual(codec, sample)
    if usual in _LATIN and _DIFFERENT.search(sample):
        return _signs(sample, right, score >= _LATIN_LEAST)
    text = sample.decode(usual, errors_of(usual))
    known = len(_PRIVATE.findall(text)) <= _MOST_PRIVATE * len(text)  # EUC-TW, say, which Python does not have
    if (
        usual in _WITH_CEDILLAS and _CEDILLAS.search(text) and not _WINDOWS.search(sample)
    ):  # Romanian, the same in all three
        if _ROMANIAN_QUOTES.search(sample):
            return Guess("iso8859-16", right, score >= SURE)
        known = False
    return Guess(usual, right if known else _RIGHT[-1][1], known and score >= (_LATIN_LEAST if latin else SURE))


def _ranked(sample: bytes) -> list[tuple[str, float]]:
    """Return the codecs that the detector finds, the likeliest first."""
    import chardet  # takes two megabytes and most of 0.1 s; most processes do not need it

    candidates = chardet.detect_all(
        sample,
        ignore_threshold=True,
        max_bytes=SAMPLE,
        compat_names=False,
        exclude_encodings=_NEVER,
        no_match_encoding="cp1252",
        empty_input_encoding="cp1252",
    )
    rare = [one["encoding"] in _RARE and one["language"] in _RARE[one["encoding"]] for one in candidates[:1]]
    return [
        (str(one["encoding"]), float(one["confidence"] or 0))
        for at, one in enumerate(candidates)
        if one["encoding"] and (one["encoding"] not in _RARE or (at == 0 and rare[0] and one["confidence"] >= SURE))
    ]


def _likely(ranked: list[tuple[str, float]], sample: bytes) -> list[tuple[str, float]]:
    """Return the candidates from the first good one on, all if none is good. A bad one turns accents into single
    letters of another alphabet among Latin ones, or (DOS and the Macintosh) into signs within words."""
    for at, (codec, _) in enumerate(ranked[:_LOOKED_DOWN]):
        text = sample.decode(codec, "replace")
        sprinkled = _OTHER_ALPHABET.search(text) and not _OTHER_WORD.search(text)
        old = codec.startswith(_OLD) and (_SIGN_IN_WORD.search(text) or len(_BOX.findall(text)) == 1)
        if not sprinkled and not old:
            return ranked[at:]
    return ranked


def _signs(sample: bytes, right: int, sure: bool) -> Guess:
    """Return which of two charsets a Western text's signs indicate; not certain if neither, or both."""
    newer = not _WINDOWS.search(sample) and _EURO_SIGNS.search(sample)
    older = _WINDOWS.search(sample) or _OLDER_SIGNS.search(sample)
    codec = "iso8859-15" if newer and not older else "cp1252"
    sure = sure and bool(newer) != bool(older)
    return Guess(codec, right if sure else min(right, _RIGHT_LATIN[2][1]), sure)


def _bare(sample: bytes) -> bytes:
    """Return the words of another alphabet than the Latin one, if the sample has hardly any other non-ASCII bytes:
    addresses and markup between them dilute them. b"" if it is no such text. One repeated byte, as in blanks and lines,
    is not a word."""
    words = [run for run in _RUN.findall(sample) if run.strip(run[:1])]
    size = sum(map(len, words))
    return b" ".join(words) if size >= _FEWEST_BARE and 2 * size > len(_HIGH.findall(sample)) else b""


def preload() -> None:
    """Load the detector with every table that it would later read from disk, which a sandbox cannot do."""
    from chardet import models
    from chardet.pipeline import confusion

    _other()
    guess(b"\xcf\xf0\xe8\xe2\xe5\xf2")
    for load in (models.get_enc_index, models.get_rowmax, models.get_language_norms, models.get_language_scale):
        load()
    models.get_idf_weights()
    confusion.load_confusion_data()


def _chosen(ranked: list[tuple[str, float]], sample: bytes) -> tuple[str, float]:
    """Return the best candidate; if none is certain, windows-1252 if it is nearly the best, or all are bad, and its
    frequent letters are at the right places."""
    best = ranked[0]
    twin = _TWINS.get(best[0])
    if twin == "cp1253" and _ISO_GREEK.search(sample):
        return best
    best = next((one for one in ranked if one[0] == twin and one[1] >= best[1] - _TIE), best)
    if best[1] >= SURE or not western(sample):
        return best
    if doubtful(sample.decode("cp1252", "replace")):
        return best
    least = best[1] - _LATIN_MARGIN if best[1] >= _BAD else 0.0
    return next((one for one in ranked if one[0] in _LATIN and one[1] >= least), best)


def western(data: bytes) -> bool:
    """Return whether all non-ASCII bytes are frequent letters of windows-1252. Some texts in it have others: œ, quotes
    in guillemets, fractions."""
    return _NOT_WESTERN.search(sample_of(data)) is None


_ASCII = bytes(range(128))
_CAPITALS = bytes((*range(0xC0, 0xD7), *range(0xD8, 0xDE)))
_ACCENTED = _CAPITALS + bytes((*range(0xDF, 0xF7), *range(0xF8, 0x100)))
# With the signs that `_ODD` leaves out and `western` accepts
_NO_ACCENTED = _ASCII + b"\x80\x85\x91\x92\x93\x94\x95\x96\x97\xa0"


def plainly_western(data: bytes) -> bool:
    """Return whether these are letters of windows-1252 that read well: what `western` and `doubtful` find of its text,
    in a fraction of their time. False if there are other signs, which those two have to judge."""
    odd = data.translate(None, _NO_ACCENTED)
    if odd.translate(None, _ACCENTED):
        return False
    if len(odd) < _FEW:
        return True
    start = data.index(odd[:1])
    if start >= _LONG:
        return True
    window = data[start : start + _WINDOW]
    odd = window.translate(None, _NO_ACCENTED)[:_ENOUGH]
    plain = len(window) - len(window.translate(None, _ASCII_LETTERS))
    capitals = len(odd) - len(odd.translate(None, _CAPITALS))
    return len(odd) < _FEW or (2 * capitals <= len(odd) and len(odd) <= _MOST_ACCENTED * (len(odd) + plain))


def _usual(codec: str, sample: bytes) -> str:
    if codec == "iso8859-15":
        return "cp1252" if reads(sample, "cp1252") and sample.decode(codec) == sample.decode("cp1252") else codec
    usual = _USUAL.get(codec, codec)
    return usual if usual == codec or reads(sample, usual) else codec


def reads(data: bytes, codec: str) -> bool:
    """Return whether the codec decodes the bytes, which may end inside a character."""
    try:
        codecs.getincrementaldecoder(codec)(errors_of(codec, "strict")).decode(data)
    except UnicodeError:
        return False
    return True


def is_utf8(name: bytes) -> bool:
    """Return whether a name is valid UTF-8."""
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def sample_of(data: bytes) -> bytes:
    """Return the non-ASCII lines up to a few kilobytes: ASCII gives no evidence and dilutes the rest. Long lines are
    reduced to the surroundings of the first such byte, data without any to its beginning."""
    taken, size, at = [], 0, 0
    while size < SAMPLE and (odd := _HIGH.search(data, at, _LOOKED_AT)) is not None:
        start = max(at, data.rfind(b"\n", at, odd.start()) + 1, odd.start() - _BEFORE)
        end = data.find(b"\n", odd.start(), odd.start() + SAMPLE - size) + 1
        at = end or odd.start() + SAMPLE - size
        taken.append(data[start:at])
        size += at - start
    return b"".join(taken)[:SAMPLE] if taken else data[:SAMPLE]


# What is not ASCII, except signs that occur in any text.
_ODD = re.compile(r"[^\x00-\x7f\xa0\u2000-\u206f\u20ac\u3000-\u303f\uff00-\uff65]+")
_WINDOW, _LONG, _ENOUGH, _FEW = 1000, 1 << 16, 200, 6  # characters; no verdict with fewer odd ones than the last


def doubtful(text: str) -> bool:
    """Return whether a text was likely decoded in a wrong charset: its non-ASCII characters are replacements, or no
    letters, or more capitals than small letters, or accented Latin letters nearly without plain ones."""
    first = _ODD.search(text, 0, _LONG)
    if first is None:
        return False
    window = text[first.start() : first.start() + _WINDOW]
    odd = "".join(_ODD.findall(window))[:_ENOUGH]
    count = len(odd)
    if count < _FEW:
        return False
    if not odd.isalpha():
        if odd.count("\ufffd") > 0.02 * len(window):
            return True
        if sum(unicodedata.category(c)[0] in "LM" for c in odd) < 0.7 * count:
            return True
    if sum(map(str.isupper, odd)) > 0.5 * count:
        return True
    if max(odd) >= "\u0250":
        return False
    plain = window.encode("ascii", "ignore").translate(None, _NO_LETTERS)
    return count > _MOST_ACCENTED * (count + len(plain))


_MOST_ACCENTED = 0.4  # of a western text's letters
_ASCII_LETTERS = bytes(c for c in range(128) if chr(c).isalpha())
_NO_LETTERS = bytes(c for c in range(128) if not chr(c).isalpha())
# Ranges of the letters of living scripts, their punctuation and ideographs.
_SCRIPTS = (
    *((0x20, 0x7E), (0xA0, 0x0FFF), (0x10A0, 0x11FF), (0x1E00, 0x206F), (0x20A0, 0x20BF), (0x2100, 0x214F)),
    *((0x2460, 0x2473), (0x3000, 0x30FF), (0x3131, 0x318E), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF)),
    *(
        (0xFB1D, 0xFDFF),
        (0xFE30, 0xFE4F),
        (0xFE70, 0xFEFC),
        (0xFF01, 0xFFEF),
        (0x09, 0x0A),
        (0x0D, 0x0D),
        (0x1F300, 0x1FAFF),
        (0x20000, 0x3134F),
    ),
)
_LEAST = 8  # characters; with fewer, pairs of bytes may be anything
_BREATH = re.compile(r"[ \n\t\u3000-\u3002\uff0c\uff0e]")  # something between words or sentences


@functools.cache
def _other() -> re.Pattern[str]:
    """Return a pattern of characters in no script. Compiling it takes as long as reading a small file."""
    return re.compile("[^" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _SCRIPTS).replace("]", r"\]") + "]")


def wide(head: bytes) -> str:
    """Return UTF-16 without a byte-order mark in any script, detected by its characters: all of them belong to living
    scripts, in few of Unicode's rows, with white space or a full stop now and then. "" if it is none."""
    sample = head[: min(len(head), SAMPLE) & ~1]
    if len(sample) < 2 * _LEAST:
        return ""
    read = [(codec, text) for codec in ("utf-16-le", "utf-16-be") if (text := _as_script(sample, codec))]
    if not read:
        return ""
    return min(read, key=lambda one: len({ord(c) >> 8 for c in one[1]}))[0]


def readable(head: bytes, codec: str) -> bool:
    """Return whether these first bytes decode only to characters of living scripts in this codec."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeError:
        return False
    return _other().search(text) is None


def _as_script(sample: bytes, codec: str) -> str:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeError:
        return ""
    if _other().search(text) or not _BREATH.search(text):
        return ""
    if len(text) > 200 and not all(_BREATH.search(text, at, at + 200) for at in range(0, len(text) - 199, 200)):
        return ""
    few = text[:400]
    rows = {ord(c) >> 8 for c in few if not 0x4E00 <= ord(c) <= 0xD7A3}  # alphabets take one or two
    assigned = sum(unicodedata.category(c) != "Cn" for c in few)
    return text if len(rows) <= 6 and assigned == len(few) else ""
