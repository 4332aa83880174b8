"""Templates that a browser shows in place (declarative shadow DOM): most of the text of some of today's pages."""

from __future__ import annotations

import re

NAMES = ("shadowroot", "shadowRoot", "SHADOWROOT")  # what a page that has any holds, in one of these ways
# A template's tag; no other bracket is in it, so that time grows with the length only.
_TAG = re.compile(r"<(/?)template((?=[\s/>])(?:[^<>\"']++|\"[^\"<>]*+\"|'[^'<>]*+'|(?!))*+)>", re.IGNORECASE)
_ROOT = re.compile(r"[\s\"'/]shadowroot(?:mode)?\s*=\s*[\"']?(?:open|closed)(?![\w-])", re.IGNORECASE)


def shown(markup: str) -> str:
    """The page with blocks instead of such templates; the others, which only scripts show, stay."""
    open_tags: list[bool] = []  # whether each is such a one

    def block(tag: re.Match[str]) -> str:
        if not tag[1]:
            open_tags.append(_ROOT.search(tag[2]) is not None)
            return "<div>" if open_tags[-1] else tag[0]
        return "</div>" if open_tags and open_tags.pop() else tag[0]

    return _TAG.sub(block, markup)
