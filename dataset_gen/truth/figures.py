"""Pictures of a corpus's distributions, from its dataset.json and its manifest (needs matplotlib)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dataset_gen.truth import manifest as m

_BAR, _MARK = "#4477aa", "#cc6677"
_TYPES_SHOWN = 28
_OFFICE = "application/vnd.openxmlformats-officedocument."


def draw(figures: dict[str, Any], corpus: Path, where: Path) -> list[Path]:
    """Write the pictures; return their paths."""
    where.mkdir(parents=True, exist_ok=True)
    return [
        _save(_types(figures), where / "types.svg"),
        _save(_sizes(figures), where / "sizes.svg"),
        _save(_shape(figures), where / "shape.svg"),
        _save(_mail(figures, m.read_manifest(corpus)), where / "mail.svg"),
    ]


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    return path


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _plain(axes: Axes, title: str, label: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(label, fontsize=9)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _short(media_type: str) -> str:
    return media_type.removeprefix(_OFFICE).removeprefix("application/vnd.").removeprefix("application/")


def _types(figures: dict[str, Any]) -> Figure:
    """Draw the shares of all items by media type, with those that the profile demands."""
    counts = sorted(figures["media_types"].items(), key=lambda pair: -pair[1])[:_TYPES_SHOWN]
    figure = _figure(8, 6.5)
    axes = figure.add_subplot()
    names = [_short(name) for name, _ in counts]
    axes.barh(names, [100 * count / figures["items"] for _, count in counts], color=_BAR, label="generated")
    types = figures["wanted"]["types"]
    wanted = [(n, 100 * types[name]) for n, (name, _) in enumerate(counts) if name in types]
    axes.plot([share for _, share in wanted], [n for n, _ in wanted], "|", color=_MARK, ms=12, mew=2, label="profile")
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8)
    _plain(axes, f"Items by media type ({figures['items']:,} items)", "% of all items")
    return figure


def _sizes(figures: dict[str, Any]) -> Figure:
    """Draw the sizes of loose files, and by type."""
    figure = _figure(10, 5)
    left, right = figure.subplots(1, 2)
    file_sizes = figures["distributions"]["loose_file_sizes"]
    left.bar([_size(int(step)) for step in file_sizes], list(file_sizes.values()), color=_BAR)
    left.tick_params(axis="x", rotation=60)
    _plain(left, "Sizes of loose files", "from … to four times as much")
    by_type = sorted(figures["distributions"]["sizes_by_type"].items(), key=lambda pair: -pair[1]["items"])[:18]
    for n, (_, sizes) in enumerate(by_type):
        right.plot([max(1, sizes["p10"]), max(1, sizes["p90"])], [n, n], color=_BAR, lw=5, solid_capstyle="butt")
        right.plot([max(1, sizes["p50"])], [n], "o", color=_MARK, ms=4)
    right.set_xscale("log")
    right.set_yticks(range(len(by_type)), [_short(name) for name, _ in by_type])
    right.invert_yaxis()
    _plain(right, "Bytes by media type: 10 % to 90 %, median", "bytes")
    return figure


def _size(number: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number} {unit}"
        number //= 1024
    return f"{number} GiB"


def _shape(figures: dict[str, Any]) -> Figure:
    """Draw depths, folders and custodians."""
    figure = _figure(10, 3.6)
    first, second, third = figure.subplots(1, 3)
    depths = {k: v for k, v in figures["depths"].items() if int(k) <= 10}
    first.bar(list(depths), list(depths.values()), color=_BAR)
    first.set_yscale("log")
    _plain(first, "Items by depth", "containers and parents around")
    folders = figures["distributions"]["folder_depths"]
    second.bar(list(folders), list(folders.values()), color=_BAR)
    _plain(second, "Loose files by depth of folder", "folders above")
    third.barh(list(figures["custodians"]), [size / 1e6 for size in figures["custodians"].values()], color=_BAR)
    _plain(third, "Raw bytes by custodian", "MB")
    return figure


def _mail(figures: dict[str, Any], table: Any) -> Figure:
    """Draw attachments of messages, lengths of threads, and how often the same bytes occur in the corpus."""
    figure = _figure(10, 3.6)
    left, middle, right = figure.subplots(1, 3)
    lengths = {int(k): v for k, v in figures["distributions"]["thread_lengths"].items()}
    middle.loglog(list(lengths), list(lengths.values()), "o", color=_BAR, ms=4)
    _plain(middle, "Threads by number of messages", "messages")
    children = {k: v for k, v in figures["distributions"]["children_a_message"].items() if int(k) <= 12}
    left.bar(list(children), list(children.values()), color=_BAR)
    left.set_yscale("log")
    _plain(left, "Messages by number of attachments", "attachments")
    groups = Counter(group for group in table[m.DUPLICATE_GROUP].to_pylist() if group is not None)
    copies = Counter(min(count, 12) for count in groups.values())
    right.bar([str(n) for n in sorted(copies)], [copies[n] for n in sorted(copies)], color=_BAR)
    right.set_yscale("log")
    _plain(right, "Items that occur more than once", "places (12: and more)")
    return figure
