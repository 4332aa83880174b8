"""`make results`: storage by storage the existing commands are run, their packages kept, and docs/dev/results/README.md told from them.

Needs root, and for GlusterFS, MooseFS and S3 ../shared/tools/filers; what cannot be had is a row that says so.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import time
from pathlib import Path

from benchmarks.results.bench import StepFailed
from benchmarks.results.campaign import RECORDING, STATE, Campaign, say
from benchmarks.results.page import write_page
from benchmarks.results.retell import differences, retell
from benchmarks.results.sizes import SIZES, SMALL, WHOLE
from benchmarks.results.storages import DEFAULT, QUICK, STORAGES, CannotBeHad, Storage

_MINUTES = 107.0  # and the last step's own, which may take twelve more: two hours
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


def main() -> None:
    """Exit status 0 when everything was measured or says why it was not."""
    # Begun in the background by a shell it would ignore Ctrl-C, and so would every command that it has to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wish = _wish()
    if wish.check:
        sys.exit("\n".join(differences()) or None)
    if wish.retell:
        retell()
    elif not wish.page:
        _measure(wish)
    say(f"the page: {write_page()}")


def _wish() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make results RESULTS_ARGS=…", description=__doc__)
    parser.add_argument("--only", metavar="NAME,NAME,…", help=f"some of {', '.join(DEFAULT)}")
    parser.add_argument(
        "--small", action="store_true", help=f"smaller sizes, and without --only {', '.join(QUICK)} alone"
    )
    parser.add_argument("--size", choices=sorted(SIZES), help="of everything")
    parser.add_argument(
        "--minutes",
        type=float,
        default=_MINUTES,
        help="begin no step after so many, shared out over the storages (%(default)s)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on where it was interrupted; what failed is tried again"
    )
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--retell", action="store_true", help="tell packages and page anew from what was observed")
    parser.add_argument(
        "--check", action="store_true", help="`edbench result check` of every package, and nothing else"
    )
    parser.add_argument("--mount", type=Path, metavar="DIR", help="a storage of your own: an empty directory on it")
    parser.add_argument("--name", help="of it, for files")
    parser.add_argument("--title", help="of it, for the page")
    parser.add_argument("--about", default="", help="what it is made of")
    parser.add_argument("--filer-cache", default="", help="what it can cache, such as 32GB")
    wish = parser.parse_args()
    if wish.mount is not None and not _NAME.fullmatch(wish.name or ""):
        parser.error("--mount wants a --name of small letters, digits and dashes")
    if wish.mount is not None and wish.name in (RECORDING, *(storage.name for storage in STORAGES)):
        parser.error(f"--name {wish.name} is what edbench itself measures; take another one")
    if not all(text.isprintable() and "|" not in text for text in (wish.title or "", wish.about)):
        parser.error("--title and --about are a line each, without |")
    return wish


def _measure(wish: argparse.Namespace) -> None:
    storages = _storages(wish)
    sizes = SIZES[wish.size] if wish.size else SMALL if wish.small else WHOLE
    if not wish.resume:
        for name in (RECORDING, *(storage.name for storage in storages)):
            shutil.rmtree(STATE / name, ignore_errors=True)
    places = {storage.name: number for number, storage in enumerate(STORAGES)}
    campaign = Campaign(storages=storages, sizes=sizes, minutes=wish.minutes, began=time.monotonic(), places=places)
    try:
        campaign.carry_out()
    except (CannotBeHad, StepFailed) as why:
        sys.exit(f"results: {why}")


def _storages(wish: argparse.Namespace) -> list[Storage]:
    if wish.mount is not None:
        return [Storage(name=wish.name, title=wish.title or wish.name, about=wish.about, kind="given",
                        mounted=wish.mount.absolute(), cache=wish.filer_cache)]  # fmt: skip
    known = {storage.name: storage for storage in STORAGES}
    names = wish.only.split(",") if wish.only else QUICK if wish.small else DEFAULT
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"results: there is no storage {unknown[0]}; there are {', '.join(known)}")
    return [known[name] for name in names]


if __name__ == "__main__":
    main()
