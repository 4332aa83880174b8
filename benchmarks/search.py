"""`make bench-search`: searches of a job of a million items, by clock; medians, with the processor's load beside.

The index is written by the engine's own writer, in shards and segments as a job's: a segment for 500 documents (a task of phase
index), 32 of them in a shard. Documents are generated: words drawn by Zipf's law from a vocabulary, the same for the same
seed. The ledger is filled with as many items and their owners. Both are kept in --home for the next time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from benchmarks.bare_job import bare_job
from benchmarks.figures import Figure, Figures
from controller.browse.search import search_all
from controller.databases import JobHandle, open_databases
from controller.search.answers import Wanted, answer_all
from controller.search.opened import Indexes
from controller.search.report import hit_report
from controller.search.term_lists import listed
from core.places import index_location
from core.services import embedded_services
from core.settings import Settings
from sql.jobs import get_job
from worker.indexes.base import META, SEGMENTS, IndexDocument
from worker.indexes.registry import new_writer

_SEGMENT, _SHARD = 500, 32  # documents, segments
_WORDS, _VOCABULARY = 120, 50_000  # of a document; words that there are
_OWNER = "0" * 32
_FAMILY = 4  # items
_CUSTODIANS = 20


def main() -> None:
    """Measure; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench-search BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=50, help="pairs of terms")
    parser.add_argument("--home", type=Path, default=Path(".bench-cache/search"))
    parser.add_argument("--output", type=Path, default=Path("bench-search.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    home = arguments.home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    settings = Settings(storage=home / "storage", scratch=home / "scratch")
    with embedded_services(settings, slots=2) as attached:
        (database,) = open_databases(attached)
        job = _prepared(home, settings, database, arguments.items)
        with database.transaction() as conn:
            handle = JobHandle(database, get_job(conn, job))
        _measure(figures, handle, settings, arguments.rounds)
        database.dispose()
    print()
    figures.show()


def _prepared(home: Path, settings: Settings, database: object, items: int) -> uuid.UUID:
    """The job, made where --home has none of that size."""
    note = home / "job.json"
    if note.exists() and (known := json.loads(note.read_text()))["items"] == items:
        return uuid.UUID(known["job"])
    with database.transaction() as conn:  # type: ignore[attr-defined]
        job = bare_job(conn, "search")
    per_shard = _SEGMENT * _SHARD
    parts = [(settings.storage, job, n, min(per_shard, items - n * per_shard)) for n in range(-(-items // per_shard))]
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for number, (shard, documents) in enumerate(pool.imap(_write_shard, parts)):
            with database.transaction() as conn:  # type: ignore[attr-defined]
                _fill_ledger(conn, job, shard, number, documents)
            print(f"\r{number + 1} of {len(parts)} shards, {time.monotonic() - began:.0f} s", end="", flush=True)
    print()
    with database.transaction() as conn:  # type: ignore[attr-defined]
        conn.exec_driver_sql("UPDATE job SET state = 'completed', finished_at = now() WHERE id = %(job)s", {"job": job})
    with database.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as conn:  # type: ignore[attr-defined]
        conn.exec_driver_sql("VACUUM ANALYZE")
    note.write_text(json.dumps({"items": items, "job": str(job)}))
    return job


def _item(number: int) -> uuid.UUID:
    """Spread as hashes are."""
    high, low = np.random.SeedSequence(number).generate_state(2, np.uint64).tolist()
    return uuid.UUID(int=high << 64 | low)


def _texts(seed: int, documents: int) -> Iterator[str]:
    """Zipf's law with exponent 1; the word of rank r is `w` and r in base 36."""
    ranks = np.arange(1, _VOCABULARY + 1)
    share = np.cumsum(1 / ranks)
    words = np.array([f"w{np.base_repr(rank, 36).lower()}" for rank in ranks], dtype=object)
    drawn = np.searchsorted(share, np.random.default_rng(seed).random((documents, _WORDS)) * share[-1])
    return (" ".join(words[row]) for row in drawn)


def _write_shard(part: tuple[Path, uuid.UUID, int, int]) -> tuple[uuid.UUID, int]:
    storage, job, number, documents = part
    shard = uuid.uuid4()
    target = storage / os.fsdecode(index_location(job, shard))
    target.mkdir(parents=True)
    first, segments, meta = number * _SEGMENT * _SHARD, [], {}
    texts_left = _texts(number, documents)
    for n, texts in enumerate(iter(lambda: list(itertools.islice(texts_left, _SEGMENT)), [])):
        local = target.with_name(f"{shard.hex}.{n}")
        writer = new_writer("tantivy", local)
        for m, text in enumerate(texts):
            item = first + n * _SEGMENT + m
            custodian = f"custodian {item // _FAMILY % _CUSTODIANS}"
            writer.add(IndexDocument(item=_item(item), owner=_OWNER, body=text, custodian=custodian, type="text/plain"))
        built = writer.finish()
        for name in built.files:
            (local / name).rename(target / name)
        meta = json.loads((local / META).read_text())
        segments += meta[SEGMENTS]
        writer.close()
        for rest in local.iterdir():
            rest.unlink()
        local.rmdir()
    (target / META).write_text(json.dumps(meta | {SEGMENTS: segments}))
    return shard, documents


def _fill_ledger(conn: Connection, job: uuid.UUID, shard: uuid.UUID, number: int, documents: int) -> None:
    first = number * _SEGMENT * _SHARD
    numbers = range(first, first + documents)
    given = {
        "job": job,
        "shard": shard,
        "location": index_location(job, shard),
        "documents": documents,
        "owner": _OWNER,
        "items": [_item(n) for n in numbers],
        "families": [_item(n - n % _FAMILY) for n in numbers],
        "custodians": [n // _FAMILY % _CUSTODIANS for n in numbers],
        "paths": [f"custodian/{n:09}.txt" for n in numbers],
    }
    if not number:
        conn.exec_driver_sql(
            "INSERT INTO custodian SELECT %(job)s, n, convert_to('custodian ' || n, 'UTF8'), 'custodian ' || n"
            f" FROM generate_series(0, {_CUSTODIANS - 1}) n",
            given,
        )
    conn.exec_driver_sql(
        "INSERT INTO shard (id, job, engine, location, documents)"
        " VALUES (%(shard)s, %(job)s, 'tantivy', %(location)s, %(documents)s)",
        given,
    )
    conn.exec_driver_sql(
        "INSERT INTO item (id, job, family_id, custodian, ordinal, depth, name, display, container_path, kind, container,"
        " media_type, bytes) SELECT id, %(job)s, family, custodian, convert_to(path, 'UTF8'), 0, convert_to(path, 'UTF8'),"
        " path, ARRAY[path], 'loose_file', false, 'text/plain', 700"
        " FROM unnest(%(items)s::uuid[], %(families)s::uuid[], %(custodians)s::int[], %(paths)s::text[])"
        " AS given (id, family, custodian, path)",
        given,
    )
    conn.exec_driver_sql(
        "INSERT INTO item_index (item, job, shard, owner) SELECT id, %(job)s, %(shard)s, %(owner)s"
        " FROM unnest(%(items)s::uuid[]) AS given (id)",
        given,
    )


def _measure(figures: Figures, handle: JobHandle, settings: Settings, rounds: int) -> None:
    rng = np.random.default_rng(1)
    indexes = Indexes(settings)
    figures.add("open the index", _figure([_timed(lambda: _open(indexes, handle))]))
    ranks = np.exp(rng.uniform(0, np.log(_VOCABULARY), (rounds, 2))).astype(int)  # common and rare alike
    pairs = [[f"w{np.base_repr(rank, 36).lower()}" for rank in pair] for pair in ranks.tolist()]
    kinds = {"two terms": "{} {}", "two terms, either": "{} OR {}", "a phrase": '"{} {}"', "a w/5 b": "{} w/5 {}"}
    for kind, form in kinds.items():
        times = [_timed(partial(search_all, [handle], indexes.of, form.format(*p), 20)) for p in pairs]
        figures.add(f"{kind}: 20 best and how many", _figure(times, target=0.3 if kind == "two terms" else None))
    for kind, form in (("wildcard", "w{}*"), ("fuzzy", "w{}~1")):
        some = [form.format(np.base_repr(rank, 36).lower()) for rank in ranks[:10, 0].tolist()]
        times = [_timed(partial(search_all, [handle], indexes.of, q, 20)) for q in some]
        figures.add(f"{kind}: 20 best and how many", _figure(times))
    wanted = [Wanted(query=" ".join(pair), limit=50) for pair in pairs]
    times = [_timed(partial(answer_all, [handle], indexes.of, w)) for w in wanted]
    figures.add("two terms as the page asks, with facets", _figure(times))
    terms = listed([f"{a} OR {b}" for a, b in pairs] + [f'"{a} {b}"' for a, b in pairs], "terms")
    first = _timed(lambda: hit_report([handle], indexes.of, terms))
    again = _timed(lambda: hit_report([handle], indexes.of, terms))
    figures.add(f"hit report of {len(terms)} terms, first", _figure([first]))
    figures.add(f"hit report of {len(terms)} terms, again", _figure([again]))
    indexes.close()


def _open(indexes: Indexes, handle: JobHandle) -> None:
    with indexes.of(handle):
        pass


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by clock, and of this process's processors."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - cpu


def _figure(times: list[tuple[float, float]], note: str = "", target: float | None = None) -> Figure:
    clock = [each for each, _ in times]
    spread = f"median of {len(clock)}, {min(clock):.3f} to {max(clock):.3f}; " if len(clock) > 1 else ""
    cpu = f"{statistics.median(each for _, each in times):.3f} s of processors; load {os.getloadavg()[0]:.1f} {note}"
    return Figure(value=statistics.median(clock), unit="s", target=target, at_most=True, note=f"{spread}{cpu}".strip())


if __name__ == "__main__":
    main()
