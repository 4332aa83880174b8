"""PDF files for tests, from their objects (ISO 32000-1, 7.5)."""

CATALOGUE = b"<</Type/Catalog/Pages 2 0 R%b>>"
PAGES = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
CONTENT = b"/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>"  # entries of a page


def pdf(*objects: bytes, info: int = 0) -> bytes:
    """A file of these objects, numbered from 1; the first is the catalogue, number `info` has the properties."""
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"<</Size %d/Root 1 0 R%b>>" % (len(objects) + 1, b"/Info %d 0 R" % info if info else b"")
    table = b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table)
    return out + table + b"trailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (trailer, len(out))


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object with further entries in its dictionary."""
    return b"<<%b/Length %d>>\nstream\n%b\nendstream" % (entries, len(data), data)


def page(entries: bytes = b"", box: bytes = b"0 0 300 300") -> bytes:
    """The page, with further entries."""
    return b"<</Type/Page/Parent 2 0 R/MediaBox[%b]%b>>" % (box, entries)


def one_page(*objects: bytes, entries: bytes = b"", catalogue: bytes = b"", info: int = 0) -> bytes:
    """A file of one page: the catalogue and the page have these entries, further objects are numbered from 4."""
    return pdf(CATALOGUE % catalogue, PAGES, page(entries), *objects, info=info)


def showing(content: bytes, *objects: bytes, catalogue: bytes = b"") -> bytes:
    """A file of one page with this content, whose font F is Helvetica; further objects are numbered from 6."""
    return one_page(stream(content), HELVETICA, *objects, entries=CONTENT, catalogue=catalogue)
