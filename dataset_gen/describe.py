"""Describes what a profile would make at a scale, without making a plan."""

from __future__ import annotations

from typing import Any

from dataset_gen.material.people import custodian_names
from dataset_gen.mix import LOOSE, Profile
from dataset_gen.planning.level import goal_of
from dataset_gen.planning.shelf import ITEM_BYTES


def outline(profile: Profile, scale: float) -> dict[str, Any]:
    """Totals and shares; a total is 0 where the profile leaves it to chance."""
    goal = goal_of(profile, scale)
    weight = sum(c.weight for c in profile.custodians)
    names = custodian_names(len(profile.custodians))
    mail = {"mail": profile.mail_share()} if profile.mail_share() else {}
    shares = {**profile.shares, **mail, **{f"series {s.kind}": s.share for s in profile.series}}
    if profile.language_files:
        shares["language files"] = profile.language_files
    rest = 1 - sum(shares.values())
    if rest > 1e-6:
        shares["loose documents"] = rest
    loose = {name: mix for name, mix in profile.formats.items() if mix.loose}
    total = sum(mix.loose for mix in loose.values())
    return {
        "name": profile.name,
        "version": profile.version,
        "about": profile.about,
        "scale": scale,
        "raw_bytes": int(goal.raw),
        "items": round(goal.items),
        "pages": round(goal.pages),
        "discovered_bytes": int(goal.raw + goal.extracted) if goal.extracted else 0,
        "custodians": [
            {
                "name": name,
                "raw_bytes": int(goal.raw * c.weight / weight),
                "mail": c.mail if share else "-",
                "mail_bytes": int(goal.raw * c.weight / weight * share),
            }
            for name, c, share in zip(names, profile.custodians, profile.mail_shares(), strict=True)
        ],
        "shares": {name: {"share": share, "raw_bytes": int(goal.raw * share)} for name, share in shares.items()},
        "types": {name: {"share": share, "items": round(goal.items * share)} for name, share in profile.types.items()},
        LOOSE: {name: {"share": mix.loose / total, "median": int(mix.median)} for name, mix in loose.items()},
        "faults": {
            name: max(1, round(goal.raw / ITEM_BYTES * share)) for name, share in profile.faults.items() if share
        },
    }
