"""Web pages: nesting, attributes, pictures within the page."""

from shapes.shape import shapes


def _attributes(n: int) -> bytes:
    return b"".join(b"<body a%d>" % i for i in range(n))


def _fonts(n: int) -> bytes:
    return b"".join(b"<div><font a=%d></div>" % i for i in range(n)) + b"<p>x" * n


SHAPES = [
    *shapes(
        "text/html",
        ("nesting that no closing tag ends", 8_000, lambda n: b"<div></x>" * n),
        ("closing tags first", 8_000, lambda n: b"</div>" * n + b"<div>" * n),
        ("tables in drop-down lists", 2_500, lambda n: b"<table><tr><td><select><option>" * n),
        ("lists in lists", 5_000, lambda n: b"<ul><li>" * n),
        ("deep, then wide", 2_000, lambda n: b"<div>" * 1500 + b"<p>x</p>" * n),
        ("attributes of a body that begins again", 8_000, _attributes),
        ("formatting that is taken up again", 3_000, _fonts),
        ("long names of tags", 4, lambda n: (b"<" + b"a" * 14_000) * n),
        ("attributes without end", 2, lambda n: b"<a " + b"b=c " * 5000 * n + b">"),
        ("unclosed styles", 10_000, lambda n: b"<style>a" * n),
        ("quotation marks without end in tags", 10_000, lambda n: b"<a b='c\" d>" * n + b'<a b="c'),
        ("unclosed comments", 10_000, lambda n: b"<!--" * n),
        ("text among table rows", 6_000, lambda n: b"<table>" + b"a<tr>" * n),
        ("titles", 6_000, lambda n: b"<title>a</title>" * n),
        ("pictures within the page", 3_000, lambda n: b'"data:a/b,' * n),
        ("pictures without an end", 2_000, lambda n: b"'data:a/b;base64,QQ" * n),
        ("schemes that begin nothing", 1_000, lambda n: b"data:" * n),
        ("templates that are shown", 1_000, lambda n: b"<template shadowrootmode=open>a" * n),
        ("templates that do not end", 2_000, lambda n: b"<template shadowroot='" * n),
        ("blank lines", 40_000, lambda n: b"<pre>" + b" \n" * n),
        (
            "a page like most",
            500,
            lambda n: b"<div><p class=a>some <b>text</b> here</p><table><tr><td>1</table></div>" * n,
        ),
    ),
    *shapes(
        "multipart/related",
        (
            "many parts",
            2_000,
            lambda n: (
                b"From: a\nContent-Type: multipart/related; boundary=B\n\n" + b"--B\nContent-Location: a\n\nx\n" * n
            ),
        ),
    ),
]
