"""The columns of a manifest, apart from what reads and writes one: that takes a while to be imported, and who only names them has
no need of it."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

CUSTODIAN = "custodian"
CONTAINER_PATH = "container_path"  # display names; the first is the loose file's path relative to DIR/data
NAME = "name"  # bytes
ORDINAL = "ordinal"  # bytes, as core.places
KIND = "kind"
CONTAINER = "container"
MEDIA_TYPE = "media_type"
BYTES = "bytes"
SHA256 = "sha256"
PARENT = "parent"  # row number; -1 for loose files
FAMILY = "family"  # row number of the topmost non-container item; -1 for containers outside any family
DEPTH = "depth"  # 0 for loose files
PAGES = "pages"  # null where the format does not know
CHARACTERS = "characters"  # of its text, about; null where it has none
TEXT_STATES = (
    "text_states"  # that its text may be in; null: whatever it comes to. In others than `ok` terms may be missing
)
SYSTEM = "system"  # on the list of known software files
DUPLICATE_GROUP = "duplicate_group"  # row number of the first item with the same bytes; null when there is one only
TERMS = "terms"  # planted tokens and phrases that a search has to find in it
FAULT = "fault"  # kind of fault; null for sound items
EXCEPTIONS = "exceptions"  # codes
ANNOUNCED = "announced"  # containers: children announced; null where the format does not
FAILED = "failed"  # containers: children expected less children that have a row; null for others and unopened ones
CONTENT = "content"  # hash over its content, whatever compressor packed it
TEXT_OF = "text_of"  # loose documents: key of the one whose text it has, with a changed sentence here and there if near; else null
LANGUAGE = "language"  # of real text (profile languages), as ISO 639 or zh_Hans, zh_Hant; else null
