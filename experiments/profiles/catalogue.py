"""The profiles that there are, and one with its settings as they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

from pydantic import ValidationError

from core.document import complaint
from core.errors import UsageError
from experiments.profiles.profile import Profile, Targets
from experiments.profiles.refusal import refuse_targets
from experiments.workloads import module_of, names


def profiles() -> dict[str, type[Profile[Any]]]:
    """By name, in the order of the reports they come from; ours last."""
    found = [kind for name in names() if (kind := getattr(module_of(name), "PROFILE", None)) is not None]
    return {kind.name: kind for kind in sorted(found, key=lambda kind: (kind.report or "~", kind.name))}


def profile_named(name: str) -> type[Profile[Any]]:
    """Raises UsageError when there is none."""
    every = profiles()
    if name not in every:
        raise UsageError(f"there is no storage test {name!r}; use {', '.join(every)}")
    return every[name]


def made(name: str, targets: Targets, given: Sequence[str], *, small: bool) -> Profile[Any]:
    """With settings `NAME=VALUE`, over those of `small` where that is asked for; raises UsageError."""
    kind = profile_named(name)
    refuse_targets(kind, targets)
    return kind(settings_of(kind, given, small=small), targets)


def settings_of(kind: type[Profile[Any]], given: Sequence[str], *, small: bool) -> Any:
    """Raises UsageError for a setting that there is not, or a value that it cannot have."""
    values: dict[str, Any] = dict(kind.small) if small else {}
    for one in given:
        setting, sign, value = one.partition("=")
        if not sign or setting not in kind.settings_type.model_fields:
            known = ", ".join(kind.settings_type.model_fields) or "none"
            raise UsageError(f"--set {one}: {kind.name} has the settings {known}; write NAME=VALUE")
        values[setting] = _parsed(value, kind.settings_type.model_fields[setting].annotation)
    return _validated(kind, values)


def _parsed(value: str, annotation: Any) -> Any:
    """A list by commas where the setting is one; numbers and sizes are pydantic's."""
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if get_origin(annotation) is tuple else value
    )


def _validated(kind: type[Profile[Any]], values: Mapping[str, Any]) -> Any:
    try:
        return kind.settings_type.model_validate(dict(values))
    except ValidationError as error:
        setting, said = complaint(error)
        raise UsageError(f"--set {setting or 'settings'}: {said}") from error
