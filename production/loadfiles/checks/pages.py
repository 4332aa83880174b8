"""The pages of a record: as its numbers say, as `hashes.csv` lists them and as Opticon has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from production.loadfiles.checks.filed import IMAGE, Filed
from production.loadfiles.checks.numbers import span
from production.loadfiles.reading import inside
from production.loadfiles.reading_opt import Page


def pages_of(files: Sequence[Filed]) -> list[Filed]:
    """The images among a record's files."""
    return [file for file in files if file.kind == IMAGE]


def numbered_wrong(row: Mapping[str, str], images: Sequence[Filed], listed: str) -> Iterator[str]:
    """What of a record's numbers does not go with its pages; one without pages has one number."""
    begin, end, said = row["begin"], row["end"], row.get("pages") or ""
    if [file.page for file in images] != [str(number + 1) for number in range(len(images))]:
        yield f"{begin}: {listed} has pages {', '.join(file.page or '?' for file in images[:10])} for it"
    if span(begin, end) != max(1, len(images)):
        yield f"{begin}: {begin} to {end} are {span(begin, end):,} numbers, but it has {len(images):,} pages"
    if images and said != str(len(images)):
        yield f"{begin}: has {len(images):,} pages, but its page count is {said or 'missing'}"


def told_wrong(root: Path, document: Sequence[Page], images: Sequence[Filed], opt: str, listed: str) -> Iterator[str]:
    """What Opticon says otherwise of a document than `hashes.csv`: of pages the first that differs, since those behind one
    that is missing or doubled differ all."""
    first = document[0]
    if not first.begins:
        yield f"{first.id}: {opt} does not mark it as the first page of a document"
    if len(document) != len(images):
        yield f"{first.id}: {opt} has {len(document):,} pages for it, {listed} has {len(images):,}"
    if first.count and first.count != str(len(images)):
        yield f"{first.id}: {opt} counts {first.count} pages, it has {len(images):,}"
    for place, (page, image) in enumerate(zip(document, images, strict=False), 1):
        if (why := _page(root, page, image, first.id, place)) is not None:
            yield f"{page.id}: {opt} {why}"
            return


def _page(root: Path, page: Page, image: Filed, begin: str, place: int) -> str | None:
    if (path := page.path.replace("\\", "/").removeprefix("./")) != image.path:
        if inside(root, page.path) is None:
            return f"names {page.path!r}, which is outside the production"
        return f"names {path}, which is not page {place} of {begin}: that is {image.path}"
    if span(begin, page.id) != place or page.id != Path(path).stem:
        return f"is the id of page {place} of {begin}, whose file is {image.path}"
    if page.volume != path.partition("/")[0]:
        return f"has volume {page.volume or 'none'} for {path}"
    if place > 1 and page.count:
        return f"counts pages at page {place} of {begin}"
    return None
