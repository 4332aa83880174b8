"""What each index engine costs: text in, published segments out, one process."""

from __future__ import annotations

import random
import shutil
import time
import uuid
from pathlib import Path

from core.settings import INDEX_ENGINES
from worker.indexes.base import IndexDocument
from worker.indexes.registry import new_writer

WORDS_A_DOCUMENT = 800
BATCH = 500  # documents a writer, as in a task of the index phase
_VOCABULARY = 30_000


def measure(directory: Path, megabytes: float = 4.0) -> dict[str, dict[str, float]]:
    """By engine: MB of text a second, and bytes of index for each byte of text. The same documents for all."""
    texts = _texts(int(megabytes * 1e6))
    size = sum(len(text.encode()) for text in texts)
    out = {}
    for engine in INDEX_ENGINES:
        home = directory / engine
        home.mkdir(parents=True)
        start = time.monotonic()
        published = 0
        for first in range(0, len(texts), BATCH):
            writer = new_writer(engine, home / str(first))
            for number, text in enumerate(texts[first : first + BATCH], first):
                writer.add(IndexDocument(item=uuid.UUID(int=number), owner="1:1", body=text, subject=text[:60]))
            published += sum((home / str(first) / name).stat().st_size for name in writer.finish().files)
            writer.close()
        seconds = time.monotonic() - start
        out[engine] = {"mb_per_s": size / 1e6 / seconds, "expansion": published / size}
        shutil.rmtree(home)
    return out


def _texts(size: int) -> list[str]:
    """Text with a natural spread of words (Zipf), from a fixed seed."""
    chance = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(chance.choices(letters, range(26, 0, -1), k=chance.randint(2, 11))) for _ in range(_VOCABULARY)]
    weights = [1 / (rank + 3) for rank in range(_VOCABULARY)]
    out: list[str] = []
    made = 0
    while made < size:
        out.append(" ".join(chance.choices(words, weights, k=WORDS_A_DOCUMENT)))
        made += len(out[-1])
    return out
