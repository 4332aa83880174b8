"""`scripts/compose-env.sh`, which writes .env for `make up`."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "compose-env.sh"


def _written(file: Path, **env: str) -> subprocess.CompletedProcess[str]:
    line = ["sh", str(SCRIPT), str(file)]
    return subprocess.run(line, env={"PATH": os.environ["PATH"]} | env, capture_output=True, text=True, check=False)


def test_a_directory_that_the_user_can_use_is_taken(tmp_path: Path) -> None:
    """With any name, and root's own where everyone may write: whether containers can write, their user finds out. Compose reads
    the path back as it is (double quotes, https://docs.docker.com/compose/how-tos/environment-variables/variable-interpolation/)."""
    shared = tmp_path / 'it\'s a "filer" for $HOME'
    shared.mkdir()
    shared.chmod(0o1777)
    file = tmp_path / "env"
    done = _written(file, EDBENCH_SHARED=str(shared))
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert f'EDBENCH_SHARED="{tmp_path}/it\'s a \\"filer\\" for \\$HOME"\n' in text
    owner = os.geteuid() or 1000  # containers do not run as root
    assert f"EDBENCH_UID={owner}\n" in text
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("EDBENCH_SHARED=mine\n")
    assert _written(file, EDBENCH_SHARED=str(tmp_path / "none")).returncode == 0
    assert file.read_text() == "EDBENCH_SHARED=mine\n", "an existing file is the user's"


@pytest.mark.parametrize(
    ("env", "refusal"),
    [
        ({"EDBENCH_SHARED": "/not/mounted"}, "does not exist"),
        ({"EDBENCH_SHARED": "relative"}, "absolute path"),
        ({"EDBENCH_SHARED": ":/export", "EDBENCH_SHARED_TYPE": "nfs"}, "EDBENCH_MOUNT"),
    ],
)
def test_a_storage_that_cannot_be_used_is_one_line(tmp_path: Path, env: dict[str, str], refusal: str) -> None:
    """A directory that the user named is never created: where the filer is not mounted, the local disk would be measured."""
    done = _written(tmp_path / "env", **env)
    assert done.returncode == 1
    assert refusal in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "env").exists()
