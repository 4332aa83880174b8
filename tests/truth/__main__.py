"""`make truth`: the product on storage whose answer is known in advance (docs/dev/truth.md).

Runs each situation of the table, judges what was said, prints a Markdown table. Exit status 1 when anything is wrong,
and where CI=true when anything is skipped. `--only NAME` (repeatable, a beginning will do), `--json FILE`, `--list`."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from judge import Verdict, judged, row  # noqa: E402
from situations import SITUATIONS, Situation  # noqa: E402
from testbeds import Skipped  # noqa: E402

HEADER = ("situation", "known truth", "what was said", "ceiling known", "measured", "ratio", "right?")


def tried(situation: Situation, keep: bool) -> Verdict:
    """Put it up, ask, judge; nothing is left but what `keep` keeps."""
    work = Path(tempfile.mkdtemp(prefix="edbench-truth-", dir="/var/tmp"))
    work.chmod(0o711)
    try:
        with situation.testbed.up(work) as place:
            return judged(situation, situation.load.hear(place, work))
    except Skipped as reason:
        return Verdict(situation=situation, skipped=str(reason))
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return Verdict(situation=situation, wrong=(f"{type(error).__name__}: {error}",))
    finally:
        if keep:
            print(f"{situation.name}: {work}", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make truth", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--keep", action="store_true", help="leave what the commands wrote")
    wish = parser.parse_args(arguments)
    chosen = [s for s in SITUATIONS if not wish.only or any(s.name.startswith(name) for name in wish.only)]
    if wish.list or not chosen:
        print("\n".join(s.name for s in SITUATIONS))
        return 0 if wish.list else 2
    verdicts = []
    for number, situation in enumerate(chosen, 1):
        began = time.monotonic()
        verdicts.append(tried(situation, wish.keep))
        reported = f"{row(verdicts[-1])[-1]} ({time.monotonic() - began:.0f} s)"
        print(f"{number}/{len(chosen)} {situation.name}: {reported}", file=sys.stderr, flush=True)
    print_table(verdicts)
    if wish.json is not None:
        rows = [dict(zip(HEADER, row(verdict), strict=True)) for verdict in verdicts]
        wish.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    skipped = sum(verdict.skipped is not None for verdict in verdicts)
    wrong = sum(bool(verdict.wrong) for verdict in verdicts)
    print(f"\n{len(verdicts)} situations: {len(verdicts) - wrong - skipped} right, {wrong} wrong, {skipped} skipped")
    return 1 if wrong or (skipped and os.environ.get("CI") == "true") else 0


def print_table(verdicts: Sequence[Verdict]) -> None:
    """In Markdown."""
    for cells in (HEADER, tuple("---" for _ in HEADER), *map(row, verdicts)):
        print(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
