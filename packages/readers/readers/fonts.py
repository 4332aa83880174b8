r"""Code pages of fonts by the number of their character set ([MS-WMF] 2.1.1.5, RTF 1.9.1 `\\fcharset`)."""

from __future__ import annotations

# Without 0 (ANSI) and 1 (default), which mean the setting of the document or the machine.
FONT_CODECS = {
    2: "cp1252",
    77: "mac_roman",
    78: "shift_jis",
    79: "cp949",
    80: "gb18030",
    81: "cp950",
    83: "windows-1252",
    84: "mac_arabic",
    85: "mac_greek",
    86: "mac_turkish",
    87: "cp874",
    88: "mac_latin2",
    89: "mac_cyrillic",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
