"""The page's style sheet: light, dark and print from one set of variables."""

from __future__ import annotations

from experiments.report.markup import Html, tag
from experiments.report.palette import variables

_RULES = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:60rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif}
.verdict{font-size:1.3rem;font-weight:650;line-height:1.35;margin:0 0 1rem;padding:.9rem 1.1rem;background:var(--panel);
border-left:.35rem solid var(--s0);overflow-wrap:anywhere}
.verdict.doubt{border-left-color:var(--s1)}
h1{font-size:1.15rem;font-weight:600;margin:0 0 .3rem}
h2{font-size:1.25rem;margin:2.6rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--grid)}
p{margin:.5rem 0}
.note,.missing,.facts,figcaption .file{color:var(--faint);font-size:.875rem}
.missing{font-style:italic}
.warnings{border:1px solid var(--s1);padding:.3rem 1rem .5rem;margin:1rem 0}
.warnings h2{border:0;margin:.3rem 0 0;padding:0;font-size:1rem;color:var(--warn)}
ul{margin:.3rem 0;padding-left:1.2rem}
nav{font-size:.875rem;margin:1rem 0}
nav a{margin-right:.9rem;white-space:nowrap}
a{color:var(--s0)}
figure{margin:1rem 0 1.4rem}
figure svg{display:block;max-width:100%;height:auto}
figure svg text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif!important}
figcaption{margin-top:.35rem}
.table{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.2rem .6rem .3rem 0}
th,td{text-align:left;padding:.28rem .7rem;border-bottom:1px solid var(--grid);vertical-align:top}
th{font-weight:600;border-bottom-color:var(--faint)}
td{overflow-wrap:break-word}
.number{text-align:right}
.interval{display:block;color:var(--faint);font-size:.8rem}
td.number{white-space:nowrap}
tr.marked td{background:var(--panel)}
table.wide{font-size:.78rem}
table.wide th,table.wide td{padding:.28rem .38rem}
code{font-size:.92em}
@media print{
body{max-width:none;padding:0;font-size:10pt}
nav{display:none}
figure,tr,.warnings,.verdict{break-inside:avoid}
h2,caption{break-after:avoid}
.table{overflow:visible}
table{font-size:8pt}
th,td{padding:.15rem .35rem}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
@page{size:A4;margin:15mm}
}
"""


def style_sheet() -> str:
    """CSS for the page's `<style>`; holds neither `<` nor `&`."""
    return (
        f":root{{color-scheme:light dark;{variables(dark=False)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(dark=True)}}}}}{_RULES}"
    )


def document(title: str, *body: Html) -> str:
    """A whole page that needs nothing but itself; well-formed as XML as well as HTML."""
    head = tag(
        "head",
        Html('<meta charset="utf-8"/>'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        tag("title", title),
        tag("style", Html(style_sheet())),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body), lang='en')}\n"
