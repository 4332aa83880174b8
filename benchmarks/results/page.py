"""docs/dev/results/README.md out of the packages: every number of it comes from there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import figures_table, other_tables, sentences
from benchmarks.results.nfs_counts import nfs_counts
from benchmarks.results.record import PUBLISHED
from benchmarks.results.storages import STORAGES
from benchmarks.results.told import Told, told

TEMPLATE = Path(__file__).with_name("page.md")
PAGE = PUBLISHED.parent / "README.md"
_BUSY = 0.25  # of all processors, before a step: more than idle servers take


def page(storages: Sequence[Told]) -> str:
    """The whole text."""
    parts = {
        "machine": _machine(storages),
        "labelled": sentences.labelled(storages),
        "ours": sentences.ours(storages),
        "repeats": sentences.repeats(storages),
        "replays": sentences.replays(storages),
        "data": sentences.data(storages),
        "control": sentences.control(storages),
        "size": ", ".join(sorted({str(one.record["size"]) for one in storages})),
        "table": figures_table.table(storages),
        "limits": other_tables.limits(storages),
        "tools": other_tables.tools(storages),
        "counters": other_tables.counters(storages),
        "nfs": nfs_counts(),
        "packages": other_tables.packages(storages),
        "took": sentences.took(storages),
        "span": sentences.span(storages),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part if isinstance(part, str) else "\n".join(part))
    return text


def write_page() -> Path:
    """Over all that is published."""
    with told() as storages:
        PAGE.write_text(page(storages), encoding="utf-8")
    return PAGE


def _machine(storages: Sequence[Told]) -> str:
    """Which one, and how busy it was with other things."""
    lines = []
    for one in storages:
        host = one.record["host"]
        loads = [step["busy"] for step in one.record["steps"]] or [0.0]
        said = f"{host['processors']} processors ({host['model']}), {host['memory_gb']:.0f} GB, Linux {host['kernel']}"
        lines.append((said, one.title, min(loads), max(loads)))
    out = []
    for said in dict.fromkeys(line[0] for line in lines):
        mine = [line for line in lines if line[0] == said]
        out.append(f"All was measured on one machine: {said}. What other programs and idle servers kept busy of its processors in the second before each step:" if len(mine) == len(lines)
                   else f"Measured on {said}; busy before each step:")  # fmt: skip
        out.append("; ".join(f"{title} {least:.0%} – {most:.0%}" for _, title, least, most in mine)
                   + ".")  # fmt: skip
    return "\n".join([*out, *_beside(storages), "", *map(_what, storages), *_given(storages)])


def _given(storages: Sequence[Told]) -> list[str]:
    """Whose servers and network nobody here has seen."""
    ours = {storage.name for storage in STORAGES}
    titles = [one.title for one in storages if one.record["storage"] not in ours]
    if not titles:
        return []
    return ["", f"What follows is said of storages that this command brings up itself. Those that somebody had mounted ({', '.join(titles)}) have"
            " servers and networks of their own, as the line above tells; what their figures are worth, their packages' labels say."]  # fmt: skip


def _beside(storages: Sequence[Told]) -> list[str]:
    """Whose figures are those of what other work left."""
    titles = [one.title for one in storages if sum(step["busy"] > _BUSY for step in one.record["steps"]) > 1]
    if not titles:
        return []
    return ["", f"**This machine did other work beside** ({', '.join(titles)}): more than {_BUSY:.0%} of it was busy before several"
            " steps (column *processors busy before*, below). Such figures are what that work left over. What they say of one storage against"
            " another, or of more workers against fewer, may be that work's doing."]  # fmt: skip


def _what(one: Told) -> str:
    """A storage in a line."""
    mount = f"; {one.record['mount']}" if one.record["mount"] else ""
    why_not = f"; not measured: {one.record['why_not']}" if one.record["why_not"] else ""
    return f"- **{one.title}**: {one.record['about']}{mount}{why_not}"
