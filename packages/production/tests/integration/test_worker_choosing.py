"""Which items a production takes: whole families, without what is withheld, copies of what is taken, or siblings as parents."""

import hashlib
import uuid
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from produced import csv_rows, filer, handle, produce
from taskbench import TaskBench
from unpacking import make_zip

from controller.custody import actions_of
from controller.databases import JobHandle, alone
from controller.jobs.figures import production_lines
from controller.jobs.jobs import cancel_job
from controller.search.named import tag_found, tag_items
from controller.search.opened import opened_index
from core.errors import UsageError
from core.job_types import JobType
from core.records import JobOptions
from production.check import check
from production.choosing import production_figures
from production.options import DPI
from production.verify import verify_production

pytest.importorskip("review")

from review.dedupe.run import dedupe
from review.denist.run import denist
from review.kinds import By, Scope

Parts = Mapping[str, str | bytes | EmailMessage]


def mail(subject: str, parts: Parts) -> EmailMessage:
    """A message with attachments."""
    made = EmailMessage()
    made["Subject"], made["From"], made["Message-ID"] = (
        subject,
        "ann@example.org",
        f"<{subject.split()[0]}@example.org>",
    )
    made.set_content(f"This is about the {subject}.\n")
    for name, part in parts.items():
        if isinstance(part, EmailMessage | str):
            made.add_attachment(part, filename=name)
        else:
            made.add_attachment(part, maintype="application", subtype="zip", filename=name)
    return made


class Found:
    """A discovery of some files, and jobs that take its items."""

    def __init__(self, bench: TaskBench, files: Mapping[str, str | EmailMessage]) -> None:
        self.bench = bench
        for old in bench.source.iterdir():
            old.unlink()
        for name, data in files.items():
            whole = bytes(data) if isinstance(data, EmailMessage) else data.encode()
            (bench.source / name).write_bytes(whole)
        bench.job = uuid.uuid4()
        bench.create()
        assert bench.run().startswith("completed")
        self.handle = self.of(bench.job)
        self.opened = partial(opened_index, settings=bench.context.settings)

    def of(self, job: uuid.UUID) -> JobHandle:
        """As it is now."""
        return handle(self.bench.database, job)

    def item(self, *path: str) -> uuid.UUID:
        """By its path."""
        sql = "SELECT id FROM item WHERE job = %(j)s AND container_path = %(p)s"
        return uuid.UUID(str(self.bench.value(sql, j=self.handle.id, p=list(path))))

    def tag(self, tag: str, *path: str) -> None:
        """One item, as on its page."""
        tag_items([self.handle], tag, [self.item(*path)])

    def create(
        self, *others: JobHandle, kind: JobType = JobType.EXTRACTION, images: JobHandle | None = None, **asked: Any
    ) -> JobHandle:
        """A job of that kind, with a prefix of its own."""
        number = self.bench.value("SELECT count(*) FROM job")
        if images is None:
            asked["prefix"] = f"P{number}-"
        chosen = {"out": str(self.bench.home / f"out {number}"), "prefix": "EDB"} | asked
        return produce(self.bench.context.settings, [self.handle, *others], kind, images, **chosen)

    def taken(self, job: JobHandle) -> list[str]:
        """The names of its items, in the order of their numbers."""
        sql = (
            "SELECT i.container_path[cardinality(i.container_path)] FROM production_item p JOIN item i ON i.id = p.item"
            " WHERE p.job = %(j)s ORDER BY p.number"
        )
        return [row[0] for row in self.bench.rows(sql, j=job.id)]

    def takes(self, *others: JobHandle, **asked: Any) -> list[str]:
        """What a job takes that is asked so."""
        return self.taken(self.create(*others, **asked))

    def run(self, job: JobHandle) -> tuple[JobHandle, Path]:
        """To its end; where it wrote."""
        self.bench.job = job.id
        assert self.bench.run().startswith("completed")
        return self.of(job.id), Path(job.job.options.of_type.out)


Discovered = Callable[[Mapping[str, str | EmailMessage]], Found]


@pytest.fixture
def discovered(task_bench: TaskBench) -> Discovered:
    """Makes a discovery of these files."""
    return partial(Found, task_bench)


def _kept(found: Found) -> None:
    """Nothing of a job that was refused is left."""
    assert found.bench.rows("SELECT 1 FROM job WHERE type <> 'discovery'") == []
    assert not [path for path in found.bench.home.glob("out */*") if path.is_file()]


def _mails() -> dict[str, str | EmailMessage]:
    return {
        "a alone.txt": "the budget alone",
        "m.eml": mail("budget of March", {"pears.txt": "pears and plums", "plan.txt": "a counsel wrote this"}),
        "z last.txt": "the budget once more",
    }


def test_what_is_withheld_takes_its_family_along(discovered: Discovered) -> None:
    """Of a family whose attachment alone has the tag nothing is taken, with families or without, by a query, by a tag or of
    everything; how many items that are stands in the job and in its chain of custody."""
    found = discovered(_mails())
    found.tag("privileged", "m.eml", "plan.txt")
    tag_found([found.handle], found.opened, "hot", "budget")
    for asked in ({}, {"query": "budget"}, {"tag": "hot"}, {"query": "budget OR pears", "families": False}):
        job = found.create(withhold=("privileged",), **asked)
        assert found.taken(job) == ["a alone.txt", "z last.txt"], asked
        choice = job.job.options.of_type
        assert (choice.items, choice.withheld) == (2, 2 if "families" in asked else 3)
        reported = actions_of([job])[0].details
        assert (reported["withhold"], reported["withheld"]) == (["privileged"], choice.withheld)
    with pytest.raises(UsageError, match="all 3 chosen items are withheld"):
        found.create(query="pears", withhold=("privileged",))
    whole = found.create(query="pears")
    assert found.taken(whole) == ["m.eml", "pears.txt", "plan.txt"]
    assert whole.job.options.of_type.withheld == 0


def test_what_a_query_excludes_by_a_tag_does_not_come_back_with_its_family(discovered: Discovered) -> None:
    """The job is refused and says what it is; with families that have the tag whole, or without families, it is made. What
    words exclude comes back."""
    found = discovered(_mails())
    found.tag("privileged", "m.eml", "plan.txt")
    asked = "budget NOT tag:privileged"
    with pytest.raises(
        UsageError, match=r"^1 item \(m.eml / plan.txt\): excluded by a tag .* --withhold TAG"
    ) as refused:
        found.create(query=asked)
    assert refused.value.field == "query"
    _kept(found)
    assert found.takes(query=asked, families=False) == ["a alone.txt", "m.eml", "z last.txt"]
    assert found.takes(query=asked, withhold=("privileged",)) == ["a alone.txt", "z last.txt"]
    assert "plan.txt" in found.takes(query="budget NOT counsel")
    tag_found([found.handle], found.opened, "privileged", "tag:privileged", families=True)
    assert found.takes(query=asked) == ["a alone.txt", "z last.txt"]


def test_a_tag_that_no_item_has_is_refused(discovered: Discovered) -> None:
    """Excluded, it would exclude nothing: in a query, of a production or of a tag; as a tag, or one that is withheld."""
    found = discovered(_mails())
    found.tag("privileged", "m.eml", "plan.txt")
    shown = "no item has the tag 'Privileged'; the tags are privileged"
    for field, asked in (
        ("query", {"query": "budget NOT tag:Privileged"}),
        ("query", {"query": "budget AND (pears OR (plums NOT tag:Privileged))"}),
        ("tag", {"tag": "Privileged"}),
        ("withhold", {"withhold": ("privileged", "Privileged")}),
    ):
        with pytest.raises(UsageError, match=shown) as refused:
            found.create(**asked)
        assert refused.value.field == field
    _kept(found)
    with pytest.raises(UsageError, match=shown):
        tag_found([found.handle], found.opened, "mine", "budget NOT tag:Privileged")


def test_a_query_is_not_put_together_with_a_tag_as_text(discovered: Discovered) -> None:
    found = discovered(_mails())
    found.tag("hot", "a alone.txt")
    assert found.takes(query="budget OR pears", tag="hot") == ["a alone.txt"]
    with pytest.raises(UsageError, match="this bracket has no opening bracket"):
        found.create(query="budget) OR (pears", tag="hot")


def test_items_and_texts_of_the_other_engine(task_bench: TaskBench, discovered: Discovered) -> None:
    task_bench.options = JobOptions(index_engine="whoosh")
    found = discovered(_mails())
    tag_found([found.handle], found.opened, "mine", "pears")
    family = ["m.eml", "pears.txt", "plan.txt"]
    for asked, wanted in (
        ({"query": "pears"}, family),
        ({"query": "pears", "families": False}, ["pears.txt"]),
        ({"tag": "mine", "query": "pears OR once"}, family),
        ({}, ["a alone.txt", *family, "z last.txt"]),
    ):
        _, out = found.run(found.create(**asked))
        listed = csv_rows(out / "metadata.csv")
        assert [row["name"] for row in listed] == wanted
        assert all((out / row["text"]).read_text() for row in listed)


def _copies() -> dict[str, str | EmailMessage]:
    return dict.fromkeys(("anna.txt", "boris.txt", "clara.txt"), "the same words") | {"other.txt": "words"}


def test_a_copy_is_left_out_only_where_its_original_is_taken(discovered: Discovered) -> None:
    found = discovered(_copies())
    dedupe([alone(found.handle)], Scope.JOB, By.FAMILY)
    for families in (True, False):
        takes = partial(found.takes, originals=True, families=families)
        assert takes() == ["anna.txt", "other.txt"]
        assert takes(query="name:boris") == ["boris.txt"]
        assert takes(query="name:boris OR name:clara") == ["boris.txt"]
        assert takes(query="name:anna OR name:clara") == ["anna.txt"]
    found.tag("privileged", "anna.txt")
    assert found.takes(withhold=("privileged",)) == ["boris.txt", "clara.txt", "other.txt"]
    job = found.create(withhold=("privileged",), originals=True)
    assert found.taken(job) == ["other.txt"]
    assert job.job.options.of_type.withheld == 3


def test_what_equals_a_withheld_item_is_withheld_in_families_that_differ(discovered: Discovered) -> None:
    """A finding of families knows nothing of such an attachment, and with `originals` it must not go out. Without, it is told. What
    has no bytes, and a message of which nothing is known, equals nothing."""
    advice, trace = "attorney advice: settle for nine\n", "Received: by mail.example; {} Jan 2001 00:00:00 +0000\n\n\n"
    mails = {
        "deal.eml": mail("deal", {"priv.txt": advice, "ok.txt": "the deal"}),
        "fw.eml": mail("fw", {"advice.txt": advice}),
    }
    files = {
        "loose.txt": advice,
        "own.txt": "own",
        "nil": "",
        "none": "",
        "v.eml": trace.format(1),
        "w.eml": trace.format(2),
    } | mails
    found = discovered(files)
    dedupe([alone(found.handle)], Scope.JOB, By.FAMILY)
    for path in (("deal.eml", "priv.txt"), ("nil",), ("v.eml",)):
        found.tag("privileged", *path)
    job = found.create(withhold=("privileged",), originals=True)
    assert found.taken(job) == ["none", "own.txt", "w.eml"]
    assert (job.job.options.of_type.withheld, job.job.options.of_type.equal) == (8, 0)
    job = found.create(withhold=("privileged",))
    assert found.taken(job) == ["fw.eml", "advice.txt", "loose.txt", "none", "own.txt", "w.eml"]
    assert job.job.options.of_type.equal == 2


def test_a_tag_that_is_given_while_a_job_goes_on_is_reported(discovered: Discovered) -> None:
    """It had chosen its items before. Whoever tags hears of it, and so does whoever looks at the job; of a tag that it does not go
    by, of one that nothing got, and of a job that has ended nobody does."""
    found = discovered(_mails())
    found.tag("privileged", "z last.txt")
    job = found.create(withhold=("privileged",))

    def reported() -> int:
        with found.bench.database.transaction() as conn:
            figures = production_figures(conn, found.of(job.id))
        assert figures is not None
        return figures.tag_changes

    again = [found.item("z last.txt")]
    assert tag_items([found.handle], "privileged", again).unaware == []
    assert (tag_items([found.handle], "other", again).unaware, reported()) == ([], 0)
    assert tag_items([found.handle], "privileged", [found.item("m.eml")]).unaware == [job.id]
    assert reported() == 1
    cancel_job(job)
    assert tag_items([found.handle], "privileged", [found.item("a alone.txt")]).unaware == []
    assert reported() == 2
    found.bench.rows("DELETE FROM job WHERE id = %(j)s RETURNING id", j=found.handle.id)
    assert reported() == 0  # what is known of its tags has gone with it


def test_copies_whose_original_is_withheld_since_pages_were_made_are_reported(discovered: Discovered) -> None:
    """They have no pages, and would be taken now."""
    found = discovered(
        {"m.eml": mail("one", {"a.txt": "the same words\n"}), "z.txt": "the same words\n", "own.txt": "own"}
    )
    dedupe([alone(found.handle)], Scope.JOB, By.ITEM)
    found.tag("hot", "own.txt")
    made = found.create(kind=JobType.PROCESSING, extras=((DPI, "72"),), originals=True)
    assert found.taken(made) == ["m.eml", "a.txt", "own.txt"]
    pages, _ = found.run(made)
    found.tag("privileged", "m.eml")
    export = partial(found.create, kind=JobType.EXPORT, images=pages)
    found.tag("alone", "z.txt")
    assert export(withhold=("hot",)).job.options.of_type.left_out == 0
    assert export(withhold=("alone",)).job.options.of_type.left_out == 0
    job = export(withhold=("privileged",))
    assert found.taken(job) == ["own.txt"]
    assert job.job.options.of_type.left_out == 1


def test_a_container_that_is_chosen_is_reported(discovered: Discovered) -> None:
    found = discovered({"m.eml": mail("one", {"pack.zip": make_zip({"e.txt": b"figs here"})}), "own.txt": "own"})
    found.tag("hot", "m.eml", "pack.zip")
    with pytest.raises(UsageError, match="only 1 container chosen; choose their content"):
        found.create(tag="hot", families=False)
    found.tag("hot", "own.txt")
    job = found.create(tag="hot", families=False)
    assert (found.taken(job), job.job.options.of_type.containers) == (["own.txt"], 1)


def test_all_that_was_chosen_is_accounted_for(discovered: Discovered) -> None:
    """Taken, or left out for one reason that is counted: withheld, a system file, a copy, a container. It stands in the job, in
    its figures, in its chain of custody and in what is said of it."""
    files = _copies() | {
        "m.eml": mail("one", {"pack.zip": make_zip({"e.txt": b"figs here"}), "priv.txt": "counsel"}),
        "sys.dll": "code",
        "sys2.dll": "other code",
    }
    found = discovered(files)
    dedupe([alone(found.handle)], Scope.JOB, By.ITEM)
    known = found.bench.home / "known.txt"
    known.write_text("".join(f"{hashlib.sha256(each).hexdigest()}\n" for each in (b"code", b"other code")))
    denist([alone(found.handle)], [known])
    found.tag("privileged", "m.eml", "priv.txt")
    found.tag("privileged", "sys2.dll")
    for families in (True, False):
        for query, containers in (
            ("", 0),
            ("*", 1),
            ("name:anna OR name:boris OR name:sys OR name:priv OR name:other", None),
        ):
            job = found.create(query=query, families=families, originals=True, not_nist=True, withhold=("privileged",))
            reported = job.job.options.of_type
            parts = (reported.withheld, reported.system_files, reported.copies, reported.containers)
            assert reported.items == len(found.taken(job)) == 2, query
            assert reported.items + sum(parts) == reported.chosen, query
            assert parts[1:] == (1, 2 if containers is not None else 1, reported.containers)
            assert containers in (None, reported.containers)
            with found.bench.database.transaction() as conn:
                figures = production_figures(conn, job)
            assert figures is not None
            lines = dict(production_lines(figures))
            assert lines["chosen"] == f"{reported.chosen} items, 2 of them produced"
            assert lines["system files"].startswith("1 item,")
            created = actions_of([job])[0].details
            assert (created["chosen"], created["copies"], created["system_files"]) == (reported.chosen, *parts[2:0:-1])
    with pytest.raises(UsageError, match="no item is left of 2 chosen items: 1 are withheld, 1 system file, 0 copies"):
        found.create(query="name:sys OR name:sys2", not_nist=True, withhold=("privileged",))


def test_a_file_is_called_as_whoever_wrote_it_called_it(discovered: Discovered) -> None:
    """Not as its path, in which a number tells two of one name apart, and not cut where it has a slash; of what an archive holds
    by a path it is that path's last part."""
    message = mail("one", {"report.txt": "first", "pack.zip": make_zip({"in/one.txt": b"figs"})})
    for name, text in (("report.txt", "second"), ("2024/05 plan.txt", "third")):
        message.add_attachment(text, filename=name)
    found = discovered({"m.eml": message})
    _, out = found.run(found.create(kind=JobType.EXPORT))
    listed = csv_rows(out / "loadfile.csv")
    assert sorted(row["name"] for row in listed) == sorted(
        ["m.eml", "report.txt", "report.txt", "2024/05 plan.txt", "one.txt"]
    )
    assert [row["path"] for row in listed if row["path"].endswith("report.txt (2)")]
    dat = (out / "loadfile.dat").read_text(encoding="utf-8-sig")
    assert "\u00fereport.txt (2)\u00fe" not in dat
    assert "\u00fe2024/05 plan.txt\u00fe" in dat
    faults: list[str] = []
    check(out, faults.append)
    assert faults == []


def test_an_export_of_pages_stands_in_the_list_of_the_job_that_made_them(discovered: Discovered) -> None:
    found = discovered(_mails())
    pages, _ = found.run(found.create(kind=JobType.PROCESSING, extras=((DPI, "72"),), query="alone"))
    export = found.create(kind=JobType.EXPORT, images=pages)
    for reported in (pages, found.handle):
        last = actions_of([reported])[-1]
        assert (last.action, last.details["as_job"]) == ("export created", str(export.id))
    choice = export.job.options.of_type
    assert (choice.chosen, choice.items) == (1, 1)


def test_originals_of_other_jobs(discovered: Discovered) -> None:
    """Of two discoveries that were looked through together: a copy is taken where the job of its original is no source, and
    where it is, in whatever order they are named."""
    ann = discovered(_copies())
    bob = discovered({"dora.txt": "the same words", "more.txt": "more"})
    dedupe([alone(ann.handle), alone(bob.handle)], Scope.JOBS, By.FAMILY)
    assert bob.takes(originals=True) == ["dora.txt", "more.txt"]
    assert bob.takes(ann.handle, originals=True) == ["more.txt", "anna.txt", "other.txt"]
    assert ann.takes(bob.handle, originals=True) == ["anna.txt", "other.txt", "more.txt"]


def test_copies_that_are_attached(discovered: Discovered) -> None:
    """By item, a file is a copy of what is attached to a message that is taken, and is taken where that is not; by family, a
    member alone is a copy of the one with its bytes and not of the whole."""
    same: Parts = {"pears.txt": "pears and plums", "plan.txt": "a plan"}
    found = discovered({
        "m1.eml": mail("budget", same), "m2.eml": mail("budget", same), "z.txt": "pears and plums\n",
    })  # fmt: skip
    whole = ["m1.eml", "pears.txt", "plan.txt"]
    dedupe([alone(found.handle)], Scope.JOB, By.ITEM)
    assert found.takes(originals=True) == whole
    assert found.takes(originals=True, query="name:z") == ["z.txt"]
    assert found.takes(originals=True, query="name:z OR name:m2") == ["m2.eml", *whole[1:], "z.txt"]
    dedupe([alone(found.handle)], Scope.JOB, By.FAMILY)
    assert found.takes(originals=True) == [*whole, "z.txt"]
    alike = partial(found.takes, originals=True, families=False)
    assert alike() == [*whole, "z.txt"]
    found.tag("later", "m2.eml", "plan.txt")
    assert alike(tag="later") == ["plan.txt"]
    assert alike(query="name:m1 OR tag:later") == ["m1.eml", "plan.txt"]


def _rows(out: Path) -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in csv_rows(out / "loadfile.csv")}


def test_without_families_nothing_hangs_on_a_sibling_and_no_native_holds_what_was_not_chosen(
    discovered: Discovered,
) -> None:
    """A message one of whose attachments was not chosen has no native and says so, and another one has; what is attached to
    something that is not taken is attached to nothing and begins a range of its own, with what is attached to it."""
    inner = mail("inner", {"deep.txt": "deep plums"})
    found = discovered({
        "m1.eml": mail("outer", {"a.txt": "figs", "b.txt": "more figs", "c.eml": inner, "d.zip": make_zip({"e.txt": b"figs here"})}),
        "m2.eml": mail("figs", {"left.txt": "nothing of that kind"}),
        "m3.eml": mail("figs and plums", {"taken.txt": "figs"}),
    })  # fmt: skip
    job, out = found.run(found.create(kind=JobType.EXPORT, query="figs OR plums OR inner", families=False))
    listed = _rows(out)
    assert set(listed) == {"a.txt", "b.txt", "c.eml", "deep.txt", "e.txt", "m2.eml", "m3.eml", "taken.txt"}
    attached = {name: row["parent"] for name, row in listed.items()}
    begin = {name: row["begin"] for name, row in listed.items()}
    parents = {"deep.txt": begin["c.eml"], "taken.txt": begin["m3.eml"]}
    assert attached == dict.fromkeys(listed, "") | parents
    for name, row in listed.items():
        top = {"deep.txt": "c.eml", "taken.txt": "m3.eml"}.get(name, name)
        last = {"c.eml": "deep.txt", "m3.eml": "taken.txt"}.get(top, top)
        assert (row["begin_family"], row["end_family"]) == (begin[top], begin[last])
    assert {name: row["exceptions"] for name, row in listed.items() if row["exceptions"]} == {"m2.eml": "withheld"}
    assert {name for name, row in listed.items() if not row["native"]} == {"m2.eml"}
    assert b"nothing of that kind" not in b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    faults: list[str] = []
    check(out, faults.append)
    assert faults == []
    whole = _rows(found.run(found.create(kind=JobType.EXPORT))[1])
    assert whole["e.txt"]["parent"] == whole["m1.eml"]["begin"]
    assert not any(row["exceptions"] for row in whole.values())
    assert verify_production(job, filer(), examples=5, progress=print).differences == 0


def test_an_export_of_pages_asks_again(discovered: Discovered) -> None:
    """What was tagged since the pages were made is refused, by its first paths, or withheld with its family: its numbers are
    told as left out, and nothing else of it; a number that is missing beside these is a fault."""
    found = discovered(_mails())
    tag_found([found.handle], found.opened, "hot", "*")
    found.tag("privileged", "a alone.txt")
    made = found.create(kind=JobType.PROCESSING, extras=((DPI, "72"),), tag="hot", withhold=("privileged",))
    pages, _ = found.run(made)
    assert found.taken(pages) == ["m.eml", "pears.txt", "plan.txt", "z last.txt"]
    export = partial(found.create, kind=JobType.EXPORT, images=pages)
    assert found.taken(export()) == found.taken(pages)
    found.tag("counsel", "m.eml", "pears.txt")
    found.tag("privileged", "m.eml", "plan.txt")
    shown = r"3 items \(m.eml; m.eml / pears.txt; m.eml / plan.txt\) of job .* would no longer be selected .* run the processing job again"
    with pytest.raises(UsageError, match=shown) as refused:
        export()
    assert refused.value.field == "images"
    with pytest.raises(UsageError, match="all 4 chosen items are withheld"):
        export(withhold=("hot",))
    job, out = found.run(export(withhold=("counsel",)))
    assert found.taken(job) == ["z last.txt"]
    assert job.job.options.of_type.withheld == 3
    reported = (out / "withheld.csv").read_text().splitlines()
    prefix = pages.job.options.of_type.prefix
    assert reported == ["begin,end", *(f"{prefix}{n:08d},{prefix}{n:08d}" for n in (1, 2, 3))]
    assert [path.stem for path in out.glob("VOL001/IMAGES/*/*")] == [f"{prefix}00000004"]
    assert verify_production(job, filer(), examples=5, progress=print).differences == 0
    names = b"".join(path.read_bytes() for path in out.rglob("*.*") if path.is_file())
    assert not any(name in names for name in (b"pears", b"plan.txt", b"m.eml"))
    tag_found([found.handle], found.opened, "hot", "name:last", remove=True)
    with pytest.raises(UsageError, match=r"1 item \(z last.txt\)"):
        export(withhold=("counsel",))


def test_a_gap_in_an_export_of_pages_is_the_one_that_it_reports(discovered: Discovered) -> None:
    found = discovered(_mails())
    pages, _ = found.run(found.create(kind=JobType.PROCESSING, extras=((DPI, "72"),)))
    found.tag("privileged", "m.eml", "plan.txt")
    job, out = found.run(found.create(kind=JobType.EXPORT, images=pages, withhold=("privileged",)))
    assert found.taken(job) == ["a alone.txt", "z last.txt"]
    assert verify_production(job, filer(), examples=5, progress=print).differences == 0
    faults: list[str] = []
    check(out, faults.append)
    assert faults == []
    listed = (out / "withheld.csv").read_text().splitlines()
    (out / "withheld.csv").write_text("\n".join(listed[:-1]) + "\n")
    check(out, faults.append)
    assert [fault.partition(": ")[2] for fault in faults] == [
        f"numbers between {listed[-2].partition(',')[2]} and it are missing"
    ]
