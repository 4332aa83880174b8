"""The token of the page: given or made up, and who can read it."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from core.errors import UsageError
from web.installed import shown_address
from web.token import FILE, LEAST_CHARACTERS, given_token, kept_token

TOKEN = "0123456789abcdef0123456789abcdef"


def test_a_given_token_is_taken_without_the_space_around_it() -> None:
    """As a file or a shell may leave it."""
    assert given_token({"EDBENCH_TOKEN": f" {TOKEN}\n"}) == TOKEN
    assert given_token({"EDBENCH_TOKEN": " "}) is None
    assert given_token({}) is None
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"):
        given_token({"EDBENCH_TOKEN": "short"})


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    """As a container has it; a file that is missing, empty or too short is refused with its name, never ignored."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert given_token({"EDBENCH_TOKEN_FILE": str(file)}) == TOKEN
    assert given_token({"EDBENCH_TOKEN_FILE": str(file), "EDBENCH_TOKEN": TOKEN[::-1]}) == TOKEN[::-1]
    for text in ("", "short", "é" * 40):
        file.write_text(text)
        with pytest.raises(UsageError, match=str(file)):
            given_token({"EDBENCH_TOKEN_FILE": str(file)})
    file.unlink()
    with pytest.raises(UsageError, match="does not exist"):
        given_token({"EDBENCH_TOKEN_FILE": str(file)})


def test_one_is_made_up_and_kept_for_its_owner(tmp_path: Path) -> None:
    """0600, whatever the umask; the next server has the same, another installation another."""
    before = os.umask(0)
    try:
        token = kept_token(tmp_path / "scratch")
    finally:
        os.umask(before)
    path = tmp_path / "scratch" / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"{token}\n"
    assert len(token) >= 2 * LEAST_CHARACTERS
    assert kept_token(tmp_path / "scratch") == token
    assert kept_token(tmp_path / "other") != token
    assert os.listdir(tmp_path / "scratch") == [FILE]


@pytest.mark.parametrize("unfit", ["readable", "short", "link", "fifo", "theirs"])
def test_one_that_others_could_know_is_not_used(tmp_path: Path, unfit: str) -> None:
    """Nor one that is none, nor one that somebody put there; nothing hangs."""
    path = tmp_path / FILE
    if unfit == "link":
        (tmp_path / "planted").write_text(TOKEN)
        (tmp_path / "planted").chmod(0o600)
        path.symlink_to("planted")
    elif unfit == "fifo":
        os.mkfifo(path, 0o600)
    else:
        path.write_text("x" if unfit == "short" else TOKEN)
        path.chmod(0o640 if unfit == "readable" else 0o600)
    if unfit == "theirs":
        if os.geteuid():
            pytest.skip("only root can give files away")
        os.chown(path, 1234, 1234)
    made = kept_token(tmp_path)
    assert made != TOKEN
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert path.lstat().st_uid == os.geteuid()
    assert kept_token(tmp_path) == made


def test_two_at_once_agree(tmp_path: Path) -> None:
    """Whoever comes second takes the first one's."""
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(kept_token(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_scratch_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """With the variable that helps."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="set EDBENCH_TOKEN"):
        kept_token(tmp_path / "file")


def test_the_link_has_a_made_up_token_where_no_server_sees_it() -> None:
    """Behind the `#`; one that was given is not repeated on anybody's screen."""
    assert shown_address("http://127.0.0.1:8080/", None, TOKEN) == f"http://127.0.0.1:8080/login#token={TOKEN}"
    assert shown_address("http://127.0.0.1:8080/", TOKEN, TOKEN) == "http://127.0.0.1:8080/"
