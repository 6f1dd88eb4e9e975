# SPDX-License-Identifier: MIT
"""Tables of docs/reliability.md that are made from files of counts: between two marks, of which the first names the file."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs/reliability.md"
END = "<!-- end of counts -->\n"


def begin(file):
    return f"<!-- {file.relative_to(root)} -->\n"


def write(file, table):
    """Puts the table in its place on the page."""
    head, rest = page.read_text().split(begin(file))
    page.write_text(head + begin(file) + table + END + rest.split(END, 1)[1])


def check(file, table, made_by):
    """Ends the program unless the page has this table."""
    text = page.read_text()
    if text.count(begin(file)) != 1 or begin(file) + table + END not in text:
        sys.exit(f"the table of docs/reliability.md is not that of {file.relative_to(root)}; {made_by} writes both")
