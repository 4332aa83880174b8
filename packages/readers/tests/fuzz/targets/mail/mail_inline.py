"""uuencoded and yEnc files in the text of a message."""

from readers.mail.inline import decode_yenc, inline_files

SEEDS = [
    b"text\nbegin 644 a.txt\n#0V%T\n`\nend\n",
    b"=ybegin line=128 size=3 name=a.bin\n=}}\x8e\n=yend size=3\n",
]


def read(data: bytes) -> None:
    inline_files(data, 0, len(data))
    decode_yenc(data)
