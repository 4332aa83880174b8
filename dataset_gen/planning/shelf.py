"""One custodian's part of a corpus while it is planned: his folders, the paths that are taken, his bytes so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataset_gen.formats.mail.eml import EPOCH
from dataset_gen.material.people import folder
from dataset_gen.mix import Tree
from dataset_gen.rng import Dice

STORE = "store"  # an mbox of threads
LETTER = "letter"  # one message of a thread as an eml file
MAILDIR = "maildir"  # one message of a thread as a file of a Maildir
PST = "pst-store"  # a PST of threads
NOTE = "msg-letter"  # one message of a thread as a msg file
SYSTEM_FILE = "system"
SERIES = "series"
LANGUAGE = "language"  # a piece of real text in some charset
ITEM_BYTES = 60_000  # raw bytes for each loose file, about, for the numbers of rare things
_YEAR = 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSpec:
    """One loose file to be written; its bytes follow from the corpus's seed and these."""

    path: bytes  # relative to DIR/data, custodian first
    fmt: str
    key: str
    size: int  # bytes, about
    mtime_ns: int
    letters: tuple[tuple[int, int, tuple[int, ...]], ...] = ()  # owner, thread number, positions
    largest: int = 0  # largest attachment, as the threads were drawn with


@dataclass(slots=True)
class Shelf:
    """A custodian's part."""

    number: int
    name: str
    target: int  # raw bytes
    style: str
    dice: Dice
    tree: Tree
    paths: set[bytes] = field(default_factory=set)
    folders: list[str] = field(default_factory=lambda: [""])
    planned: int = 0  # bytes, about

    def place(self, name: str, ext: str, where: str | None = None) -> bytes:
        """A path that is not taken yet, in the folder `where`; by default in a folder of the tree."""
        if where is None:
            where = self._folder()
        stem = name.replace("/", "-")
        for number in range(1, 100_000):
            shown = stem if number == 1 else f"{stem} ({number})"
            full = f"{shown}.{ext}" if ext else shown
            path = "/".join(filter(None, (self.name, where, full))).encode("utf-8", "surrogateescape")
            if path not in self.paths:
                self.paths.add(path)
                return path
        raise AssertionError(f"too many files named {stem}")

    def _folder(self) -> str:
        """One of the folders; now and then a new one."""
        if self.dice.chance(1 / self.tree.files_a_folder):
            parent = self.dice.pick(self.folders)
            if parent.count("/") < self.tree.deepest:
                new = f"{parent}/{folder(self.dice)}".lstrip("/")
                if new not in self.folders[-50:]:
                    self.folders.append(new)
        return self.dice.pick(self.folders)

    def time(self) -> int:
        """A time in nanoseconds; recent years have more files than early ones."""
        back = self.dice.random() * self.dice.random()
        seconds = int(self.tree.years * _YEAR * (1 - back))
        return (EPOCH + seconds) * 1_000_000_000 + self.dice.below(1_000_000_000)
