"""Facts of a corpus, measured from its manifest: totals, hashes, and the actual distributions."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from dataset_gen.mix import Profile
from dataset_gen.planning.tally import pages_of
from dataset_gen.truth import manifest as m

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_SIZES_KEPT = 20_000  # of each media type, evenly thinned out beyond that
_STEPS = 12  # steps of a size histogram: powers of 4 from 256 bytes


class _Sizes:
    """Sizes of one media type: count, sum, largest, and quantiles from a thinned-out sample."""

    def __init__(self) -> None:
        self.count = self.total = self.largest = 0
        self._kept: list[int] = []
        self._every = 1

    def add(self, size: int) -> None:
        self.count += 1
        self.total += size
        self.largest = max(self.largest, size)
        if self.count % self._every == 0:
            self._kept.append(size)
            if len(self._kept) > _SIZES_KEPT:
                self._kept = self._kept[::2]
                self._every *= 2

    def to_json(self) -> dict[str, Any]:
        ordered = sorted(self._kept) or [0]
        quantiles = {f"p{q * 100:g}": ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in _QUANTILES}
        return {"items": self.count, "bytes": self.total, "largest": self.largest, **quantiles}


class Facts:
    """Facts from the parts of a manifest, added in order; `description` returns the content of `dataset.json` about
    them."""

    def __init__(self) -> None:
        self.raw = self.extracted = self.pages = self.items = self.duplicates = self.system = 0
        self._counts: dict[str, Counter[str]] = {n: Counter() for n in ("kinds", "faults", "exceptions")}
        self._depths: Counter[int] = Counter()
        self._folders: Counter[int] = Counter()
        self._custodians: Counter[str] = Counter()
        self._sizes: dict[str, _Sizes] = defaultdict(_Sizes)
        self._histogram: Counter[int] = Counter()
        self._attachments: Counter[int] = Counter()  # of messages, by number of children
        self._attached_bytes = self._message_bytes = self._doubled_bytes = 0
        self._terms: Counter[str] = Counter()  # media types of items with planted terms
        self._digests = bytearray()
        self._contents = bytearray()

    def add(self, table: pa.Table) -> None:
        """Count one part, as it is in the manifest."""
        first = self.items
        messages: dict[int, int] = {}
        for at, row in enumerate(m.iterate(table.drop_columns([m.CONTAINER_PATH])), start=first):
            self._item(row, at)
            if row[m.MEDIA_TYPE] in ("message/rfc822", "application/vnd.ms-outlook"):
                messages[at] = 0
                self._message_bytes += row[m.BYTES]
            if row[m.PARENT] in messages:
                messages[row[m.PARENT]] += 1
                self._attached_bytes += row[m.BYTES]
        self.items += table.num_rows
        self._attachments.update(messages.values())

    def _item(self, row: m.Row, at: int) -> None:
        self._counts["kinds"][row[m.KIND]] += 1
        self._counts["exceptions"].update(row[m.EXCEPTIONS])
        if row[m.FAULT]:
            self._counts["faults"][row[m.FAULT]] += 1
        if row[m.TERMS]:
            self._terms[row[m.MEDIA_TYPE]] += 1
        self._depths[row[m.DEPTH]] += 1
        self.pages += pages_of(row)
        self.system += row[m.SYSTEM]
        self._sizes[row[m.MEDIA_TYPE]].add(row[m.BYTES])
        group = row[m.DUPLICATE_GROUP]
        self.duplicates += group is not None
        if row[m.DEPTH]:
            self.extracted += row[m.BYTES]
            return
        self.raw += row[m.BYTES]
        self._doubled_bytes += row[m.BYTES] if group is not None and group != at else 0
        self._histogram[min(_STEPS, max(0, (row[m.BYTES].bit_length() - 7) // 2))] += 1
        self._folders[row[m.ORDINAL].count(b"/")] += 1
        self._custodians[row[m.CUSTODIAN]] += row[m.BYTES]
        self._digests += hashlib.sha256(row[m.ORDINAL] + b"\0" + row[m.SHA256]).digest()
        self._contents += hashlib.sha256(row[m.ORDINAL] + b"\0" + row[m.CONTENT]).digest()

    def description(
        self, profile: Profile, scale: float, blocks: dict[str, Any], threads: Counter[int]
    ) -> dict[str, Any]:
        """Totals, distributions and the two hashes; `blocks` is the result of `Blocks`."""
        raw, items = self.raw, self.items
        return {
            "items": items,
            "loose_files": self._depths[0],
            "raw_bytes": raw,
            "discovered_bytes": raw + self.extracted,
            "pages": self.pages,
            "expansion": round((raw + self.extracted) / raw, 4) if raw else 1.0,
            "items_per_raw_gb": round(items / raw * 1e9, 1) if raw else 0.0,
            "pages_per_item": round(self.pages / items, 3) if items else 0.0,
            "duplicates": self.duplicates,
            "system_files": self.system,
            "custodians": dict(sorted(self._custodians.items())),
            "depths": {str(depth): count for depth, count in sorted(self._depths.items())},
            **{name: dict(sorted(counter.items())) for name, counter in self._counts.items()},
            "media_types": {name: sizes.count for name, sizes in sorted(self._sizes.items())},
            "distributions": self._distributions(blocks, threads),
            "wanted": {
                "raw_bytes": int(profile.raw_bytes * scale),
                "items_per_raw_gb": profile.targets.items_per_gb,
                "pages_per_item": profile.targets.pages_per_item,
                "expansion": profile.targets.expansion,
                "types": {name: round(share, 6) for name, share in profile.types.items()},
            },
            "content_hash": hash_of(self._contents),
            "hash": hash_of(self._digests),
        }

    def _distributions(self, blocks: dict[str, Any], threads: Counter[int]) -> dict[str, Any]:
        lengths = sorted(self._attachments.items())
        return {
            "sizes_by_type": {name: sizes.to_json() for name, sizes in sorted(self._sizes.items())},
            "loose_file_sizes": {str(4**step * 64): count for step, count in sorted(self._histogram.items())},
            "folder_depths": {str(depth): count for depth, count in sorted(self._folders.items())},
            "children_a_message": {str(number): count for number, count in lengths},
            "thread_lengths": {str(length): count for length, count in sorted(threads.items())},
            "attachments_share_of_message_bytes": _ratio(self._attached_bytes, self._message_bytes),
            "duplicate_share_of_items": _ratio(self.duplicates, self.items),
            "doubled_share_of_raw_bytes": _ratio(self._doubled_bytes, self.raw),
            "items_with_planted_terms": dict(sorted(self._terms.items())),
            "blocks": blocks,
        }


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def hash_of(digests: bytes | bytearray) -> str:
    """Return SHA-256 over the sorted digests of files, each over path, NUL and the file's hash; they are given as one
    string of 32 bytes each."""
    words = np.frombuffer(digests, dtype=">u8").reshape(-1, 4)
    order = np.lexsort((words[:, 3], words[:, 2], words[:, 1], words[:, 0]))
    return hashlib.sha256(words[order].tobytes()).hexdigest()
