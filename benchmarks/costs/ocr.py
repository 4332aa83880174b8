"""What a page costs phase ocr: processor seconds of one process, and how many of the words it finds.

`python -m benchmarks.costs.ocr [PAGES]`. The pages are made here: A4 at 300 dpi, 43 lines of English words in a common typeface,
once as a PDF of pictures, once as a TIFF; and photographs without any word, from the generator.
"""

from __future__ import annotations

import io
import re
import resource
import sys
import time
import uuid

from PIL import Image, ImageDraw, ImageFont

from core.clock import SystemClock
from core.records import Limits, OcrChoice
from dataset_gen.formats.order import Order
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import BUILDERS, Workshop
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.registry import handler_for
from worker.items.findings import Findings
from worker.items.loose import loose_row
from worker.items.texts import take_text
from worker.ocr.engine import find_engine
from worker.ocr.reading import Reader
from worker.slots.breadcrumb import NoBreadcrumb

_SIZE, _MARGIN, _LINE, _LINES, _LETTERS = (2480, 3508), 250, 70, 43, 44  # of a page, in pixels
_WORDS = re.compile(r"[A-Za-z]{3,}")


def _prose(pages: int) -> list[str]:
    """English words of the generator's, enough for so many pages."""
    shop = Workshop(load_profile("reference"), 5, 0.01)
    dice = Dice(derive(5, "ocr", 0))
    dice.language = "en"
    made = BUILDERS["txt"](Order(maker=shop, dice=dice, key="ocr", size=4_000 * pages, terms=())).data
    return _WORDS.findall(made.decode())


def _pages(words: list[str], number: int) -> tuple[list[Image.Image], set[str]]:
    font = ImageFont.load_default(size=_LETTERS)
    out, written, at = [], set[str](), 0
    for _ in range(number):
        image = Image.new("L", _SIZE, 255)
        draw = ImageDraw.Draw(image)
        for line in range(_LINES):
            some = words[at : at + 9] or words[:9]
            at = at + 9 if at + 9 < len(words) else 0
            draw.text((_MARGIN, _MARGIN + line * _LINE), " ".join(some), font=font, fill=20)
            written |= set(some)
        out.append(image)
    return out, written


def _read(name: str, data: bytes, wanted: set[str], pages: int) -> None:
    source = MemorySource(b"x", data)
    media_type = identify(source, None)
    item = loose_row(uuid.uuid4(), 0, b"x", media_type=media_type, size=len(data), sha256=bytes(32))
    _, row = take_text(item, source, handler_for(media_type), Limits(), Findings())
    choice, clock = OcrChoice(languages="eng"), SystemClock()
    reader = Reader(engine=find_engine(), choice=choice, limits=Limits(), clock=clock, enter=NoBreadcrumb().enter)
    before, own = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time()
    text, _ = reader.read(item, row, source, Findings())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    own = time.process_time() - own
    found = len(wanted & set(_WORDS.findall(text)))
    words = f", {found / len(wanted):.1%} of {len(wanted):,} different words" if wanted else f", {len(text)} characters"
    print(f"{name}: {theirs / pages:.2f} s a page in tesseract, {own / pages:.2f} s beside it in the slot{words}")


def main(pages: int) -> None:
    """Read them all, and print a line each."""
    images, words = _pages(_prose(pages), pages)
    for kind, options in (("TIFF", {"compression": "tiff_lzw"}), ("PDF", {"resolution": 300.0, "quality": 80})):
        out = io.BytesIO()
        images[0].save(out, kind, save_all=True, append_images=images[1:], **options)
        _read(f"{kind}, dense pages", out.getvalue(), words, pages)
    shop = Workshop(load_profile("reference"), 5, 0.01)
    for number in range(3):
        dice = Dice(derive(5, "jpg", number))
        photo = BUILDERS["jpg"](Order(maker=shop, dice=dice, key=f"ocr/{number}", size=200_000, terms=()))
        _read("JPEG, photograph", photo.data, set(), 1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
