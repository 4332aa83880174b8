"""A network namespace for workers, with one link to this machine that can be taken down."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from core.errors import SystemFault


def cannot() -> str:
    """Why there can be none here; empty: there can."""
    if os.geteuid() != 0:
        return "network namespaces require root"
    if shutil.which("ip") is None:
        return "the program ip is not installed"
    tried = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "ip netns does not work here"


class Namespace:
    """Made at once; `close` removes it. `host` is this machine's address on the link."""

    def __init__(self) -> None:
        number = os.getpid()
        self.name = f"edbench-{number}"
        self._link, self._inner = f"edb{number}", f"edi{number}"
        network = f"10.{64 + number % 64}.{number // 64 % 256}"
        self.host = f"{network}.1"
        self._ip("netns", "add", self.name)
        try:
            self._ip("link", "add", self._link, "type", "veth", "peer", "name", self._inner, "netns", self.name)
            self._ip("addr", "add", f"{self.host}/30", "dev", self._link)
            self._ip("link", "set", self._link, "up")
            self._ip("-n", self.name, "addr", "add", f"{network}.2/30", "dev", self._inner)
            self._ip("-n", self.name, "link", "set", self._inner, "up")
            self._ip("-n", self.name, "link", "set", "lo", "up")
        except SystemFault:
            self.close()
            raise

    def inside(self, command: Sequence[str]) -> Sequence[str]:
        """The command as it is run in there."""
        return [shutil.which("ip") or "ip", "netns", "exec", self.name, *command]

    def down(self) -> None:
        """Nothing gets through, either way, and nobody is told."""
        self._ip("-n", self.name, "link", "set", self._inner, "down")

    def up(self) -> None:
        """As before."""
        self._ip("-n", self.name, "link", "set", self._inner, "up")

    def close(self) -> None:
        """Remove it, and the link with it."""
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self._link], capture_output=True, check=False)

    def _ip(self, *words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemFault(f"ip {' '.join(words)}: {done.stderr.strip()}")
