"""Mounts that experiments may select: only by a name that the member's own file has."""

import os
import sys
from pathlib import Path

import msgspec
import pytest

from core.crew import MemberOrder
from core.errors import SystemFault, UsageError
from worker.member.remount import VARIABLE, Remounts


@pytest.fixture
def remounts(tmp_path: Path) -> Remounts:
    """With mounts that write down what they were started with; `bad` fails."""
    script = tmp_path / "mount.py"
    script.write_text(
        "import os, sys\n"
        f"open({str(tmp_path / 'done')!r}, 'a').write(repr((sys.argv[1:], sorted(os.environ))) + '\\n')\n"
        "sys.exit('busy' if sys.argv[1] == 'bad' else 0)\n"
    )
    names = {"nconnect=4": "nconnect=4,rw", "bad": "bad"}
    file = tmp_path / "remount.toml"
    file.write_text(
        f'restore = ["{sys.executable}", "{script}", "default"]\n[mounts]\n'
        + "".join(f'"{name}" = ["{sys.executable}", "{script}", "{word}"]\n' for name, word in names.items())
    )
    file.chmod(0o600)
    return Remounts({VARIABLE: str(file), "EDBENCH_BROKER": "redis://secret@broker"})


def test_a_name_runs_its_command_without_shell_and_secrets(
    remounts: Remounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise: exactly the words of the file, and none of the worker's environment, which has logins."""
    monkeypatch.setenv("EDBENCH_BROKER", "redis://secret@broker")
    remounts.mount("nconnect=4")
    remounts.restore()
    done = (tmp_path / "done").read_text()
    assert "(['nconnect=4,rw']" in done
    assert "(['default']" in done
    assert "EDBENCH" not in done
    with pytest.raises(SystemFault, match=r"not remounted: .* ended with 1: busy"):
        remounts.mount("bad")


@pytest.mark.parametrize(
    "name", ["nconnect=8", "restore", "mounts", "", "nconnect=4; touch x", "$(id)", "/bin/sh", "../bad"]
)
def test_a_name_that_the_file_has_not_is_refused(remounts: Remounts, tmp_path: Path, name: str) -> None:
    """Attack: whoever may send orders names something else; nothing runs."""
    with pytest.raises(UsageError, match="this host has no mount"):
        remounts.mount(name)
    assert not (tmp_path / "done").exists()


_LEASE = {
    "do": "lease",
    "run": "0123456789abcdef",
    "databases": 1,
    "workers": 1,
    "slots": 1,
    "place": {"root": "storage", "path": "x"},
}


@pytest.mark.parametrize(
    "more",
    [
        {"mount": "nconnect=4; touch x"}, {"mount": "$(id)"}, {"mount": "-o"}, {"mount": "a/b"}, {"mount": "a\nb"}, {"mount": ""},
        {"mount": ["/bin/sh"]}, {"mount": "x" * 64}, {"mount_command": "/bin/sh"}, {"remount": ["/bin/sh"]}, {"env": {}},
    ],
)  # fmt: skip
def test_an_order_carries_no_command(more: dict[str, object]) -> None:
    """Attack: a command, an option with a shell's characters or another field in an order is refused as it is decoded."""
    msgspec.json.decode(msgspec.json.encode(_LEASE | {"mount": "nconnect=4"}), type=MemberOrder)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(_LEASE | more), type=MemberOrder)


def test_a_file_that_others_may_write_is_refused(remounts: Remounts, tmp_path: Path) -> None:
    """Attack: another user of the host changes the commands that the worker, perhaps as root, runs."""
    for mode in (0o620, 0o602, 0o666):
        (tmp_path / "remount.toml").chmod(mode)
        with pytest.raises(UsageError, match="only its owner may write it"):
            remounts.mount("nconnect=4")
    if os.geteuid() == 0:
        (tmp_path / "remount.toml").chmod(0o600)
        os.chown(tmp_path / "remount.toml", 1234, 0)
        with pytest.raises(UsageError, match="must belong to root"):
            remounts.mount("nconnect=4")


@pytest.mark.parametrize(
    "text",
    [
        'mounts = "x"', "[mounts]\na = []", '[mounts]\na = "mount -o x"', '[mounts]\na = ["mount", "x"]', '[mounts]\na = ["/bin/true", 1]',
        '[mounts]\na = ["/bin/true"]\n[other]\nb = 1', "not toml", 'restore = "x"',
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    """Promise: with the variable's name, and nothing runs."""
    file = tmp_path / "remount.toml"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(UsageError, match=VARIABLE):
        Remounts({VARIABLE: str(file)}).mount("a")
    with pytest.raises(UsageError, match=f"{VARIABLE} is not set"):
        Remounts({}).mount("a")
