"""All checks, in the order a person would mend them in."""

from __future__ import annotations

from collections.abc import Iterator

from controller.doctor import machine, services, storage
from controller.doctor.finding import Finding
from core.clock import Clock
from core.settings import Settings


def run_checks(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Every finding as it is found; some take a second."""
    yield machine.python_version()
    yield from machine.packages()
    yield machine.magic()
    yield machine.ocr()
    yield machine.office()
    yield machine.box() if settings.box else machine.no_box()
    yield from machine.programs()
    yield machine.open_files()
    yield machine.shared_memory()
    yield from storage.place(settings.scratch, filer=False, clock=clock)
    yield from storage.place(settings.storage, filer=True, clock=clock)
    yield storage.apart(settings.storage, settings.scratch)
    yield from services.reachable(settings, clock)
