"""Choices for a job in addition to the plain options (core.records.JobOptions), and the tuning options, which help and forms list apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import UsageError

DEFAULT_ZONE = "UTC"
FILER = "EMULATED FILER"  # how its label begins


@dataclass(frozen=True, slots=True, kw_only=True)
class FilerChoice:
    """The emulated filer a job runs on (core.filer); the default is none."""

    source: str = "none"  # a profile's name or the path of a file
    name: str = "none"
    scale: float = 1.0
    digest: str = ""  # filers with different numbers differ in it

    @property
    def label(self) -> str:
        """The first words of a result; empty when nothing is emulated."""
        return f"{FILER} {self.name}, scale 1/{self.scale:g}" if self.digest else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankNote:
    """Public facts about a job's password bank (core.passwords); the default is no bank."""

    count: int = 0  # passwords
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrChoice:
    """OCR of a job (worker.ocr) and its limits; the default is none."""

    languages: str = ""  # tesseract's names, joined by "+"; empty: there is no phase ocr
    pages: int = 200  # of one item; the others are omitted, and its text is `truncated`
    dpi: int = 300  # that a PDF's pages are rendered at …
    rendered_pixels: int = 18_000_000  # … or fewer, so that no page has more than this (A3 has 17.4 million)
    pixels: int = 40_000_000  # a picture with more is too large (A4 at 600 dpi has 34.8 million)
    page_seconds: float = 120.0  # for one page
    item_seconds: float = 1_800.0  # for all pages of one item
    memory_mb: int = 1_000  # private memory of the process that reads a page
    page_bytes: int = 16_000_000  # of tesseract's output for one page: some 60 for each word
    page_confidence: float = 50.0  # that tesseract must have in a page's letters on average, of 100, …
    word_confidence: float = 30.0  # … and in each word that is kept of such a page
    drawn: bool = False  # pictures are also made into pages, and not read as they are (processing jobs)
    colour: bool = False  # pages in colour …
    bilevel: bool = False  # … or in black and white

    @property
    def asked(self) -> bool:
        """Whether the job has a phase ocr."""
        return bool(self.languages)


MOST_SEED = 10**15  # below 2**53: exact in every reader of JSON
MOST_SECONDS = 366 * 86_400.0  # a year: the longest wait or measurement
DAY_SECONDS = 86_400.0
MOST_SCALE = 1e6  # of a corpus: 45 PB of the reference profile
MOST_BYTES = (1 << 63) - 1  # the largest number of a file size, a database's column and a C program
MOST_PASSWORDS = 10_000  # in a bank: each is tried on every encrypted item
MOST_OFFSET = 1e10  # seconds: for a clock that began in another century


TUNING = frozenset(
    (
        *("batch_files", "batch_mb", "fail_if", "most_tasks", "phase_slots", "reserve_slots", "split_mb", "task_order"),
        "window_factor",
        *(
            "charset",
            "cold",
            "csv_raw",
            "dispatch_seconds",
            "expansion_ratio",
            "filer_cache",
            "fill",
            "folder_files",
            "force",
            "not_empty",
        ),
        *("fsync", "index_streams", "item_seconds", "layout", "lease_seconds", "max_depth", "max_slots"),
        *(
            "min_seconds",
            "no_baseline",
            "null_memory",
            "parse_mb",
            "priority",
            "processes",
            "serve_port",
            "single_pass",
        ),
    )
)

DEFAULT_LANGUAGES = "eng"
MOST_LANGUAGES = 8  # each one costs memory, and time on every page
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{1,30}(?:/[A-Za-z0-9_]{2,30})?")  # eng, chi_sim, script/Latin: no path


def parse_languages(text: str) -> str:
    """Return the languages (`eng+deu`), each once, in their order, which matters. Raises UsageError for anything
    else."""
    names = list(dict.fromkeys(text.split("+")))
    wrong = next((name for name in names if not _LANGUAGE.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"--ocr-languages: {wrong!r} is not the name of a tesseract language; write eng or eng+deu",
            field="ocr_languages",
        )
    if len(names) > MOST_LANGUAGES:
        raise UsageError(
            f"--ocr-languages names {len(names)} languages; give at most {MOST_LANGUAGES}", field="ocr_languages"
        )
    return "+".join(names)


def ocr_choice(asked: bool, languages: str | None) -> OcrChoice:
    """The OCR choice that a job stores. Raises UsageError for unknown languages, and for languages without OCR."""
    if not asked:
        if languages is not None:
            raise UsageError("--ocr-languages requires --ocr", field="ocr_languages")
        return OcrChoice()
    return OcrChoice(languages=parse_languages(DEFAULT_LANGUAGES if languages is None else languages))
