"""Near-duplicates and languages in a job that workers discovered, and what asks for them afterwards."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from finished_job import Copy

from benchmarks.review import near_quality
from controller.browse.item_filter import ItemFilter, in_language
from controller.browse.pages import items_page
from controller.custody import actions_of
from controller.databases import Jobs, alone
from controller.search.answers import Wanted, count_all
from controller.search.evaluate import Evaluation
from controller.search.meaning import refuse_unknown_filter
from controller.search.named import save_search, tag_found
from controller.search.opened import opened_index
from controller.search.report import hit_report, listed
from core.errors import UsageError
from core.job_types import JobType
from dataset_gen.corpus import generate_corpus
from dataset_gen.truth import manifest as m
from review.kinds import Scope
from review.languages.run import LANGUAGES, languages
from review.near.run import NEAR_DUPLICATES, near
from review.near.shingles import jaccard, shingles
from review.texts import texts_of
from search.language import parse

pytest.importorskip("production")

from production.choosing import pick
from production.options import ProductionChoice

_NEAR_PROFILE = Path(__file__).parents[4] / "benchmarks" / "near.toml"


def test_planted_near_duplicates_are_found(tmp_path: Path) -> None:
    generate_corpus(tmp_path / "corpus", str(_NEAR_PROFILE), 0.1, 5, 1, lambda done, total: None)
    truth = [text for text in m.read_manifest(tmp_path / "corpus")[m.TEXT_OF].to_pylist() if text is not None]
    assert len(truth) > len(set(truth)) + 10
    quality = near_quality(tmp_path / "corpus", tmp_path / "scratch", 0.8)
    assert quality.recall >= 0.95
    assert quality.precision >= 0.95


def test_near_duplicates_are_stored_and_asked_for(copy: Copy) -> None:
    """Each row's similarity is that of the two texts; a text in no group is as near to no principal. A second run gives
    the same, filters go by it, and a job that was processed again is refused."""
    job, databases = alone(copy.handle), [copy.handle.database]
    with pytest.raises(UsageError, match=r"was not searched for near-duplicates yet; run `edbench review near-dup "):
        NEAR_DUPLICATES.last(job.each, databases)
    found = near([job], Scope.JOB, 0.8, copy.settings)
    rows = list(NEAR_DUPLICATES.stream(job.each, found))
    assert [list(row) for row in rows] == [NEAR_DUPLICATES.fields] * len(rows)
    sets = {str(item): shingles(text) for item, text in texts_of(copy.handle, copy.settings) if len(shingles(text))}
    for row in rows:
        assert row["similarity"] == jaccard(sets[row["item"]], sets[row["principal"]]) >= 0.8
    grouped_items = {row["item"] for row in rows}
    principals = {row["principal"] for row in rows}
    for item in sorted(sets.keys() - grouped_items)[::10]:
        assert all(jaccard(sets[item], sets[own]) < 0.8 for own in principals)
    assert (found.groups, found.near, found.compared) == (len(principals), len(rows) - len(principals), len(sets))
    assert {row["principal"]: row["members"] for row in rows if not row["near"]} == _sizes(rows)
    assert near([job], Scope.JOB, 0.8, copy.settings) == found
    assert list(NEAR_DUPLICATES.stream(job.each, found)) == rows
    assert NEAR_DUPLICATES.last(job.each, databases) == found
    assert len(_listed(job, ItemFilter(near=True))) == found.near > 0
    (_, action) = actions_of(job.each)[-2:]
    reported = {"scope": "job", "threshold": 0.8, "jobs": [str(copy.handle.id)]}
    assert (action.action, action.details) == ("near", reported | {"found": action.details["found"]})
    assert action.details["found"]["near"] == found.near  # what came of it, and of which jobs
    with pytest.raises(UsageError, match=r"the threshold is 0.3; it must be from 0.5"):
        near([job], Scope.JOB, 0.3, copy.settings)
    copy.run("UPDATE job SET finished_at = now()")
    with pytest.raises(
        UsageError,
        match=r"processed again after the search for near-duplicates; run `edbench review near-dup .*` again",
    ):
        NEAR_DUPLICATES.last(job.each, databases)


def _sizes(rows: Iterable[dict[str, object]]) -> dict[object, int]:
    sizes: dict[object, int] = {}
    for row in rows:
        sizes[row["principal"]] = sizes.get(row["principal"], -1) + 1
    return sizes


def _listed(job: Jobs, wanted: ItemFilter) -> list[str]:
    return [row["id"] for row in items_page(job.each, wanted, after=None, limit=10_000)]


def test_languages_are_metadata_that_is_asked_for(copy: Copy) -> None:
    """By `items` and in a query, whole: `e` is no language. What metadata said before it still says, and a text that is taken anew
    has none."""
    job = alone(copy.handle)
    before = dict(copy.run("SELECT item::text, metadata::text FROM item_text"))
    found = languages([job], copy.settings)
    after = dict(copy.run("SELECT item::text, metadata::text FROM item_text"))
    reported = {item: json.loads(str(text)).get("language") for item, text in after.items()}
    assert {k: json.loads(str(v)) | {"language": reported[k]} for k, v in before.items() if reported[k]} == {
        k: json.loads(str(v)) for k, v in after.items() if reported[k]
    }
    assert found.by["en"] > found.texts / 2
    assert sum(found.by.values()) == found.texts == sum(language is not None for language in reported.values())
    assert len(_listed(job, ItemFilter(conditions=in_language("en")))) == found.by["en"]
    with opened_index(copy.handle, copy.settings) as index:
        asked = {code: int(Evaluation(index).mask(parse(f"language:{code}")).sum()) for code in ("en", "EN", "e")}
    assert asked == {"en": found.by["en"], "EN": found.by["en"], "e": 0}
    assert languages([job], copy.settings) == found
    assert LANGUAGES.last(job.each, [copy.handle.database]) == found


def test_languages_without_a_report_are_not_asked_for(copy: Copy) -> None:
    """Nothing would be found, and nothing excluded: refused in a search, a list of terms, a tag, a production and a filter, at first
    and when items were processed again since; known, each answers."""
    job = alone(copy.handle)
    opened = partial(opened_index, settings=copy.settings)

    def asks(query: str) -> list[Callable[[], object]]:
        choice = ProductionChoice(type=JobType.EXPORT, query=query, out="x", prefix="X")
        return [
            lambda: count_all(job.each, opened, Wanted(query=query, limit=1)),
            lambda: hit_report(job.each, opened, listed([query], "list")),
            lambda: tag_found(job.each, opened, "odd", query),
            lambda: pick(job.each, copy.settings, choice),
            lambda: refuse_unknown_filter(job.each, ItemFilter(conditions=in_language("en"))),
        ]

    def refused(message: str) -> None:
        for query in ("language:en", "* NOT language:de", "saved:theirs"):
            for ask in asks(query):
                with pytest.raises(UsageError, match=message):
                    ask()

    save_search(job.each, "theirs", "the language:en")
    refused(
        rf"languages were not detected in job {copy.handle.id} yet; run `edbench review languages {copy.handle.id}`"
    )
    languages([job], copy.settings)
    for ask in (each for query in ("language:en", "* NOT language:de", "saved:theirs") for each in asks(query)):
        ask()
    copy.run("UPDATE job SET finished_at = now()")
    refused(
        rf"processed again since its languages were detected; run `edbench review languages {copy.handle.id}` again"
    )
