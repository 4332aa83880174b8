"""What the page says of jobs that take the items of others, over jobs that are rows alone."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest

from core.options.production import JobType, ProductionChoice
from core.records import JobOptions
from sql import jobs

pytestmark = pytest.mark.services

CHANGE = "UPDATE job SET state = %(state)s, finished_at = now() WHERE id = %(job)s"


def _made(site: Any, kind: JobType, *sources: uuid.UUID, state: str = "completed") -> str:
    """A job of this type; its id."""
    choice = ProductionChoice(type=kind, sources=tuple(each.hex for each in sources), out="/nowhere")
    new = jobs.NewJob(
        id=uuid.uuid4(),
        name=f"<{kind}>",
        client="",
        project="",
        source=b"/nowhere",
        device=1,
        inode=1,
        options=JobOptions(production=choice),
        custodians=[],
        tasks=[],
        workers=1,
        slots=1,
    )
    with site.copy.handle.database.transaction() as conn:
        jobs.create_job(conn, new)
    site.copy.run(CHANGE, state=state, job=new.id)
    return str(new.id)


def test_a_discovery_has_its_own_productions_and_images_that_can_be_taken(site: Any) -> None:
    """Not those of another matter; of processing jobs none that took other items, too, or is not over."""
    here, other = site.copy.handle.id, uuid.uuid4()
    fit = _made(site, JobType.PROCESSING, here)
    shown = {
        fit,
        _made(site, JobType.EXPORT, here, state="completed_with_exceptions"),
        _made(site, JobType.PROCESSING, here, state="cancelled"),
        _made(site, JobType.PROCESSING, here, other),
    }
    hidden = {_made(site, JobType.PROCESSING, other), _made(site, JobType.EXPORT, other)}
    page = site.client.get(f"/jobs/{here}/produce?type=export").text
    form, _, below = page.partition("of its items</h2>")
    assert {each for each in shown | hidden if f"/jobs/{each}" in below} == shown
    select = re.search(r"<select id=\"f-images\".*?</select>", form, re.DOTALL)
    assert select is not None
    assert re.findall(r"<option value=\"([^\"]*)\"", select[0]) == ["", fit]
