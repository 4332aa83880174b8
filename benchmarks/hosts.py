"""`make bench-hosts`: an experiment on hosts that are real to the program, on a real shared file system.

Each host is a network, mount, process and name space of this machine, with a link and a FUSE mount of its own, and so a cache of
its own. Prints what each host of each point did; the result is the experiment's. Root, and ../shared/tools/filers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.bench_home import EDBENCH

FILERS = Path(__file__).resolve().parents[2] / "shared/tools/filers"
SERVER = "192.0.2.10"  # of the file system, in the network space of its own
MOUNT = {
    "glusterfs": f"mount -t glusterfs {SERVER}:/edb",
    "moosefs": f"mfsmount -H {SERVER}",
}  # the mount point follows
_LOGIN_SECONDS = 120.0


def main() -> None:
    """Exit status 0 when the experiment came to its end."""
    parser = argparse.ArgumentParser(prog="make bench-hosts BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--filer", choices=sorted(MOUNT), default="moosefs")
    parser.add_argument("--hosts", default="1,2,4", help="points: so many, with a worker each")
    parser.add_argument("--slots", default="2")
    parser.add_argument("--scale", default="0.0003", help="of the reference corpus")
    parser.add_argument("--repeats", default="1")
    parser.add_argument("--rate", help="limit of the file system's network, such as 200mbit")
    wish = parser.parse_args()
    if os.geteuid() or not FILERS.is_file():
        sys.exit("bench-hosts needs root and ../shared/tools/filers")
    with tempfile.TemporaryDirectory(prefix="edbench-hosts-", dir="/var/tmp") as directory, _filer(wish) as mount:
        home = Path(directory)
        home.chmod(0o711)
        _show(_experiment(wish, home, mount))


@contextlib.contextmanager
def _filer(wish: argparse.Namespace) -> Iterator[Path]:
    """Up; somebody's is not taken."""
    if Path(_network(wish.filer)).exists():
        sys.exit(f"somebody's {wish.filer} is up")
    try:
        mount = _run(str(FILERS), "up", wish.filer).splitlines()[-1]
        if wish.rate:
            _run(str(FILERS), "slow", wish.filer, wish.rate)
        yield Path(mount)
    finally:
        subprocess.run([str(FILERS), "down", wish.filer], capture_output=True, check=False)


def _experiment(wish: argparse.Namespace, home: Path, mount: Path) -> dict[str, Any]:
    """The command runs where the servers are; hosts join it over their links."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
    environment |= {"EDBENCH_STORAGE": str(mount / "storage"), "EDBENCH_SCRATCH": str(home / "scratch")}
    inside = ["nsenter", f"--net={_network(wish.filer)}"]
    corpus = mount / "storage/corpora/c"
    _run(
        *inside,
        str(EDBENCH),
        "corpus",
        "generate",
        str(corpus),
        "--profile",
        "reference",
        "--scale",
        wish.scale,
        "--seed",
        "7",
    )
    most = max(map(int, wish.hosts.split(",")))
    command = ["bench", "scale-up", "--corpus", str(corpus), "--listen", SERVER, "--cold"]
    asked = ["--workers", wish.hosts, "--slots", wish.slots, "--repeats", wish.repeats]
    with contextlib.ExitStack() as hosts:
        process = subprocess.Popen(
            [*inside, str(EDBENCH), *command, *asked], env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            join = home / "scratch/join"
            _wait_for(join, process)
            for number in range(1, most + 1):
                hosts.enter_context(_host(wish.filer, number, home, mount, join))
            out = process.communicate()[0]
        finally:
            process.terminate()
            process.wait()
    if process.returncode:
        sys.exit(f"the experiment gave {process.returncode}")
    print(out)
    return dict(json.loads((Path(out.split("\n")[-2]).parent / "result.json").read_text()))


@contextlib.contextmanager
def _host(filer: str, number: int, home: Path, mount: Path, join: Path) -> Iterator[None]:
    """Named h1, h2, …; with it go its mount and its link."""
    name, scratch = f"h{number}", home / f"h{number}"
    space, servers = f"edb-{name}", f"edb-{filer}"
    _run("ip", "netns", "add", space)
    try:
        _run("ip", "-n", servers, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
        for where, device, address in ((servers, name, 1), (space, "eth0", 2)):
            _run("ip", "-n", where, "addr", "add", f"10.77.{number}.{address}/30", "dev", device)
            _run("ip", "-n", where, "link", "set", device, "up")
        _run("ip", "-n", space, "link", "set", "lo", "up")
        _run("ip", "-n", space, "route", "add", "default", "via", f"10.77.{number}.1")
        begin = f'hostname {name} && umount "{mount}" && {MOUNT[filer]} "{mount}" && exec "$@"'
        spaces = ["--mount", "--mount-proc", "--pid", "--uts", "--fork", "--kill-child"]
        member = [str(EDBENCH), "worker", "--storage", str(mount / "storage"), "--join", str(join), "--name", name]
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{space}", "unshare", *spaces, "sh", "-c", begin, "sh", *member],
            env=os.environ | {"EDBENCH_SCRATCH": str(scratch)},
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()
    finally:
        _run("ip", "netns", "delete", space)


def _show(result: dict[str, Any]) -> None:
    """What each host did, run by run."""
    print("| run | host | workers | busy s | its workers' s | received MB | sent MB | clock ms | index elsewhere |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for run in result["conditions"]["hosts_by_run"]:
        for one in run["hosts"]:
            print(
                f"| {run['run']} | {one['name']} | {one['workers']} | {one['busy_s']:.1f} | {one['workers_cpu_s']:.1f}"
                f" | {one['received_bytes'] / 1e6:.1f} | {one['sent_bytes'] / 1e6:.1f}"
                f" | {one['clock_offset_s']['end'] * 1e3:.3f} | {run.get('on_another_host', 0)} of {run.get('tasks', 0)} |"
            )


def _network(filer: str) -> str:
    return f"/run/netns/edb-{filer}"


def _wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _LOGIN_SECONDS
    while not file.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"there is no {file}")
        time.sleep(0.1)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
