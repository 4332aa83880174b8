"""plist: binary property lists."""

import plistlib

from reading import handler

SEEDS = [plistlib.dumps({"key": ["value", 1, 2.5], "x": "ü"}, fmt=plistlib.FMT_BINARY)]
read = handler("application/x-bplist")
