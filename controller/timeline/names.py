"""Names of charts and series that people read, from the sources of observations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from controller.timeline.readings import Readings

_NUMBERED = re.compile(r"w(\d+)")
_CONTAINER = re.compile(r"[0-9a-f]{12}(-\d+)?")  # the host name that Docker gives a container, and a process id
_DEVICE = re.compile(r":\d+:\d+$")


def host_names(workers: Mapping[str, Readings]) -> dict[str, str]:
    """Host names by the beginning of the boot id with which the sources of that host begin."""
    latest = (readings[-1][1] for readings in workers.values())
    return {str(values["host"]): str(values["host_name"]) for values in latest if "host_name" in values}


def device_names(sources: Iterable[str], hosts: Mapping[str, str]) -> dict[str, str]:
    """`vda` of `b6d6a1e6:vda`; where several hosts have been seen `vda on HOST`. Names that would be the same keep their
    device number."""
    parts = {source: source.partition(":") for source in sources}
    several = len({boot for boot, _, _ in parts.values()}) > 1

    def named(source: str, device: str) -> str:
        boot, mark, _ = parts[source]
        return f"{device} on {hosts.get(boot, boot)}" if mark and several else device

    whole = {source: named(source, rest if mark else boot) for source, (boot, mark, rest) in parts.items()}
    short = {
        source: named(source, _DEVICE.sub("", rest if mark else boot)) for source, (boot, mark, rest) in parts.items()
    }
    taken = list(short.values())
    return {source: name if taken.count(name) == 1 else whole[source] for source, name in short.items()}


def worker_names(names: Iterable[str]) -> dict[str, str]:
    """`worker 3` of `w3`; containers are numbered, because their names are random digits."""
    out, number = {}, 0
    for name in names:
        if found := _NUMBERED.fullmatch(name):
            out[name] = f"worker {found[1]}"
        elif _CONTAINER.fullmatch(name):
            number += 1
            out[name] = f"worker {number} ({name[:6]})"
        else:
            out[name] = name
    return out
