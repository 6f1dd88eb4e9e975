# SPDX-License-Identifier: MIT
"""Signatures and docstrings from the option tables of the library, so that they cannot disagree with it."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Iterable, List

from . import _lastlayer as native

TABLES: Dict[str, List[dict]] = native.tables()
TYPES = {"flag": "bool", "int": "int", "seed": "int", "real": "float", "text": "str"}


def annotation(row: dict) -> str:
    words = "Literal[" + ", ".join(repr(word) for word in row["choices"].split("|")) + "]" if row["choices"] else ""
    if row["type"] == "choice":
        kind = words
    else:
        kind = f"{TYPES[row['type']]} | {words}" if words else TYPES[row["type"]]
    return f"Optional[{kind}]" if row["default"] is None else kind


def rows(table: str, without: Iterable[str] = ()) -> List[dict]:
    return [row for row in TABLES[table] if row["name"] not in set(without)]


def parameters(table: str, without: Iterable[str] = ()) -> List[inspect.Parameter]:
    return [inspect.Parameter(row["name"], inspect.Parameter.KEYWORD_ONLY, default=row["default"], annotation=annotation(row))
            for row in rows(table, without)]


def describe(table: str, without: Iterable[str] = ()) -> str:
    lines = []
    for row in rows(table, without):
        choices = ": " + row["choices"].replace("|", ", ") if row["choices"] else ""
        standard = f" [{row['standard']}]" if row["standard"] else ""
        lines.append(f"{row['name']}: {row['help']}{choices}{standard}")
    return "\n    ".join(lines)


def options(*tables: str, without: Iterable[str] = ()) -> Callable:
    """The function takes **options of these tables: its signature and docstring say which."""
    left_out = tuple(without)

    def dress(function: Callable) -> Callable:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = [p for table in tables for p in parameters(table, left_out) if p.name not in signature.parameters]
        function.__signature__ = signature.replace(parameters=own + named)  # type: ignore[attr-defined]
        text = inspect.cleandoc(function.__doc__ or "")
        described = "\n    ".join(describe(table, left_out + tuple(signature.parameters)) for table in tables)
        function.__doc__ = f"{text}\n\nOptions [default]:\n    {described}\n"
        return function

    return dress


def split(given: Dict[str, Any], *tables: str) -> List[Dict[str, Any]]:
    """The options of each table; a TypeError names one that none of them has."""
    parts: List[Dict[str, Any]] = [{} for _ in tables]
    for name, value in given.items():
        for part, table in zip(parts, tables):
            if any(row["name"] == name for row in TABLES[table]):
                part[name] = value
                break
        else:
            raise TypeError(f"there is no argument {name}")
    return parts
