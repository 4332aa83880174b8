"""Generator against worker: what is said of Office documents, old and new, is what is found in them."""

from __future__ import annotations

import pytest
from agreement import differences

from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop(load_profile("reference"), 17, 0.001)


@pytest.mark.parametrize("fmt", ["doc", "xls", "ppt", "docx", "xlsx", "pptx"])
def test_documents(workshop: Workshop, fmt: str) -> None:
    for number in range(6):
        size = (500, 30_000, 250_000)[number % 3]
        made = workshop.document(fmt, f"first/{number}", size)
        assert differences(f"x.{fmt}".encode(), made.data, made.truth) == []


@pytest.mark.parametrize("fmt", ["doc", "ppt", "docx", "xlsx", "pptx"])
def test_some_hold_documents_and_packages(workshop: Workshop, fmt: str) -> None:
    for number in range(400):
        made = workshop.document(fmt, f"holds/{number}", 60_000 if fmt.startswith("ppt") else 36_000)
        held = [c for c in made.truth.children if not c.name.startswith((b"image", b"picture", b"Microsoft_"))]
        if held:
            assert all(child.name.count(b".") == 1 for child in held)
            assert differences(f"x.{fmt}".encode(), made.data, made.truth) == []
            return
    pytest.fail("none of 400 holds a package")
