"""Which of the terms that Tika has and we lack are no loss, told by rules and not by hand (decision 26).

Beside a table's raw share stands the share without these:

* **its own words**: labels of messages and sheets, names of parts, codes of fields, and the endings of the names that it gives
  to what lies in a file (`_1345470949.xls`);
* **what it does not decode**: bytes that it shows as lines of base64, uuencode or hexadecimal digits, words of UTF-7, and the
  codes of fonts in headers of workbooks (`&"Times New Roman,Regular"`);
* **joined words**: two of our words, apart by the end of a line, a cell or a paragraph, as one (`NovemberDecember`);
* **runs in scripts without blanks**: what a search for the term finds, because its letters stand in our text in a row;
* **misread files**: those that Tika takes for plain text or a web page and we for a document or a message, and those of whose
  characters it could not read more than 2 %, which is what makes a text of ours `partial`. No term of them counts; a file
  that we misread ourselves has to be found by what Tika reads of its like.

Names of those files, and the words of each kind, go to the output file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator

from benchmarks.formats.score import Extract
from worker.indexes.words import apart
from worker.items.texts import UNREAD_SHARE

# What Tika writes into text and no document says: labels of messages and sheets, names of parts, placeholders, codes of fields.
OWN = frozenset(
    ["docprops", "footnoteref", "endnoteref", "recipients", "from", "unknown", "embed", "mergeformat", "sheet"]
)
_TEXT = ("text/plain", "text/html", "application/xhtml+xml")
_NOTHING = ("", "application/octet-stream")  # we do not know what it is either
_BETWEEN = re.compile(r"[\W\d_]+")
_CUT = "\0"  # stands where a line, a cell or a paragraph ends


def misread(mine: Extract, peer: Extract) -> bool:
    """Whether Tika did not read this file as what it is."""
    as_text = peer.media_type.startswith(_TEXT) and mine.media_type not in _NOTHING and not _is_text(mine.media_type)
    return as_text or peer.unread > UNREAD_SHARE * peer.characters


def _is_text(media_type: str) -> bool:
    return media_type.startswith(("text/", "application/json", "application/xml", "application/xhtml"))


def losses(missing: Iterable[str], mine: Extract, peer: Extract) -> set[str]:
    """Those of the missing terms that are none of the above."""
    left = {term for term in missing if term not in OWN | peer.endings | peer.undecoded}
    left -= _joined(left, mine.texts)
    return {term for term in left if not _in_a_row(term, mine.texts)}


def _in_a_row(term: str, texts: Iterable[str]) -> bool:
    """Whether it is of a script without blanks, and stands somewhere."""
    return all(apart(letter) != letter for letter in term) and any(term in text for text in texts)


def _joined(terms: Collection[str], texts: Iterable[str]) -> set[str]:
    """Those that are made of words with the ends of lines or cells between them, and nothing else."""
    longest = max(map(len, terms), default=0)
    return {word for text in texts for word in _across(text, longest) if word in terms} if longest else set()


def _across(text: str, longest: int) -> Iterator[str]:
    """What words make that follow one another over such ends, up to so many letters."""
    for run in _BETWEEN.sub(lambda match: _CUT if "\n" in match[0] or "\t" in match[0] else " ", text).split():
        words = run.split(_CUT)
        for at in range(len(words) - 1):
            made = words[at]
            for word in itertools.islice(words, at + 1, None):
                made += word
                if len(made) > longest:
                    break
                yield made
