"""Profiles: the composition of a corpus, one readable TOML file each. `docs/corpus.md` explains the keys."""

from __future__ import annotations

import hashlib
import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from core.errors import UsageError, read_problem
from core.toml_table import TomlTable
from dataset_gen import faults
from dataset_gen.material.text import LANGUAGES
from dataset_gen.mix import CustodianMix, Duplicates, FormatMix, MailMix, Profile, Series, Targets, Tree
from dataset_gen.workshop import BUILDERS, CONTAINERS


def profile_names() -> list[str]:
    """Return the names of the profiles that edbench includes."""
    files = resources.files("dataset_gen").joinpath("profiles").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def load_profile(name: str) -> Profile:
    """Load the shipped profile of that name, or a user's own file. Raises UsageError that names the error in it."""
    if name in profile_names():
        return read_profile(_shipped(name), f"profile {name}")
    path = Path(name)
    if not path.suffix and not path.exists():
        raise UsageError(
            f"there is no corpus profile {name!r}; use one of {', '.join(profile_names())}, or a TOML file"
        )
    try:
        return read_profile(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(read_problem(f"corpus profile {path}", error)) from error


def read_profile(text: str, source: str) -> Profile:
    """Parse a profile from its TOML; `source` is the start of messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{read_problem(source, error)}; it must be TOML") from error
    data = _on_its_base(data, source)
    top = TomlTable(source, "", data)
    profile = Profile(
        name=top.text("name"),
        version=top.whole("version", low=1),
        about=top.text("about", ""),
        raw_bytes=top.whole("raw_bytes", low=1_000_000),
        digest=hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(),
        custodians=tuple(one.record(CustodianMix) for one in top.tables("custodians")),
        targets=top.table("targets").record(Targets),
        shares=_shares(top.table("shares")),
        types=_types(top.table("types")),
        formats=_formats(top.table("formats")),
        mail=top.table("mail").record(MailMix),
        languages=_languages(top.table("languages")),
        duplicates=top.table("duplicates").record(Duplicates),
        language_files=top.share("language_files", 0.0),
        system_files=top.share("system_files", 0.0),
        tree=top.table("tree").record(Tree),
        terms=_terms(top.table("terms")),
        faults=_faults(top.table("faults")),
        attached_fault=top.share("attached_fault", 0.0),
        series=tuple(one.record(Series) for one in top.tables("series")),
    )
    top.done()
    _check_together(top, profile)
    return profile


def _on_its_base(data: dict[str, Any], source: str) -> dict[str, Any]:
    """Apply `based_on = NAME`: the shipped profile of that name, single values changed; 0 removes a share."""
    if "based_on" not in data:
        return data
    base, rest = data["based_on"], {key: value for key, value in data.items() if key != "based_on"}
    if base not in profile_names():
        raise UsageError(f"{source}: based_on must be one of {', '.join(profile_names())}, not {base!r}")
    return _changed(_on_its_base(tomllib.loads(_shipped(base)), f"profile {base}"), rest)


def _changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Change tables key by key, and replace everything else (lists of tables, too)."""
    both = {
        key: _changed(old[key], new[key])
        for key in old
        if isinstance(old[key], dict) and isinstance(new.get(key), dict)
    }
    return old | new | both


def _shipped(name: str) -> str:
    return resources.files("dataset_gen").joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")


def _check_together(top: TomlTable, profile: Profile) -> None:
    if not 1 <= len(profile.custodians) <= 250:
        raise top.refuse("custodians", "must be 1 to 250 tables")
    if profile.types and not profile.targets.items_per_gb:
        raise top.refuse("types", "are shares of all items, which require targets.items_per_gb")
    others = sum(v for k, v in profile.shares.items() if k != "mail") + sum(s.share for s in profile.series)
    others += profile.language_files
    if (most := max(profile.mail_shares()) + others) > 1.0000001:
        raise top.refuse("shares", f"of mail, series and language files add up to {most:g}; the sum must be at most 1")
    total = profile.mail_share() + others
    if total < 0.9999999 and not any(mix.loose for mix in profile.formats.values()):
        raise top.refuse("formats", f"has no loose format to fill the {1 - total:.0%} of the bytes that shares leave")
    mail = {"mail"} if profile.mail_share() else set()
    for place, wanted in (("member", CONTAINERS & set(profile.shares)), ("attached", mail)):
        if wanted and not any(getattr(mix, place) for mix in profile.formats.values()):
            raise top.refuse("formats", f"has no format with a weight for {place!r}, which {', '.join(wanted)} needs")


def _shares(table: TomlTable) -> dict[str, float]:
    return {name: table.share(name) for name in table.names(("mail", *sorted(CONTAINERS)))}


def _types(table: TomlTable) -> dict[str, float]:
    """Return media types with their shares of all items."""
    out = {name: table.share(name) for name in list(table)}
    if sum(out.values()) > 1.0000001:
        raise table.refuse("", f"adds up to {sum(out.values()):g}; the shares must sum to at most 1")
    return out


def _formats(table: TomlTable) -> dict[str, FormatMix]:
    names = table.names(sorted(set(BUILDERS) - set(faults.FILES)))
    return {name: table.table(name).record(FormatMix) for name in names}


def _languages(table: TomlTable) -> dict[str, float]:
    return {name: table.number(name) for name in table.names(LANGUAGES)} or {"en": 1.0}


def _terms(table: TomlTable) -> dict[str, float]:
    out = {name: table.share(name, 0.0) for name in ("token_share", "phrase_share")}
    table.done()
    return out


def _faults(table: TomlTable) -> dict[str, float]:
    return {name: table.share(name) for name in table.names(sorted(faults.FILES))}
