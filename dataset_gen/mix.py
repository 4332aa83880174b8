"""A profile as it is used: everything that determines a corpus except seed and scale.

Bounds and choices of a profile's file are in the annotations (`core.toml_table.TomlTable.record`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from core.toml_table import Among, Share, Within
from dataset_gen.rng import Dice, running_totals

MAIL_STYLES = ("store", "folders", "maildir", "files", "pst", "msg")
_SMALLEST = 300  # bytes of a document
KINDS = ("zeros", "random", "scientific", "backup", "vm-image")  # of series


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatMix:
    """One format: how often it is taken in each place, and its sizes (lognormal, sigma in octaves)."""

    loose: float = 0.0
    member: float = 0.0
    attached: float = 0.0
    median: Annotated[float, Within(1)]
    sigma: Annotated[float, Within(high=6.0)] = 1.5
    largest: Annotated[int, Within(_SMALLEST)] = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CustodianMix:
    """One custodian: share of the raw bytes, and how mail is kept."""

    weight: Annotated[float, Within(1e-6)] = 1.0
    mail: Annotated[str, Among(MAIL_STYLES)] = "files"
    # The share of a custodian's raw bytes; None: as much as `shares.mail` gives.
    mail_share: Annotated[float | None, Within(high=1.0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Totals that the corpus must reach; 0 leaves one to chance."""

    items_per_gb: float = 0.0
    pages_per_item: float = 0.0
    expansion: Annotated[float, Within(high=20.0)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MailMix:
    """Threads and their messages; shares are of all messages unless stated otherwise."""

    thread_lengths: tuple[tuple[int, int, float], ...] = ((1, 1, 1.0),)  # from, to, weight
    body_median: Annotated[float, Within(40)] = 700
    body_sigma: Annotated[float, Within(high=6.0)] = 1.4
    attachment_share: Share = 0.235
    attachment_counts: tuple[float, ...] = (1.0,)  # weight of 1, 2, 3 …
    html_share: Share = 0.45
    inline_picture_share: Share = 0.0
    forward_share: Share = 0.0  # carry the message before them
    receipt_share: Share = 0.0  # answered by a read receipt
    calendar_share: Share = 0.0
    tnef_share: Share = 0.0  # attachments in a winmail.dat
    disclaimer_share: Share = 0.0
    copies: tuple[float, ...] = (1.0,)  # weight of a thread that 1, 2, 3 … custodians have


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """Shares of files and attachments that are copies of others."""

    shared_attachments: Share = 0.0  # attachments that are one of the shared documents
    shared_members: Share = 0.0
    shared_documents: int = 0  # number of different ones at scale 1.0
    loose_copies: Share = 0.0  # loose documents that copy another one, of any custodian
    near_copies: Share = 0.0  # loose texts that are another one with a few changed sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Directories, names and times of loose files."""

    files_a_folder: Annotated[float, Within(1.0)] = 10.0
    deepest: Annotated[int, Within(1, 20)] = 8
    raw_names: Share = 0.0  # loose files whose name is not UTF-8
    years: Annotated[float, Within(0.1, 40.0)] = 9.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Data for storage tests: files of one kind, some in generations that build on each other."""

    kind: Annotated[str, Among(KINDS)]
    share: Share  # of the raw bytes
    file_bytes: Annotated[int, Within(4096)]
    generations: Annotated[int, Within(1, 1000)] = 1
    # A full copy each so many generations, the others hold what changed.
    full_every: Annotated[int, Within(1, 1000)] = 1
    change_rate: Share = 0.0  # share of the blocks that change from one generation to the next
    used_share: Share = 1.0  # of a machine's image; the rest are zeros


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that determines the bytes except seed and scale."""

    name: str
    version: int
    about: str
    raw_bytes: int  # at scale 1.0
    digest: str  # SHA-256 of what its file contains, comments and order left out
    custodians: tuple[CustodianMix, ...]
    targets: Targets = Targets()
    shares: dict[str, float] = field(default_factory=dict)  # of the raw bytes: mail, containers by format
    types: dict[str, float] = field(default_factory=dict)  # of all items, by media type
    formats: dict[str, FormatMix] = field(default_factory=dict)
    mail: MailMix = MailMix()
    languages: dict[str, float] = field(default_factory=lambda: {"en": 1.0})
    duplicates: Duplicates = Duplicates()
    language_files: float = 0.0  # share of the raw bytes: real text in many languages and charsets
    system_files: float = 0.0  # share of the loose files
    tree: Tree = Tree()
    terms: dict[str, float] = field(default_factory=dict)
    faults: dict[str, float] = field(default_factory=dict)  # share of the loose files, by kind
    attached_fault: float = 0.0  # share of the attachments
    series: tuple[Series, ...] = ()

    def mail_shares(self) -> tuple[float, ...]:
        """Return the share of mail in each custodian's raw bytes."""
        usual = self.shares.get("mail", 0.0)
        return tuple(usual if c.mail_share is None else c.mail_share for c in self.custodians)

    def mail_share(self) -> float:
        """Return the share of mail in all raw bytes."""
        parts = zip(self.custodians, self.mail_shares(), strict=True)
        return sum(c.weight * share for c, share in parts) / sum(c.weight for c in self.custodians)

    def choices(self, place: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Return the formats with a weight as `loose`, `member` or `attached`, and the running totals of their
        weights."""
        taken = [(name, getattr(mix, place)) for name, mix in self.formats.items() if getattr(mix, place) > 0]
        return tuple(name for name, _ in taken), running_totals(tuple(weight for _, weight in taken))

    def size_of(self, dice: Dice, fmt: str, largest: int) -> int:
        """Return a size for a document of that format: lognormal, cut off."""
        mix = self.formats[fmt]
        return dice.size(mix.median, mix.sigma, _SMALLEST, max(_SMALLEST, min(mix.largest, largest)))
