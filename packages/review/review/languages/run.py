"""Detects the language of each text of finished jobs, and stores it as key `language` of its item's metadata
(docs/review.md).

There is one transaction for each database; after a kill the keys are the old or the new ones. A text that is extracted
again (requeue) loses the key with the rest of its metadata."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from controller.databases import Jobs
from controller.findings import ReviewKind
from core.document import Document
from core.settings import Settings
from review.languages.identify import UNKNOWN, language_of
from review.looked_at import looked_at, note, transactions
from review.report import Report
from review.statements import REVIEW
from review.texts import texts_of

_ROWS_AT_ONCE = 5_000


class LanguagesFound(Document):
    """The outcome of detecting languages, over all of its jobs."""

    jobs: tuple[str, ...]
    texts: Annotated[int, Field(description="Items with a text.")]
    unknown: Annotated[int, Field(description="Of these, items whose text is too short or of uncertain language.")]
    by: Annotated[
        dict[str, int], Field(description="Items by the language's code in ISO 639, the most frequent first.")
    ]


LANGUAGES = Report(ReviewKind.LANGUAGES, LanguagesFound)


def languages(references: Sequence[Jobs], settings: Settings) -> LanguagesFound:
    """Detect the languages of these jobs' texts; earlier findings are replaced. Raises UsageError, RunFailed if a shard
    is not on the storage root, StorageFault, DatabaseFault."""
    jobs = looked_at(references)
    counts: Counter[str] = Counter()
    with transactions(jobs) as sites:
        for site in sites:
            for job in site.jobs:
                texts = texts_of(job.handle, settings)
                detected = ((item, language_of(text)) for item, text in texts if text and not text.isspace())
                while some := list(itertools.islice(detected, _ROWS_AT_ONCE)):
                    items, found = zip(*some, strict=True)
                    REVIEW.put_languages(site.conn, job=job.handle.id, items=list(items), languages=list(found))
                    counts.update(found)
        outcome = LanguagesFound(
            jobs=tuple(str(job.handle.id) for job in jobs),
            texts=counts.total(),
            unknown=counts[UNKNOWN],
            by=dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
        )
        note(sites, ReviewKind.LANGUAGES, {}, outcome.to_json())
    return outcome
