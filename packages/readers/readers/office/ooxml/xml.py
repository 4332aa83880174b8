"""Reading the XML of a part: small parts as a tree (fast), large ones element by element (in bounded memory).

No entity is replaced and nothing outside the part is ever fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from lxml import etree

from readers.errors import DocumentError, corrupt
from readers.text.xml_tree import PLAIN

_TREE_BYTES = 2_000_000
_KNOWN_SPACES = (
    "http://schemas.microsoft.com/",
    "http://schemas.openxmlformats.org/",
    "urn:schemas-microsoft-com:",
    "http://purl.oclc.org/ooxml/",
)
_WITH_WORDS = frozenset(("t", "delText", "instrText", "text", "v", "f"))
_RELATED = "elationships}"  # attributes that name a part: in the namespace of relationships, strict or not
_SHOWN = frozenset(("slicer", "timeslicer"))  # elements that show a part that they name
_RUNS = frozenset(("r", "oMath", "oMathPara", "hyperlink", "fldSimple"))  # parts of paragraphs
_FORMULA = "{*}oMath"
_ENTITIES = "it defines entities, which are not replaced"
Element = etree._Element


# Creating a parser takes longer than reading a small part. Comments and instructions would end a text within it.
_STRICT, _LENIENT = (etree.XMLParser(recover=recover, **PLAIN) for recover in (False, True))


def elements(pieces: Iterator[bytes], *tags: str, whole: Callable[[Element], None] | None = None) -> Iterator[Element]:
    """Yield every element with one of these local names, in order. Text boxes come separately from the paragraph that
    anchors them. The fallback of mc:AlternateContent is omitted if a choice has text or shows something. Readable
    elements come first, then DocumentError `corrupt` (or the errors of `pieces`). `whole` is called with the root if
    the part is read as a tree, before the first element."""
    names = tuple("{*}" + tag for tag in tags)
    data, failed, more = gathered(pieces)
    if more:
        yield from _streamed(data, pieces, names)
        return
    root, broken = tree(data)
    if root is not None:
        if "p" in tags:
            _put_in_paragraphs(root)
        if next(root.iter("{*}txbxContent", "{*}Fallback"), None) is not None:
            _take_apart(root)
        if whole is not None:
            whole(root)
        yield from root.iter(*names)
    if failed or broken:
        raise failed or corrupt(f"a part is not well-formed XML: {broken}")


def present(root: Element, tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags that occur in the tree. libxml2 knows at once a name that no document had so far; searching below
    each of a thousand paragraphs for ten absent names takes longer than parsing them."""
    return tuple(tag for tag in tags if next(root.iter(tag), None) is not None)


def gathered(pieces: Iterator[bytes]) -> tuple[bytes, DocumentError | None, bool]:
    """Return, up to the size of a tree: the bytes, the error that ended them early, and whether there may be more."""
    got: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            got.append(piece)
            size += len(piece)
            if size > _TREE_BYTES:
                return b"".join(got), None, True
    except DocumentError as error:
        return b"".join(got), error, False
    return b"".join(got), None, False


def tree(data: bytes) -> tuple[Element | None, str]:
    """Return the root, and the error if the document is not well-formed."""
    try:
        root = etree.fromstring(data, _STRICT)
        return root, _without_entities(root)
    except (etree.XMLSyntaxError, ValueError) as error:
        broken = str(error)[:200]
    try:
        return etree.fromstring(data, _LENIENT), broken
    except (etree.XMLSyntaxError, ValueError):
        return None, broken


def _without_entities(root: Element) -> str:
    """Remove references to entities that the document defines, which the standard forbids (ECMA-376 part 2, 6.2.5);
    return the error, "" if there are none."""
    if root.getroottree().docinfo.internalDTD is None or next(root.iter(etree.Entity), None) is None:
        return ""
    etree.strip_tags(root, etree.Entity)
    return _ENTITIES


def _take_apart(root: Element) -> None:
    """Remove fallback copies; move text boxes after everything else, so that no paragraph is inside another."""
    for alternatives in list(root.iter("{*}AlternateContent")):
        choices = filter(_is_known, alternatives.iterchildren("{*}Choice"))
        if any(next(_shows(choice), None) is not None for choice in choices):
            for copy in list(alternatives.iterchildren("{*}Fallback")):
                alternatives.remove(copy)
    for box in list(root.iter("{*}txbxContent")):
        root.append(box)  # moves it


def _put_in_paragraphs(root: Element) -> None:
    """Put runs that are in no paragraph into one: formulas of their own (17.2.2), and runs of careless programs."""
    waiting = [root]
    for parent in waiting:  # which grows
        made: Element | None = None
        for child in parent:
            name = local(child)
            if name in _RUNS:
                if made is None:
                    made = etree.Element("p")
                    child.addprevious(made)
                made.append(child)
            elif name != "p":
                made = None
                if len(child) and name[-2:] != "Pr":
                    waiting.append(child)


def _is_known(choice: Element) -> bool:
    """Return whether a reader knows the namespaces of an alternative (ISO/IEC 29500-3, 7.6), which it takes if that has
    words or shows a part: those of Microsoft and of the standard."""
    spaces = (choice.nsmap.get(prefix) for prefix in choice.get("Requires", "").split())
    return all(space is not None and space.startswith(_KNOWN_SPACES) for space in spaces)


def _shows(element: Element) -> Iterator[object]:
    """Yield the words of an element, and its references to other parts."""
    for node in element.iter():
        if (
            (local(node) in _WITH_WORDS and node.text and not node.text.isspace())
            or local(node) in _SHOWN
            or any(_RELATED in str(key) or key == "string" for key in node.attrib)
        ):
            yield node


def _streamed(first: bytes, pieces: Iterator[bytes], names: tuple[str, ...]) -> Iterator[Element]:
    tags = (*names, _FORMULA) if "{*}p" in names else names
    parser = etree.XMLPullParser(events=("end",), tag=tags, **PLAIN)
    failed: DocumentError | None = None
    served: set[Element] = set()
    data: bytes | None = first
    while data and failed is None:
        try:
            parser.feed(data)
            data = next(pieces, None)
        except DocumentError as error:
            failed = error
        except etree.XMLSyntaxError as error:
            failed = corrupt(f"a part is not well-formed XML: {str(error)[:200]}")
        yield from _ready(parser, names, served)
    if failed is not None:
        raise failed
    try:
        types: Any = parser.close().getroottree().docinfo.internalDTD
    except etree.XMLSyntaxError as error:
        raise corrupt(f"a part is not well-formed XML: {str(error)[:200]}") from error
    if types is not None and next(types.iterentities(), None) is not None:
        raise corrupt(f"a part is not well-formed XML: {_ENTITIES}")


def _ready(parser: etree.XMLPullParser, names: tuple[str, ...], served: set[Element]) -> Iterator[Element]:
    """Yield complete elements, inner ones first; each is emptied after use (not the links of a paragraph), and siblings
    before it are released unless a later element needs them. `served`: alternatives of which a choice was taken."""
    above: Element | None = None
    copied = within = in_line = False
    choice: Element | None = None
    try:
        for _, node in parser.read_events():
            element = cast("Element", node)
            parent = element.getparent()
            if parent is not above or parent is None:  # thousands of rows have the same ancestors
                above = parent
                copied = any(copy.getparent() in served for copy in element.iterancestors("{*}Fallback"))
                choice = next(filter(_is_known, element.iterancestors("{*}Choice")), None)
                within = next(element.iterancestors(*names), None) is not None
                in_line = within and next(element.iterancestors("{*}p"), None) is not None
            if element.tag.endswith(_FORMULA[3:]):
                if within:
                    continue
                element.tag = "p"
            if choice is not None and next(_shows(element), None) is not None:
                served.add(cast("Element", choice.getparent()))
            if not copied:
                yield element
            if not in_line or local(element) == "p":
                element.clear()
            if within:
                continue
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError:  # raised again by the next feed or close
        return


def local(element: Element | None) -> str:
    """Return the local name of an element; "" for none, comments and processing instructions."""
    tag = None if element is None else element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element | None, name: str) -> str:
    """Return an attribute by its local name: without namespace, in its element's, or in another; or ""."""
    if element is None:
        return ""
    if (value := element.get(name)) is not None:
        return value
    space, bracket, _ = str(element.tag).rpartition("}")
    if (value := element.get(space + bracket + name)) is not None:
        return value
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")
