"""ar: archives of Unix and Debian."""

from reading import handler

read = handler("application/x-archive")
SEEDS = [
    b"!<arch>\n//                                              12        `\nlong-name/\n\n"
    b"/0              0           0     0     100644  5         `\nhello\n"
    b"#1/4            0           0     0     100644  6         `\nnameab",
]
