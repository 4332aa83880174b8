"""`make test-bundle`: the archive of `make bundle`, installed and used in a network namespace without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SECONDS = 900
# A system's own programs, no setting of pip or uv, and a home that holds no cache.
PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def offline(home: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run it where there is no interface but loopback."""
    line = ["unshare", "--net", "sh", "-euc", f"ip link set lo up; {script}"]
    env = {**PLAIN, "HOME": str(home), "PYTHON": os.path.realpath(sys.executable)}
    return subprocess.run(line, cwd=home, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)


def test_an_installation_without_a_network(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("a namespace without a network takes root, unshare and ip")
    archive = tmp_path / "bundle.tar"
    made = subprocess.run(
        ["sh", "scripts/bundle.sh", str(archive)], cwd=REPOSITORY, env={**os.environ, "IMAGES": "no"},
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    if made.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"the wheels cannot be downloaded here: {made.stderr.strip()[-200:]}")
    assert made.returncode == 0, made.stderr
    subprocess.run(["tar", "-x", "-f", archive, "-C", tmp_path], check=True, timeout=SECONDS)
    (place,) = tmp_path.glob("edbench-*")
    wheels = (place / "wheels").rename(tmp_path / "elsewhere")
    assert offline(tmp_path, f"sh {place.name}/install.sh").returncode != 0
    wheels.rename(place / "wheels")
    done = offline(
        tmp_path, f"sh {place.name}/install.sh && {place.name}/.venv/bin/edbench discover {place.name}/docs/images"
    )
    assert done.returncode == 0, done.stdout + done.stderr
