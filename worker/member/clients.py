"""Clients of a storage test at a member, in processes that end with it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from core.crew.messages import CLIENTS_MODULE, Act
from core.crew.messages import Clients as ClientsOrder
from core.crew.places import resolved, wait_for
from core.errors import RunFailed, SystemFault, UsageError
from core.program.lines import LineProcess, heard
from monitoring.machine import processors


class Clients:
    """As many processes as cores. Raises UsageError for a place that is not theirs, SystemFault."""

    def __init__(self, order: ClientsOrder, roots: Mapping[str, Path]) -> None:
        if find_spec(CLIENTS_MODULE.partition(".")[0]) is None:
            raise UsageError("this host has no storage tests; install edbench-storage-tests on it")
        self._own: list[Path] = []  # in the memory of this host
        self._processes: list[LineProcess] = []
        paths = []
        for place in order.places:
            path = resolved(place, roots)
            if place.root == "evidence":
                raise UsageError("evidence is not written to")
            if place.root == "null" and not path.exists():
                path.mkdir(parents=True)
                self._own.append(path)
            wait_for(path)
            paths.append(str(path))
        numbers = range(order.first, order.first + order.step * order.count, order.step)
        parts = min(order.count, processors())
        spec = {
            "roots": paths, "s3": None, "seed": order.seed, "fsync": order.fsync, "io_bytes": order.io_bytes,
            "part_bytes": 0, "emulated": False,
        }  # fmt: skip
        try:
            for part in range(parts):
                self._processes.append(LineProcess(CLIENTS_MODULE, "clients"))
                self._processes[-1].tell(spec | {"clients": tuple(numbers[part::parts])})
            self._heard()
        except BaseException:
            self.end()
            raise
        self.of_each = [len(numbers[part::parts]) for part in range(parts)]

    def act(self, order: Act) -> dict[str, Any]:
        """Returns when all have done it. Raises UsageError, SystemFault."""
        if len(order.shares) != len(self._processes):
            raise UsageError(f"this member has {len(self._processes)} processes of clients")
        start_ns = time.monotonic_ns() + round((order.start - time.time()) * 1e9)
        for process, (first, last) in zip(self._processes, order.shares, strict=True):
            process.tell(
                {
                    "deed": order.deed, "first": first, "last": last, "size": order.size,
                    "shared_directory": order.shared_directory, "shared_numbers": order.shared_numbers,
                    "start_ns": start_ns, "delays_ns": order.delays_ns,
                }
            )  # fmt: skip
        return {"start_ns": start_ns, "done": self._heard()}

    def _heard(self) -> list[Any]:
        try:
            said = [msgspec.json.decode(line) for line in heard(self._processes)]
        except RunFailed as error:
            raise SystemFault(str(error)) from error
        for one in said:
            if isinstance(one, dict) and "error" in one:
                raise SystemFault(str(one["error"]))
        return said

    def end(self) -> None:
        """By force; what they wrote in the memory of this host goes."""
        for process in self._processes:
            process.end()
        for path in self._own:
            shutil.rmtree(path, ignore_errors=True)
