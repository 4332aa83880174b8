"""Findings in a job that workers discovered, beside the manifest of its corpus."""

from collections import Counter
from pathlib import Path

from finished_job import Copy, Finished

from controller.databases import alone
from dataset_gen.truth import manifest as m
from review.dedupe.run import dedupe
from review.denist.run import denist
from review.kinds import By, Scope
from review.threads.run import thread

_MESSAGES = ("message/rfc822", "message/x-emlx", "application/vnd.ms-outlook")  # compared by their fields


def test_findings_are_those_of_the_manifest(copy: Copy, finished: Finished, tmp_path: Path) -> None:
    """Every item whose bytes another has is in a group of equals, and a document that nobody shares is in none; what the
    generator took from its system files is flagged; a thread has the messages that refer to each other."""
    truth = m.read_manifest(finished.corpus).to_pylist()
    job = alone(copy.handle)

    def paths(rows: list[dict[str, object]]) -> Counter[str]:
        return Counter(" / ".join(row[m.CONTAINER_PATH]) for row in rows)  # type: ignore[arg-type]

    documents = [row for row in truth if not row[m.CONTAINER] and row[m.MEDIA_TYPE] not in _MESSAGES]
    found = dedupe([job], Scope.JOB, By.ITEM)
    in_groups = copy.run(
        "SELECT array_to_string(i.container_path, ' / ') FROM duplicate d JOIN item i ON i.id = d.item"
        " WHERE NOT i.media_type = ANY(%(messages)s)",
        messages=list(_MESSAGES),
    )
    wanted = paths([row for row in documents if row[m.DUPLICATE_GROUP] is not None])
    assert wanted
    assert Counter(str(path) for (path,) in in_groups) == wanted
    assert 0 < found.groups <= found.copies < found.compared < found.items == len(truth)

    system = {row[m.SHA256].hex() for row in truth if row[m.SYSTEM]}
    (tmp_path / "list").write_text("\n".join(sorted(system)))
    flagged = denist([job], [tmp_path / "list"])
    assert flagged.system == sum(row[m.SYSTEM] for row in truth) > 0

    threads = thread([job], subjects=False)
    assert threads.messages > threads.threads > 0
    assert threads.largest > 2
    assert threads.by["references"] > 0
