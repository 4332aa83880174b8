"""`make bench-review`: elapsed time of de-duplication, DeNIST and threads over a job of a million items;
near-duplicates and languages of texts, with recall of the planted ones.

The items are rows that a statement inserts, in an embedded database of their own: a fifth are containers' members with
30 per cent copies, two fifths messages in stores, two fifths attachments. The list is text, ten million SHA-256, among
them the hashes of one in a thousand items."""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from benchmarks.driver import Figure, Figures
from controller.databases import JobHandle, Jobs, alone, open_databases
from controller.labels.rules import surroundings_of
from core.records import Custodian, JobOptions, Limits
from core.services import embedded_services
from core.settings import Settings
from dataset_gen.corpus import generate_corpus
from dataset_gen.truth import manifest as m
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for
from review.dedupe.run import dedupe
from review.denist.run import denist
from review.kinds import By, Scope
from review.languages.identify import UNKNOWN, language_of
from review.near.bands import bands_for
from review.near.collected import collecting
from review.near.grouping import NO_GROUP, grouped
from review.near.shingles import shingles
from review.threads.run import thread
from sql.jobs import NewJob, create_job, get_job
from sql.session import Database

# ISO 639 codes of languages that the manifest names differently.
_ISO = {"nb": "no", "zh_Hans": "zh", "zh_Hant": "zh"}


class Quality(NamedTuple):
    """Recall and precision, from 0 to 1."""

    recall: float
    precision: float


class Detected(NamedTuple):
    """Numbers of texts by the result of language detection."""

    right: int
    wrong: int
    unknown: int


def pairs_found(truth: Mapping[str, Hashable], found: Mapping[str, Hashable]) -> Quality:
    """Compare pairs of documents with the same text with pairs in the same group; documents that are not in `truth` do
    not count."""
    wanted, got = _pairs(truth), _pairs({path: group for path, group in found.items() if path in truth})
    both = len(wanted & got)
    return Quality(both / len(wanted) if wanted else 1.0, both / len(got) if got else 1.0)


def _pairs(groups: Mapping[str, Hashable]) -> set[tuple[str, str]]:
    members: dict[Hashable, list[str]] = {}
    for path, group in sorted(groups.items()):
        members.setdefault(group, []).append(path)
    return {pair for each in members.values() for pair in combinations(each, 2)}


def near_quality(corpus: Path, scratch: Path, threshold: float) -> Quality:
    """Measure the quality over the loose documents of a corpus with near-copies; their texts are extracted in this
    process."""
    truth = _loose(corpus, m.TEXT_OF)
    with collecting(scratch, bands_for(threshold)) as texts:
        taken = []
        for rank, path in enumerate(sorted(truth)):
            found = shingles(_text(corpus, path))
            if len(found):
                texts.add(rank, 0, found)
                taken.append(path)
        principals = grouped(texts, threshold).principal.tolist()
    return pairs_found(truth, {path: own for path, own in zip(taken, principals, strict=True) if own != NO_GROUP})


def language_quality(corpus: Path) -> Detected:
    """Count results over the files of a corpus of profile `languages`; files without a text do not count."""
    truth = _loose(corpus, m.LANGUAGE)
    texts = {path: _text(corpus, path) for path in truth}
    return languages_detected(truth, {path: language_of(text) for path, text in texts.items() if text.strip()})


def _loose(corpus: Path, column: str) -> dict[str, str]:
    """Return a column of the manifest for loose files, by their paths."""
    rows = m.read_manifest(corpus).select([m.ORDINAL, m.DEPTH, column]).to_pylist()
    return {os.fsdecode(row[m.ORDINAL]): row[column] for row in rows if row[m.DEPTH] == 0 and row[column] is not None}


def _text(corpus: Path, path: str) -> str:
    source = MemorySource(os.fsencode(os.path.basename(path)), (corpus / "data" / path).read_bytes())
    try:
        return handler_for(identify(source)).text(source, Limits()).text
    except DocumentError:
        return ""


def languages_detected(truth: Mapping[str, str], found: Mapping[str, str]) -> Detected:
    """Count results; documents that are not in `truth` do not count, nor do those without a text."""
    results = Counter(
        "unknown" if found[path] == UNKNOWN else found[path] == _ISO.get(language, language)
        for path, language in truth.items()
        if path in found
    )
    return Detected(right=results[True], wrong=results[False], unknown=results["unknown"])


ITEMS, HASHES = 1_000_000, 10_000_000
_HASHES_AT_ONCE = 500_000

# Message n of store n / 1000 with attachments; those with n % 10 < 3 are copies of another custodian's.
_ITEMS = """
INSERT INTO item (id, job, parent, family_id, custodian, ordinal, depth, name, display, container_path, kind, container,
    media_type, bytes, sha256, content_hash, message_id_hash, location)
SELECT f.id, %(job)s::uuid, NULL, CASE WHEN f.kind = 'file' THEN f.id END, n %% 50, convert_to('p' || n, 'UTF8'), 0,
    convert_to('f' || n, 'UTF8'), 'f' || n, ARRAY['custodian' || n %% 50 || '/some/folder/of/many/f' || n], 'loose_file',
    f.kind <> 'file', 'text/plain', 1000, sha256(int8send(CASE WHEN n %% 10 < 3 THEN n / 10 ELSE n END)), NULL, NULL, NULL
FROM generate_series(1, %(loose)s) AS n
CROSS JOIN LATERAL (SELECT md5('loose' || n || %(job)s)::uuid AS id,
    CASE WHEN n <= %(stores)s THEN 'store' ELSE 'file' END AS kind) f;
"""
_MESSAGES = """
INSERT INTO item (id, job, parent, family_id, custodian, ordinal, depth, name, display, container_path, kind, container,
    media_type, bytes, sha256, content_hash, message_id_hash, location)
SELECT m.id, %(job)s::uuid, md5('loose' || m.store || %(job)s)::uuid, m.id, m.store %% 50, convert_to('#' || n * 1000, 'UTF8'), 1,
    '\\x6d', m.subject, ARRAY['custodian' || m.store %% 50 || '/some/folder/of/many/f' || m.store, m.subject], 'message',
    false, 'message/rfc822', 3000, sha256(int8send(-n)), sha256(int8send(m.same)),
    decode(md5('<' || m.same || '@mail.example>'), 'hex'), '\\x78'
FROM generate_series(1, %(messages)s) AS n
CROSS JOIN LATERAL (SELECT md5('mail' || n || %(job)s)::uuid AS id, 1 + n %% %(stores)s AS store,
    CASE WHEN n %% 10 < 3 THEN n / 10 ELSE n END AS same, 'Inbox/budget of week ' || n %% 500 AS subject) m;
"""
_ATTACHMENTS = """
INSERT INTO item (id, job, parent, family_id, custodian, ordinal, depth, name, display, container_path, kind, container,
    media_type, bytes, sha256, location)
SELECT md5('attached' || n || %(job)s)::uuid, %(job)s::uuid, m.id, m.id, m.custodian, '\\x2330', 2, '\\x61', 'a.doc',
    m.container_path || 'a.doc'::text, 'attachment', false, 'application/msword', 20000,
    sha256(int8send(CASE WHEN n %% 10 < 3 THEN n / 10 ELSE n END + (1::bigint << 40))), '\\x78'
FROM generate_series(1, %(messages)s) AS n JOIN item m ON m.id = md5('mail' || n || %(job)s)::uuid;
"""
_TEXTS = """
INSERT INTO item_text (item, job, state, characters, pages, metadata)
SELECT md5('mail' || n || %(job)s)::uuid, %(job)s::uuid, 'ok', 100, 1, jsonb_build_object('message_id', m.same || '@mail.example',
    'subject', 'Re: budget', 'date', '2024-01-02T08:00:00Z', 'reference_ids',
    jsonb_build_array(m.same - m.same %% 20 || '@mail.example', greatest(0, m.same - 1) || '@mail.example'))
FROM generate_series(1, %(messages)s) AS n
CROSS JOIN LATERAL (SELECT CASE WHEN n %% 10 < 3 THEN n / 10 ELSE n END AS same) m;
"""


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-review BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--hashes", type=int, default=HASHES)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=Path("bench-review.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    with tempfile.TemporaryDirectory(prefix="bench-review-", dir="/var/tmp") as place:
        _measure_texts(figures, Path(place), arguments.texts)
    if arguments.items:
        measure(figures, arguments.items, arguments.hashes)
    print()
    figures.show()


def measure(figures: Figures, items: int = ITEMS, hashes: int = HASHES) -> None:
    """Measure de-duplication, DeNIST and threads of so many items, against so many hashes."""
    with tempfile.TemporaryDirectory(prefix="bench-review-", dir="/var/tmp") as place:
        os.chmod(place, 0o711)
        settings = Settings(storage=Path(place) / "storage", scratch=Path(place) / "scratch")
        with embedded_services(settings, slots=2) as attached:
            (database,) = open_databases(attached)
            job = _job(database, items)
            listed = _list(Path(place) / "list.txt", database, job, hashes)
            _measure(figures, job, listed, items)
            database.dispose()


def _measure(figures: Figures, job: Jobs, hashes: Path, items: int) -> None:
    for by in By:

        def found(by: By = by) -> int:
            return dedupe([job], Scope.JOB, by).duplicates

        _timed(figures, f"dedupe {items:,} items by {by}", 30, job, found)
    _timed(figures, f"denist {items:,} items", 20, job, lambda: denist([job], [hashes]).system)
    _timed(figures, f"threads of {items:,} items", None, job, lambda: thread([job], subjects=False).threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    figures.add("peak memory of this process", Figure(value=peak, unit="MB"))


def _measure_texts(figures: Figures, place: Path, texts: int) -> None:
    """Measure the quality, and the time of grouping generated texts; reading texts from an index is not included."""
    corpora = {"near": (str(Path(__file__).with_name("near.toml")), 0.5), "languages": ("languages", 0.5)}
    for name, (profile, scale) in corpora.items():
        generate_corpus(place / name, profile, scale, 1, 1, _quietly)
    quality = near_quality(place / "near", place / "scratch", 0.8)
    for part, value in quality._asdict().items():
        figures.add(f"near-duplicates: {part}", Figure(value=100 * value, unit="%", target=95, at_most=False))
    detected = language_quality(place / "languages")
    note = f"{detected.right:,} right, {detected.wrong:,} wrong, {detected.unknown:,} unknown"
    figures.add("languages detected correctly", Figure(value=100 * detected.right / sum(detected), unit="%", note=note))
    dice = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(50_000)])
    drawn = np.zeros(120, np.int64)
    start = time.process_time()
    with collecting(place / "scratch", bands_for(0.8)) as collected:
        for number in range(texts):
            if number % 10:  # one in ten is the one before it with a changed word
                drawn = np.minimum(dice.zipf(1.3, 120), len(words)) - 1
            else:
                drawn[60] = number % len(words)
            collected.add(number, 0, shingles(" ".join(words[drawn])))
        found = int((grouped(collected, 0.8).principal >= 0).sum())
    seconds = time.process_time() - start
    note = f"{found:,} in groups; CPU seconds, generation of the texts included"
    figures.add(f"near-duplicates of {texts:,} texts of 120 words", Figure(value=seconds, unit="s", note=note))


def _quietly(_done: int, _total: int) -> None:
    """Report no progress of generated corpora."""


def _timed(figures: Figures, name: str, most: float | None, job: Jobs, work: Callable[[], int]) -> None:
    start, cpu, theirs = time.perf_counter(), time.process_time(), _server_seconds(job.home)
    found = work()
    seconds = time.perf_counter() - start
    here, there = time.process_time() - cpu, _server_seconds(job.home) - theirs
    note = f"{found:,} found; {here:.1f} CPU s here, {there:.1f} s in the database"
    figures.add(name, Figure(value=seconds, unit="s", target=most, at_most=True, note=note))


def _server_seconds(database: Database) -> float:
    """Return CPU seconds of the database's processes so far, ended ones included."""
    with database.transaction() as conn:
        postmaster = psutil.Process(conn.execute("SELECT pg_backend_pid()").scalar_one()).parent()
    if postmaster is None:
        raise RuntimeError("the database's first process has ended")
    ended = postmaster.cpu_times()
    seconds = ended.children_user + ended.children_system
    for process in postmaster.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds += times.user + times.system
    return float(seconds)


def _job(database: Database, items: int) -> Jobs:
    job = uuid.uuid4()
    custodians = [Custodian(number=n, name=b"custodian%d" % n) for n in range(50)]
    new = NewJob(
        id=job, name="bench", client="", project="", source=b"/", device=0, inode=0, storage=b"/",
        surroundings=surroundings_of(Settings(), b"/").to_json(), options=JobOptions(), custodians=custodians, tasks=[], workers=1, slots=1,
    )  # fmt: skip
    sizes = {"job": job.hex, "loose": items // 5, "stores": max(1, items // 10_000), "messages": items * 2 // 5}
    with database.transaction() as conn:
        create_job(conn, new)
        for statement in (_ITEMS, _MESSAGES, _ATTACHMENTS, _TEXTS):
            conn.execute(statement, sizes)
        conn.execute("UPDATE job SET state = 'completed', finished_at = now() WHERE id = %(job)s", {"job": job})
    with database.transaction() as conn:
        conn.raw.commit()  # VACUUM runs outside a transaction
        conn.raw.autocommit = True
        conn.execute("VACUUM ANALYZE")
        conn.raw.autocommit = False
    with database.transaction() as conn:
        return alone(JobHandle(database, get_job(conn, job)))


def _list(path: Path, database: Database, job: Jobs, hashes: int) -> Path:
    """Write random hashes, and among them those of one in a thousand items."""
    with database.transaction() as conn:
        query = "SELECT encode(sha256, 'hex') FROM item WHERE job = %(job)s AND hashtext(id::text) %% 1000 = 0"
        known = list(conn.execute(query, {"job": job.id}).scalars())
    dice = np.random.default_rng(1)
    with path.open("w") as file:
        file.writelines(f"{each}\n" for each in known)
        for start in range(len(known), hashes, _HASHES_AT_ONCE):
            digits = dice.bytes(32 * min(_HASHES_AT_ONCE, hashes - start)).hex("\n", 32)
            file.write(f"{digits}\n")
    return path


if __name__ == "__main__":
    main()
