"""`make` and `scripts/setup.sh`: what they say when something is missing, and that they do nothing twice."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SCRIPT = REPOSITORY / "scripts" / "setup.sh"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with a space in its name that has what the script looks at, and an empty lock file."""
    directory = tmp_path / "a clone"
    directory.mkdir()
    (directory / "uv.lock").write_text("")
    (directory / "pyproject.toml").write_text("")
    return directory


def test_the_lock_names_the_public_index_only() -> None:
    """Locked where another index is configured, it would hold addresses that others cannot reach."""
    lock = (REPOSITORY / "uv.lock").read_text()
    hosts = set(re.findall(r'"https?://([^/"]+)', lock))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory of programs without any Python in it."""
    directory = tmp_path / "tools"
    directory.mkdir()
    for name in ("sh", "cksum", "cat", "sed", "tail", "rm", "grep", "find", "head"):
        found = shutil.which(name)
        assert found
        (directory / name).symlink_to(found)
    return directory


def program(path: Path, text: str) -> None:
    """A small shell program."""
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def setup(clone: Path, tools: Path, python: str = "", options: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script there with nothing but these programs and no HOME; with the interpreter that is named."""
    env = {"PATH": str(tools), "EDBENCH_SETUP_PYTHON": python, "EDBENCH_SETUP_OPTIONS": options}
    return subprocess.run(
        ["/bin/sh", os.fspath(SCRIPT)], cwd=clone, env=env, capture_output=True, text=True, check=False
    )


def test_python_too_old(clone: Path, tools: Path) -> None:
    program(tools / "python3", '[ "$1" = --version ] && echo Python 3.9.2; exit 1\n')
    done = setup(clone, tools)
    assert done.returncode == 1
    assert "CPython 3.11 to 3.14 is required; python3 is Python 3.9.2" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_named_python_is_used_or_refused(clone: Path, tools: Path) -> None:
    """`make setup PYTHON=…` never takes another one silently, nor an environment of another one."""
    made(clone, "echo Python 3.11.2\n")
    program(tools / "python3.8", 'case "$1" in --version) echo Python 3.8.1;; *) exit 1;; esac\n')
    program(tools / "python3", "echo used >used\n")
    done = setup(clone, tools, "python3.8")
    assert (done.returncode, (clone / "used").exists()) == (1, False)
    assert "python3.8 is Python 3.8.1" in done.stderr
    assert setup(clone, tools).returncode == 0
    assert "python3.12 is not installed" in setup(clone, tools, "python3.12").stderr


def test_venv_missing(clone: Path, tools: Path) -> None:
    """Debian's Python without python3-venv: the package to install is named."""
    program(tools / "python3", 'case "$2" in *venv*) exit 1;; esac; exit 0\n')
    done = setup(clone, tools)
    assert done.returncode == 1
    assert "apt install python3-venv" in done.stderr


def made(clone: Path, python: str, options: str = "") -> Path:
    """An environment that was made here long ago, with this for a Python and these options; its stamp."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    program(clone / ".venv" / "bin" / "python", python)
    state = subprocess.run(
        "cksum uv.lock pyproject.toml; pwd -P",
        shell=True,
        cwd=clone,
        capture_output=True,
        text=True,
        check=True,
    )
    stamp = clone / ".venv" / ".complete"
    stamp.write_text(f"{state.stdout}{options}\n")
    os.utime(stamp, (1_000, 1_000))
    return stamp


def test_what_changed_is_compiled_once(clone: Path, tools: Path) -> None:
    """After a pull the environment is up to date and the bytecode is not: processes that may not write it would compile
    the product at every start."""
    made(clone, 'echo "$2" >compiled\n')
    source, shown = clone / "source.py", clone / "compiled"
    source.write_text("")
    os.utime(source, (500, 500))
    assert setup(clone, tools).returncode == 0
    assert not shown.exists()
    os.utime(source, (2_000, 2_000))
    assert setup(clone, tools).returncode == 0
    assert "compileall" in shown.read_text()
    shown.unlink()
    assert setup(clone, tools).returncode == 0
    assert not shown.exists()


@pytest.mark.parametrize(
    ("had", "asked", "enough"), [("", "--no-dev", True), ("--no-dev", "--no-dev", True), ("--no-dev", "", False)]
)
def test_an_environment_with_all_packages_serves_the_demo(
    clone: Path, tools: Path, had: str, asked: str, enough: bool
) -> None:
    """`make demo` needs no package of development; after it, `make setup` adds them."""
    made(clone, "exit 1\n", had)
    assert (setup(clone, tools, options=asked).returncode == 0) is enough


def test_up_to_date_needs_nothing(clone: Path, tools: Path) -> None:
    """With an environment that was made here from the same files nothing is done, not even Python looked for; once
    the lock changes it is."""
    made(clone, "exit 1\n")
    assert setup(clone, tools).returncode == 0
    (clone / "uv.lock").write_text("changed\n")
    assert setup(clone, tools).returncode == 1


def test_make_alone_lists_the_targets() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make on this machine")
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}  # as if no make had started the tests
    done = subprocess.run([make], cwd=REPOSITORY, env=env, capture_output=True, text=True, check=True)
    listed = [line.split()[1] for line in done.stdout.splitlines()]
    assert {"help", "setup", "demo", "test", "lint", "types", "bench", "clean"} <= set(listed)
    targets = re.findall(r"^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)[0].split()
    assert sorted(listed) == sorted(targets)
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines())


def test_settings_of_pip_reach_uv(tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    program(
        programs / "python",
        '[ "$3" = config ] && echo "global.index-url=\'https://index.example.org/simple\'"\nexit 0\n',
    )
    program(programs / "uv", f'echo "$2 $UV_DEFAULT_INDEX $UV_FIND_LINKS $*" >>"{tmp_path}/asked"\n')
    env = {"PATH": "/usr/bin:/bin", "PIP_FIND_LINKS": str(tmp_path), "PIP_NO_INDEX": "1"}
    line = ["sh", REPOSITORY / "scripts" / "packages.sh", "venv", "venv", "--no-dev"]
    subprocess.run(line, cwd=tmp_path, env=env, check=True, timeout=300)
    (asked,) = (line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("sync"))
    assert asked.startswith(f"sync https://index.example.org/simple {tmp_path} pip sync")
    assert {"--no-index", "--require-hashes"} <= set(asked.split())
