"""Mail stores as PST: letters in folders, and the truth about what has to come out of them.

with open(path, "w+b") as file:      # to be read too: the store is hashed once it is complete
        truth = write_store(letters, file)

`write_store` may be given any number of letters: memory does not grow with the store, but for the truth about its
messages. They come out folder by folder, depth first, so a message's ordinal is known only when all are written."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Iterable
from typing import IO

from dataset_gen.formats.eml import EPOCH, Letter, formed, notes
from dataset_gen.formats.mapi_mail import HEADERS, NOTE, RECEIPT, Details, crlf
from dataset_gen.formats.pst.writer import PstWriter
from dataset_gen.made import Made, Order, Placed, Truth, content_of
from dataset_gen.material.people import folder
from dataset_gen.rng import Dice, derive
from readers.mail_form import store_name
from readers.records import Kind

MEDIA_TYPE = "application/vnd.ms-outlook-pst"
_YEAR = 365 * 86_400

Path = tuple[str, ...]  # folders from the top


def folder_of(letter: Letter) -> Path:
    """Return the default folder of a message: a thread stays together, except for messages that were sent."""
    if derive(0, letter.key, "sent") % 5 == 0:
        return ("Sent Items",)
    thread = letter.key.rpartition("/")[0] or letter.key
    dice = Dice(derive(0, thread, "folder"))
    year = 2015 + (letter.when - EPOCH) // _YEAR
    draw = dice.random()
    if draw < 0.45:
        return ("Inbox",)
    if draw < 0.75:
        return ("Inbox", "Projects", folder(dice))
    return ("Archive", str(year), folder(dice)) if draw < 0.85 else ("Archive", str(year))


def write_store(letters: Iterable[Letter], file: IO[bytes], *, password: str | None = None) -> Truth:
    """Write a store into an empty file that can be written, read and sought."""
    left = iter(letters)
    first = list(itertools.islice(left, 1))
    key = hashlib.sha256(first[0].key.encode() if first else b"").digest()[:16]
    store = PstWriter(file, key=key, password=password)
    by_folder: dict[Path, list[tuple[bytes, Truth]]] = {}
    for letter in itertools.chain(first, left):
        made = formed(letter)
        message = made.message()
        head = message.data.partition(b"\n\n")[0].decode()
        path = folder_of(letter)
        message_class = RECEIPT if letter.receipt else NOTE.message_class
        details = Details(message_class=message_class, properties={HEADERS: crlf(f"{head}\n\n")})
        store.add(path, made.form, details)
        by_folder.setdefault(path, []).append((store_name(path, made.form.subject), message.truth))
    size = store.finish()
    file.flush()
    file.seek(0)
    in_order = [item for path in store.paths() for item in by_folder.get(path, ())]
    children = tuple(
        Placed(name=shown, ordinal=ordinal, kind=Kind.MESSAGE, truth=truth)
        for ordinal, (shown, truth) in enumerate(in_order)
    )
    return Truth(
        media_type=MEDIA_TYPE,
        size=size,
        sha256=hashlib.file_digest(file, "sha256").digest(),  # type: ignore[arg-type]  # it can be read
        content=content_of((), children),
        container=True,
        children=children,
        announced=len(children),
        failed=0,
    )


def build(order: Order, password: str | None = None) -> Made:
    """Build a small store of messages on their own."""
    file = io.BytesIO()
    truth = write_store(notes(order), file, password=password)
    return Made(file.getvalue(), truth)
