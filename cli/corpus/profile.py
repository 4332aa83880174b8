"""`edbench profile list|describe`, of corpora: what they can be made of."""

from __future__ import annotations

from typing import Any

import typer

from cli.context import shared
from cli.output import bytes_text, flush, print_json
from cli.show.table import table


def is_corpus(profile: str) -> bool:
    """Whether a corpus profile that comes with edbench has this name."""
    from dataset_gen.profile import profile_names

    return profile in profile_names()


def describe_corpus(ctx: typer.Context, profile: str, scale: float, as_json: bool) -> None:
    """Print what a profile, a shipped one or a TOML file, would make at a scale, or what is wrong in it."""
    from dataset_gen.describe import outline  # the writers of formats, which faults are named by, are slow to come
    from dataset_gen.profile import load_profile

    console = shared(ctx).out
    said = outline(load_profile(profile), scale)
    if as_json:
        print_json(said)
        return
    console.print(f"{said['name']}, version {said['version']}: {said['about']}", markup=False)
    console.print(f"at scale {scale:g}: {totals_text(said)}", markup=False)
    for title, columns, rows in (
        ("custodians", ("custodian", "raw", "mail", "mail kept as"), _custodians(said)),
        ("shares of the raw bytes", ("part", "share", "raw"), _bytes(said["shares"])),
        ("shares of all items", ("media type", "share", "items"), _items(said["types"])),
        ("loose documents", ("format", "share", "median"), _formats(said["loose"])),
        ("faults, at least", ("fault", "files"), list(said["faults"].items())),
    ):
        if rows:
            console.print()
            console.print(title, markup=False)
            console.print(table(columns, rows, right=tuple(range(1, len(columns)))))
    flush()


def totals_text(said: dict[str, Any]) -> str:
    """One line of totals; what the profile leaves to chance is left out."""
    parts = [f"{bytes_text(said['raw_bytes'])} raw"]
    if said["items"]:
        parts.append(f"{said['items']:,} items")
    if said["pages"]:
        parts.append(f"{said['pages']:,} pages")
    if said["discovered_bytes"]:
        parts.append(f"{bytes_text(said['discovered_bytes'])} discovered")
    return ", ".join(parts)


def _custodians(said: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(c["name"], bytes_text(c["raw_bytes"]), bytes_text(c["mail_bytes"]), c["mail"]) for c in said["custodians"]]


def _bytes(shares: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(name, f"{s['share']:.2%}", bytes_text(s["raw_bytes"])) for name, s in shares.items()]


def _items(types: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(name, f"{t['share']:.2%}", t["items"]) for name, t in types.items()]


def _formats(formats: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(name, f"{f['share']:.2%}", bytes_text(f["median"])) for name, f in formats.items()]


def corpus_rows() -> list[tuple[str, str, str]]:
    """Name, raw bytes at scale 1 and what it is, of those that come with edbench."""
    from dataset_gen.profile import load_profile, profile_names  # slow to come

    found = [load_profile(name) for name in profile_names()]
    return [(profile.name, bytes_text(profile.raw_bytes), profile.about) for profile in found]
