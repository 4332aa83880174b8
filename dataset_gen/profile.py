"""Profiles: what a corpus is made of, one readable TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from core.errors import UsageError
from dataset_gen.rng import running_totals


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatMix:
    """One format: how often it is taken, and its sizes (lognormal, sigma in octaves)."""

    loose: float
    member: float
    attached: float
    median: float
    sigma: float
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CustodianMix:
    """One custodian: share of the raw bytes, and how mail is kept (store, folders or files)."""

    weight: float
    mail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MailMix:
    """Threads and attachments; the lists are weights of 1, 2, 3 …"""

    thread_lengths: tuple[float, ...]
    body_median: float
    body_sigma: float
    attachment_share: float
    attachment_counts: tuple[float, ...]
    inline_picture_share: float
    forward_share: float
    copies: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that decides about bytes beside seed and scale."""

    name: str
    version: int
    raw_bytes: int  # at scale 1.0
    custodians: tuple[CustodianMix, ...]
    shares: dict[str, float]
    formats: dict[str, FormatMix]
    mail: MailMix
    duplicates: dict[str, float]
    terms: dict[str, float]
    faults: dict[str, float]

    def choices(self, place: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """Formats and running totals of their weights where they are `loose`, `member` or `attached`."""
        taken = [(name, getattr(mix, place)) for name, mix in self.formats.items() if getattr(mix, place) > 0]
        return tuple(name for name, _ in taken), running_totals([weight for _, weight in taken])


def _from_toml(data: dict[str, Any]) -> Profile:
    mail: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data["mail"].items()}
    return Profile(
        name=data["name"],
        version=data["version"],
        raw_bytes=data["raw_bytes"],
        custodians=tuple(CustodianMix(**c) for c in data["custodians"]),
        shares=data["shares"],
        formats={name: FormatMix(**mix) for name, mix in data["formats"].items()},
        mail=MailMix(**mail),
        duplicates=data["duplicates"],
        terms=data["terms"],
        faults=data["faults"],
    )


def profile_names() -> list[str]:
    """The profiles that come with edbench."""
    files = resources.files("dataset_gen").joinpath("profiles").iterdir()
    return sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml"))


def load_profile(name: str) -> Profile:
    """The shipped profile of that name; raises UsageError when there is none."""
    if name not in profile_names():
        raise UsageError(f"there is no profile {name!r}; take one of: {', '.join(profile_names())}")
    text = resources.files("dataset_gen").joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")
    return _from_toml(tomllib.loads(text))
