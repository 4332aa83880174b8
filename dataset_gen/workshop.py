"""Makes any document of a corpus from its key alone."""

from __future__ import annotations

from collections.abc import Callable

from dataset_gen import faults
from dataset_gen.formats import archives, docx, eml, gif, jpeg, mbox, pdf, plain, png, pptx, xlsx
from dataset_gen.formats.order import Order
from dataset_gen.made import Made
from dataset_gen.profile import Profile
from dataset_gen.rng import Dice, derive
from dataset_gen.text import PHRASES, planted_token

BUILDERS: dict[str, Callable[[Order], Made]] = {
    "docx": docx.build,
    "xlsx": xlsx.build,
    "pptx": pptx.build,
    "pdf": pdf.build,
    "html": plain.build_html,
    "txt": plain.build_txt,
    "csv": plain.build_csv,
    "jpg": jpeg.build,
    "png": png.build,
    "gif": gif.build,
    "eml": eml.build,
    "mbox": mbox.build,
    "zip": archives.build_zip,
    "tar": archives.build_tar,
    "tgz": archives.build_tgz,
    "gz": archives.build_gz,
    **faults.BUILDERS,
}
CONTAINERS = frozenset({"mbox", "zip", "tar", "tgz", "gz"})
WITH_TEXT = frozenset({"docx", "xlsx", "pptx", "pdf", "html", "txt", "csv", "eml"})
FIRST = "first/"  # keys of documents that have terms for certain
DEEPEST_ARCHIVE = 4  # items around an archive; deeper ones hold documents only
_CACHE_BYTES = 48_000_000
_SMALLEST = 300


class Workshop:
    """One process's maker; its state is caches only."""

    def __init__(self, profile: Profile, seed: int, scale: float) -> None:
        self.profile = profile
        self.seed = seed
        self.scale = scale
        self.shared_count = max(20, int(profile.duplicates["shared_documents"] * scale))
        self._members = profile.choices("member")
        self._attached = profile.choices("attached")
        self._shared: dict[str, Made] = {}
        self._shared_bytes = 0

    def order(self, fmt: str, key: str, size: int, level: int = 0) -> Order:
        """An order with its own dice and the terms that are to be planted."""
        dice = Dice(derive(self.seed, fmt, key))
        terms = self.planted(dice, always=key.startswith(FIRST)) if fmt in WITH_TEXT else ()
        return Order(maker=self, dice=dice, key=key, size=size, terms=terms, level=level)

    def planted(self, dice: Dice, *, always: bool = False) -> tuple[str, ...]:
        """The terms of one text: mostly none, now and then a token or a phrase; with `always` both."""
        terms = []
        if dice.chance(self.profile.terms["token_share"]) or always:
            terms.append(planted_token(dice))
        if dice.chance(self.profile.terms["phrase_share"]) or always:
            terms.append(dice.pick(PHRASES))
        return tuple(terms)

    def document(self, fmt: str, key: str, size: int, level: int = 0) -> Made:
        """The document; shared ones are kept for the next who asks."""
        if not key.startswith("shared/"):
            return BUILDERS[fmt](self.order(fmt, key, size, level))
        made = self._shared.get(key)
        if made is None:
            made = BUILDERS[fmt](self.order(fmt, key, size, DEEPEST_ARCHIVE))
            self._shared[key] = made
            self._shared_bytes += len(made.data)
            while self._shared_bytes > _CACHE_BYTES and len(self._shared) > 1:
                oldest = next(iter(self._shared))
                self._shared_bytes -= len(self._shared.pop(oldest).data)
        return made

    def shared(self, dice: Dice) -> tuple[str, str, int]:
        """Format, key and size of one of the documents that lie in many places, some more often than others."""
        draw = dice.random()
        key = f"shared/{int(self.shared_count * draw * draw)}"
        own = Dice(derive(self.seed, "kind of", key))
        names, totals = self._attached
        fmt = own.weighted(names, totals)
        while fmt in CONTAINERS:
            fmt = own.weighted(names, totals)
        return fmt, key, self.size_of(own, fmt, 300_000)

    def member(self, dice: Dice, key: str, level: int, largest: int) -> tuple[str, str, int]:
        """An archive's next member; see `Maker`."""
        if largest > 300_000 and dice.chance(self.profile.duplicates["shared_members"]):
            return self.shared(dice)
        return self._draw(dice, self._members, key, level, largest)

    def attachment(self, dice: Dice, key: str, largest: int) -> tuple[str, str, int]:
        """A message's next attachment; now and then a faulty one."""
        if dice.chance(self.profile.faults["attached_fault"]):
            fault = dice.pick(faults.ATTACHABLE)
            return fault, key, faults.FILES[fault][1]
        if largest > 300_000 and dice.chance(self.profile.duplicates["shared_attachments"]):
            return self.shared(dice)
        return self._draw(dice, self._attached, key, 1, largest)

    def _draw(
        self, dice: Dice, choices: tuple[tuple[str, ...], tuple[float, ...]], key: str, level: int, largest: int
    ) -> tuple[str, str, int]:
        fmt = dice.weighted(*choices)
        while level >= DEEPEST_ARCHIVE and fmt in CONTAINERS:
            fmt = dice.weighted(*choices)
        return fmt, key, self.size_of(dice, fmt, largest)

    def size_of(self, dice: Dice, fmt: str, largest: int) -> int:
        """Lognormal, cut off."""
        mix = self.profile.formats[fmt]
        return dice.size(mix.median, mix.sigma, _SMALLEST, max(_SMALLEST, min(mix.largest, largest)))


def extension(fmt: str) -> str:
    """What a file of that format ends with."""
    if fmt in faults.FILES:
        return faults.FILES[fmt][0]
    return archives.EXTENSIONS.get(fmt, fmt)
