"""Generator speed: a corpus to a scratch directory, and each format on its own."""

from __future__ import annotations

import io
import shutil
import time
from pathlib import Path
from typing import Any

from dataset_gen.corpus import generate_corpus
from dataset_gen.material.mail import letters, thread
from dataset_gen.material.text import LANGUAGES, foreign, prose
from dataset_gen.profile import load_profile
from dataset_gen.rng import Even, size_at
from dataset_gen.workshop import Workshop
from dataset_gen.writer import SINGLES, STORES


def _silent(done: int, total: int) -> None:
    """No progress is shown."""


def measure(scratch: Path, scale: float, processes: int, seed: int = 1) -> dict[str, Any]:
    """Make a corpus under `scratch` (removed again); raw MB/s and what was realised."""
    directory = scratch / f"generator-{processes}"
    started = time.monotonic()
    try:
        made = generate_corpus(directory, "reference", scale, seed, processes, _silent)
        seconds = time.monotonic() - started
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return {
        "mb_per_s": made["raw_bytes"] / 1e6 / seconds,
        "seconds": seconds,
        "raw_bytes": made["raw_bytes"],
        "items": made["items"],
        "items_per_raw_gb": made["items_per_raw_gb"],
        "expansion": made["expansion"],
    }


def measure_formats(seconds_each: float = 0.5) -> dict[str, float]:
    """MB/s of each format in one process, so that the slow ones are seen; mail as it lies in each kind of store."""
    profile = load_profile("reference")
    shop = Workshop(profile, 1, 0.01)
    prose()
    for language in LANGUAGES[1:]:
        foreign(language)
    for fmt in profile.formats:  # pools are made once a process
        for number in range(4):
            shop.document(fmt, f"bench/pool {number}", 150_000)
    out = {}
    for fmt in profile.formats:
        sizes = Even(0.5)
        mix = profile.formats[fmt]
        started, size, number = time.monotonic(), 0, 0
        while time.monotonic() - started < seconds_each:
            wanted = size_at(sizes.next(), mix.median, mix.sigma, 300, min(mix.largest, 3_000_000))
            size += len(shop.document(fmt, f"bench/{number}", wanted).data)
            number += 1
        out[fmt] = size / 1e6 / (time.monotonic() - started)
    for name, write in {**STORES, **SINGLES}.items():
        out[f"mail: {name}"] = _measure_mail(shop, write, seconds_each)
    return out


def _measure_mail(shop: Workshop, write: Any, seconds: float) -> float:
    """MB/s of threads written one way, attachments made anew."""
    started, size, number = time.monotonic(), 0, 0
    while time.monotonic() - started < seconds:
        talks = [thread(shop, 0, number + n, 3_000_000) for n in range(20)]
        made = [letter for talk in talks for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches))))]
        number += 20
        if write in STORES.values():
            size += write(iter(made), io.BytesIO()).size
        else:
            size += sum(len(write(letter).data) for letter in made)
    return size / 1e6 / (time.monotonic() - started)
