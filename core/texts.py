"""Texts that several modules have: help of options with other types or other defaults, each once; a number and its noun."""

from __future__ import annotations


def many(number: int, noun: str, plural: str | None = None) -> str:
    """1 worker, 2 workers."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


DATABASES = "Use this many database servers, each with a job on the same data set."
FILER_CACHE = "Assume this cache in the filer, such as 32GB; 0B: none.  [default: EDBENCH_FILER_CACHE]"
FORMAT = "Write this format."
FROM = "Predict from this earlier result."
MIN_SECONDS = "Label a point SHORT if a run takes less than this."
NAME = "Name the job."
OCR = "Read text in images and scanned pages with tesseract, as a separate phase."
OCR_LANGUAGES = "Use these tesseract languages, such as eng+deu."
OUT = "Write to DIR, which must be new or empty."
PATH = "Test this empty directory on the storage; repeatable."
PROCESSES = "Use this many processes.  [default: one per core]"
REMOVE = "Remove instead of adding or listing."
REPEATS = "Run each point N times; 5 or more are recommended."
SCALE = "Use this part of the profile, or a multiple; 1.0 of reference is 45 GB raw."
SEED = "Draw random values from this seed; the same seed gives the same data and order."
SHARD = "Distribute the custodians over the databases."
SLOTS = "Give each worker this many slots."
TIME_ZONE = "Assume this time zone for dates without one, such as Europe/Berlin."
TO = "Write to this file."
WORKERS = "Use this many workers."
YES = "Do not ask before removing."
