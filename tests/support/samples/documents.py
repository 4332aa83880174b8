"""Documents made by the generator's builders, and the independent programs that read them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dataset_gen.made import Made, Order
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import BUILDERS, Workshop

TERMS = ("plantqvx0123456789", "crimson lantern protocol")


@functools.cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 5, 0.01)


def make(fmt: str, number: int, size: int, *, terms: tuple[str, ...] = TERMS, language: str = "en") -> Made:
    """Document `number` of that format, about `size` bytes, with these terms planted."""
    dice = Dice(derive(5, fmt, number))
    dice.language = language
    return BUILDERS[fmt](Order(maker=_shop(), dice=dice, key=f"test/{number}", size=size, terms=terms))


def run(package: str, *command: str, where: Path) -> str:
    """What a program of a Debian package prints; skips where there is none, fails where one can be had (CI with apt)."""
    if shutil.which(command[0]) is None:
        if os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
            pytest.fail(f"there is no {command[0]}: .ci/run is to install Debian's package {package}")
        pytest.skip(f"there is no {command[0]} here; Debian's package {package} has it")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, timeout=300, check=True)
    return done.stdout.decode("utf-8", "replace")
