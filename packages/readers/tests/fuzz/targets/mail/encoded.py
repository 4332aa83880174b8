"""Loose files in uuencode, yEnc or BinHex."""

from reading import handler

read = handler("text/x-uuencode")
SEEDS = [
    b"text\nbegin 644 a.txt\n#0V%T\n`\nend\n",
    b"> begin-base64 644 a.txt\n> Q2F0\n> ====\n",
    b"=ybegin line=128 size=3 name=a.bin\n=}}\x8e\n=yend size=3\n",
    b"(This file must be converted with BinHex 4.0)\n:#P*PF'pbG#jdH(3!9%9B9(4dH(3!:\n",
]
