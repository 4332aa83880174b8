"""plist: binary property lists."""

import plistlib

from reading import handler

_PAGE = {
    "WebMainResource": {"WebResourceData": b"page", "WebResourceURL": "http://e/x", "WebResourceMIMEType": "text/html"}
}
SEEDS = [plistlib.dumps(one, fmt=plistlib.FMT_BINARY) for one in ({"key": ["value", 1, 2.5], "x": "ü"}, _PAGE)]
read = handler("application/x-bplist")
