# SPDX-License-Identifier: MIT
"""Tables for notebooks, made of the Markdown that the library writes. No scripts, no styles outside of the elements."""
from __future__ import annotations

import html
from typing import List

FOLDED = ("sr from",)  # tables that begin like this are long; a click opens them


def _cells(line: str) -> List[str]:
    return [html.escape(cell.strip().replace("\\[", "[").replace("\\|", "|")) for cell in line.strip().strip("|").split("|")]


def _is_interval(row: List[str]) -> bool:
    """A row that has nothing but the intervals of the numbers above it."""
    return any(row) and all(not cell or cell.startswith("[") for cell in row)


def _table(lines: List[str]) -> str:
    names, rows = _cells(lines[0]), [_cells(line) for line in lines[2:]]
    body: List[List[str]] = []
    for row in rows:
        if body and _is_interval(row):
            for i, cell in enumerate(row[:len(body[-1])]):
                body[-1][i] += f"<br><small>{cell}</small>" if cell else ""
        else:
            body.append(list(row))
    align = ["right" if rule.endswith(":") else "left" for rule in _cells(lines[1])]
    head = "".join(f'<th style="text-align:{a}">{name}</th>' for name, a in zip(names, align))
    made = "".join("<tr>" + "".join(f'<td style="text-align:{a};vertical-align:top">{cell}</td>' for cell, a in zip(row, align)) + "</tr>" for row in body)
    table = f'<table><thead><tr>{head}</tr></thead><tbody>{made}</tbody></table>'
    return f"<details><summary>bins of sr</summary>{table}</details>" if names[0] in FOLDED else table


def markdown_html(text: str) -> str:
    """The subset of Markdown that the library writes: tables, lists, paragraphs. What is recommended comes first."""
    out: List[str] = []
    first: List[str] = []
    lines: List[str] = []
    notes: List[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
            continue
        if lines:
            out.append(_table(lines))
            lines = []
        if line.startswith("- **"):
            name, _, meaning = line[4:].partition("**: ")
            notes.append(f"<li><b>{html.escape(name)}</b>: {html.escape(meaning)}</li>")
        elif line.startswith("Recommended: "):
            name, _, why = line[len("Recommended: "):].partition(". ")
            first.append(f"<p><b>Recommended: {html.escape(name)}.</b> {html.escape(why)}</p>")
        elif line.strip():
            (first if first else out).append(f"<p>{html.escape(line)}</p>")
    if notes:
        out.append("<details><summary>what the columns mean</summary><ul>" + "".join(notes) + "</ul></details>")
    return '<div style="overflow-x:auto">' + "".join(first + out) + "</div>"


def lines_html(text: str) -> str:
    """A text of a few lines, the first of them in bold."""
    first, *more = text.strip().splitlines() or [""]
    return "<div><b>" + html.escape(first) + "</b>" + "".join(f"<br>{html.escape(line)}" for line in more) + "</div>"
