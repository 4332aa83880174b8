"""Fields of a query that the ledger answers and no index: sizes, dates and other metadata, states, exceptions, tags."""

from __future__ import annotations

import re

from core.errors import UsageError
from core.imported import KEY
from core.options.dates import asked_in_utc
from core.settings import parse_bytes
from readers.errors import ExceptionCode
from readers.keys import DATE, KEYS, LIST, NUMBER, TEXT, YES
from readers.records import TextState
from worker.indexes.base import QUERY_FIELDS

# Other names of fields of the index.
ALIASES = {"from": "sender", "to": "recipients", "text": "body"}
SIZE, TEXT_STATE, EXCEPTION, TAG, SAVED = "size", "text_state", "exception", "tag", "saved"
CUSTODIAN_IS, TYPE_IS = "custodian_is", "type_is"  # the whole name, of which the index has the words
ANY = "any"
_CODES = ("language",)  # of the metadata, that are asked for whole
_OWN = {SIZE: NUMBER, TEXT_STATE: TEXT, EXCEPTION: TEXT, TAG: TEXT, SAVED: TEXT, CUSTODIAN_IS: TEXT, TYPE_IS: TEXT}
_METADATA = {name: key.kind for name, key in KEYS.items() if name not in (*QUERY_FIELDS, *ALIASES)}
LEDGER_FIELDS: dict[str, str] = _OWN | _METADATA
_CHOICES = {TEXT_STATE: tuple(map(str, TextState)), EXCEPTION: (ANY, *map(str, ExceptionCode))}
_SIGN = re.compile(r"\w\*|\*\w|\w\?\w|\A[*?]+\Z|~\d{0,9}\Z")  # that means something in a word of the index
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?\Z", re.ASCII)
_WHOLE = re.compile(r"\d{1,30}\Z", re.ASCII)
_SHOWN = 60  # characters of a value that is refused; a number of bytes has fewer
_NAME = re.compile(r"[\w][\w .-]{0,99}\Z")


def checked_name(name: str, what: str) -> str:
    """A tag's or a saved search's name as it is kept; raises UsageError."""
    if not _NAME.match(name) or name != name.strip():
        raise UsageError(
            f"{name[:120]!r} is not a name for {what}; use at most 100 letters, digits, blanks and _ . -, starting with a letter or digit"
        )
    return name


def ledger_kind(field: str) -> str | None:
    """What a field of the ledger is asked for: LEDGER_FIELDS, and what load files say; None: it is none."""
    return TEXT if KEY.match(field) else LEDGER_FIELDS.get(field)


def _date(field: str, value: str) -> str:
    if (date := asked_in_utc(value)) is None:
        raise UsageError(f"{field} is a date, as in 2001, 2001-06 or 2001-06-30T17:45, where +02:00 or Z may follow")
    return date


def checked(field: str, op: str, value: str, *, quoted: bool = False) -> tuple[str, str]:
    """Operator and value of a condition on a field of the ledger; `op` empty: the field's usual one. `quoted`: signs are what they
    are. Raises UsageError."""
    kind = ledger_kind(field)
    if op in ("<", "<=", ">", ">=") and kind not in (DATE, NUMBER):
        raise UsageError(f"{field} is neither a date nor a number; < and > do not work on it")
    if op == "!=" and field in _OWN:
        raise UsageError(f"{field} has no !=; write NOT {field}:{value}")
    if field in _CHOICES and value not in _CHOICES[field]:
        raise UsageError(f"{field} can be {', '.join(_CHOICES[field])}")
    if field in (TAG, SAVED):
        checked_name(value, "a tag" if field == TAG else "a saved search")
    elif field == SIZE:
        value = value if _WHOLE.match(value) else str(parse_bytes(value[:_SHOWN], field))
    elif kind == DATE:
        value = _date(field, value)
    elif kind == NUMBER and not _NUMBER.match(value):
        raise UsageError(f"{field} is a number; {value[:_SHOWN]!r} is not")
    elif kind == YES and value.lower() not in ("true", "false"):
        raise UsageError(f"{field} must be true or false")
    contains = field not in _OWN and kind in (TEXT, LIST) and field not in _CODES
    if kind in (TEXT, LIST) and field not in _OWN and not quoted and _SIGN.search(value):
        found = "values that contain the text as written" if contains else "the whole value, exactly as written"
        raise UsageError(f"{field} finds {found}; * ? and ~ do not work on it, unless you quote them as characters")
    return op or ("~" if contains else "="), value
