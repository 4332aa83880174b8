"""A small file system of a campaign's own, in a file: it can really be full, and really be read-only."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from core.errors import SystemFault

_FILLER = ".filled"


def cannot() -> str:
    """Why there can be none here; empty: there can."""
    if os.geteuid() != 0:
        return "mounting a file system requires root"
    for program in ("mkfs.ext4", "mount", "umount"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return _tried()


def _tried() -> str:
    with tempfile.TemporaryDirectory(prefix="edbench-chaos-") as place:
        disk = Disk(Path(place) / "tried.img", Path(place) / "tried", 8_000_000)
        try:
            disk.mount()
        except SystemFault as fault:
            return str(fault)
        disk.close()
    return ""


class Disk:
    """ext4 in a sparse file, mounted at a directory."""

    def __init__(self, image: Path, directory: Path, size: int) -> None:
        self.image = image
        self.directory = directory
        self._size = size
        self._mounted = False

    def mount(self) -> None:
        """Make it, if there is none, and mount it. Raises SystemFault."""
        if self._mounted:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.image.exists():
            with self.image.open("wb") as out:
                out.truncate(self._size)
            _do("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(self.image))
        _do("mount", "-o", "loop,errors=continue", str(self.image), str(self.directory))
        with contextlib.suppress(OSError):
            (self.directory / "lost+found").rmdir()
        self.directory.chmod(0o711)
        self._mounted = True
        self.empty()

    def fill(self) -> None:
        """Take all the room there is."""
        filler = self.directory / _FILLER
        with filler.open("ab") as out, contextlib.suppress(OSError):
            for piece in (1 << 24, 1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(out.fileno(), out.seek(0, os.SEEK_END), piece)
                        out.seek(0, os.SEEK_END)

    def empty(self) -> None:
        """Give it back."""
        (self.directory / _FILLER).unlink(missing_ok=True)

    def read_only(self, wanted: bool) -> None:
        """Whether nothing can be written. Raises SystemFault where somebody writes just now."""
        _do("mount", "-o", "remount,ro" if wanted else "remount,rw", str(self.directory))

    def close(self) -> None:
        """Unmount it; whoever still has files open keeps them until he is gone."""
        if self._mounted:
            self.empty()
            subprocess.run(["umount", "-l", str(self.directory)], capture_output=True, check=False)
            self._mounted = False


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemFault(f"{' '.join(words[:3])}: {' '.join(done.stderr.split())[:200]}")
