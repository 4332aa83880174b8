"""Builder of any document of a corpus from its key alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dataset_gen import faults
from dataset_gen.formats import (
    archives,
    doc,
    eml,
    images,
    mbox,
    media,
    msg,
    odf,
    ooxml,
    pdf,
    plain,
    ppt,
    rtf,
    tnef,
    xls,
)
from dataset_gen.formats.pst import store
from dataset_gen.made import Made, Order
from dataset_gen.material.text import PHRASES, planted_token
from dataset_gen.mix import Profile
from dataset_gen.rng import Dice, derive, running_totals

BUILDERS: dict[str, Callable[[Order], Made]] = {
    "docx": ooxml.build_docx,
    "xlsx": ooxml.build_xlsx,
    "pptx": ooxml.build_pptx,
    "doc": doc.build,
    "xls": xls.build,
    "ppt": ppt.build,
    "pdf": pdf.build,
    "html": plain.build_html,
    "txt": plain.build_txt,
    "csv": plain.build_csv,
    "xml": plain.build_xml,
    "json": plain.build_json,
    "rtf": rtf.build,
    "odt": odf.build_odt,
    "ods": odf.build_ods,
    "vcf": mbox.build_vcf,
    "ics": mbox.build_ics,
    "log": plain.build_log,
    **{language: plain.builder(language) for language in plain.LANGUAGES},
    "jpg": images.build_jpeg,
    "png": images.build_png,
    "gif": images.build_gif,
    "svg": images.build_svg,
    "tif": images.build_tiff,
    "bmp": images.build_bmp,
    "webp": images.build_webp,
    "wav": media.build_wav,
    "mp3": media.build_mp3,
    "mp4": media.build_mp4,
    "m4a": media.build_m4a,
    "eml": eml.build,
    "msg": msg.build,
    "tnef": tnef.build,
    "mbox": mbox.build,
    "pst": store.build,
    "zip": archives.build_zip,
    "tar": archives.build_tar,
    "tgz": archives.build_tgz,
    "gz": archives.build_gz,
    "7z": archives.build_7z,
    "zip_mail": archives.build_zip_mail,
    **faults.BUILDERS,
}
CONTAINERS = frozenset({"mbox", "pst", "zip", "tar", "tgz", "gz", "7z", "zip_mail"})
WITH_TEXT = frozenset((
    "docx", "xlsx", "pptx", "doc", "xls", "ppt", "pdf", "html", "txt", "csv", "eml", "msg", "tnef", "xml", "json",
    "rtf", "odt", "ods", "vcf", "ics", "log", "svg",
    *plain.LANGUAGES,
))  # fmt: skip
FIRST = "first/"  # keys of documents that have terms for certain
SYSTEM = "system/"  # keys of files that do not depend on the corpus's seed
NEAR = "~"  # before the number of a near-duplicate
DEEPEST_ARCHIVE = 4  # items around an archive; deeper ones hold documents only
_CACHE_BYTES = 24_000_000


class Workshop:
    """Builder of one process; its state is caches only."""

    def __init__(self, profile: Profile, seed: int, scale: float) -> None:
        self.profile = profile
        self.seed = seed
        self.scale = scale
        self.shared_count = max(20, int(profile.duplicates.shared_documents * scale))
        self.languages = tuple(profile.languages), running_totals(tuple(profile.languages.values()))
        self._members = profile.choices("member")
        self._attached = profile.choices("attached")
        self._shared: dict[str, Made] = {}
        self._shared_bytes = 0

    def order(self, fmt: str, key: str, size: int, level: int = 0) -> Order:
        """Return an order with its own dice and the terms to plant.

        A key `X~N` is that of near-duplicate N of the document with key X. System files are the same in all corpora."""
        base, _, variant = key.partition(NEAR)
        variant, inside, rest = variant.partition("/")
        if key.startswith(SYSTEM):
            dice = Dice(derive(0, fmt, key))
            return Order(maker=self, dice=dice, key=key, size=size, terms=(), level=level)
        dice = Dice(derive(self.seed, fmt, base + inside + rest))
        dice.language = dice.weighted(*self.languages)
        dice.variant = int(variant or 0)
        terms = self.planted(dice, always=key.startswith(FIRST)) if fmt in WITH_TEXT else ()
        return Order(maker=self, dice=dice, key=key, size=size, terms=terms, level=level)

    def planted(self, dice: Dice, *, always: bool = False) -> tuple[str, ...]:
        """Return the terms of one text: mostly none, now and then a token or a phrase; with `always` both."""
        terms = []
        if dice.chance(self.profile.terms["token_share"]) or always:
            terms.append(planted_token(dice))
        if dice.chance(self.profile.terms["phrase_share"]) or always:
            terms.append(dice.pick(PHRASES))
        return tuple(terms)

    def document(self, fmt: str, key: str, size: int, level: int = 0) -> Made:
        """Build a document; shared ones are cached."""
        if not key.startswith("shared/"):
            return self._build(fmt, key, size, level)
        made = self._shared.get(key)
        if made is None:
            made = self._build(fmt, key, size, DEEPEST_ARCHIVE)
            self._shared[key] = made
            self._shared_bytes += len(made.data)
            while self._shared_bytes > _CACHE_BYTES and len(self._shared) > 1:
                oldest = next(iter(self._shared))
                self._shared_bytes -= len(self._shared.pop(oldest).data)
        return made

    def _build(self, fmt: str, key: str, size: int, level: int) -> Made:
        """Build the document, with the number of drawn characters if its builder does not count them."""
        order = self.order(fmt, key, size, level)
        made = BUILDERS[fmt](order)
        truth = made.truth
        if truth.characters is None and truth.pages is None and not truth.container and order.dice.characters:
            made = Made(made.data, replace(truth, characters=order.dice.characters))
        return made

    def shared(self, dice: Dice) -> tuple[str, str, int]:
        """Return format, key and size of one of the documents that occur in many places, some more often than
        others."""
        draw = dice.random()
        key = f"shared/{int(self.shared_count * draw * (1 + draw) / 2)}"
        own = Dice(derive(self.seed, "kind of", key))
        names, totals = self._attached
        fmt = own.weighted(names, totals)
        while fmt in CONTAINERS:
            fmt = own.weighted(names, totals)
        return fmt, key, self.profile.size_of(own, fmt, 300_000)

    def member(self, dice: Dice, key: str, level: int, largest: int) -> tuple[str, str, int]:
        """Return format, key and size of an archive's next member; a shared document has a key of its own."""
        if largest > 300_000 and dice.chance(self.profile.duplicates.shared_members):
            return self.shared(dice)
        return self._draw(dice, self._members, key, level, largest)

    def attachment(self, dice: Dice, key: str, largest: int) -> tuple[str, str, int]:
        """Return a message's next attachment; now and then a faulty one."""
        if dice.chance(self.profile.attached_fault):
            fault = dice.pick(faults.ATTACHABLE)
            return fault, key, faults.FILES[fault][1]
        if largest > 300_000 and dice.chance(self.profile.duplicates.shared_attachments):
            return self.shared(dice)
        return self._draw(dice, self._attached, key, 1, largest)

    def _draw(
        self, dice: Dice, choices: tuple[tuple[str, ...], tuple[float, ...]], key: str, level: int, largest: int
    ) -> tuple[str, str, int]:
        fmt = dice.weighted(*choices)
        while level >= DEEPEST_ARCHIVE and fmt in CONTAINERS:
            fmt = dice.weighted(*choices)
        return fmt, key, self.profile.size_of(dice, fmt, largest)


def extension(fmt: str) -> str:
    """Return the extension of files of a format."""
    if fmt in faults.FILES:
        return faults.FILES[fmt][0]
    return archives.EXTENSIONS.get(fmt, fmt)
