#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Type stubs of the modules whose functions take the options of a table: the build runs it, so that stubs cannot disagree with the library.

  stubs.py MODULE.so OUT SOURCE.py...    writes OUT/SOURCE.pyi for each

A stub is its source without bodies: `@keywords("fit")` and `**options` become the rows of that table, with types, defaults and a docstring, and
Predictions gets its arrays. It needs neither numpy nor the package, only the extension module.
"""
import ast
import importlib.util
import math
import pathlib
import sys

TYPES = {"flag": "bool", "int": "int", "seed": "int", "real": "float", "text": "str"}
HEAD = "# SPDX-License-Identifier: MIT\n# Made by python/stubs.py from {name} and the option tables of the library.\n"


def load(path):
    spec = importlib.util.spec_from_file_location("_lastlayer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def annotation(row):
    words = "Literal[" + ", ".join(repr(word) for word in row["choices"].split("|")) + "]" if row["choices"] else ""
    kind = words if row["type"] == "choice" else TYPES[row["type"]] + (" | " + words if words else "")
    return f"Optional[{kind}]" if row["default"] is None else kind


def described(row):
    choices = ": " + row["choices"].replace("|", ", ") if row["choices"] else ""
    standard = f" [{row['standard']}]" if row["standard"] else ""
    return f"{row['name']}: {row['help']}{choices}{standard}"


def expression(text):
    return ast.parse(text, mode="eval").body


def private(name):
    return name.startswith("_") and not name.endswith("__")


class Stub:
    def __init__(self, native, source):
        self.tables, self.fields = native.tables(), native.fields()
        self.tree = ast.parse(source)
        self.constants = {node.targets[0].id: node.value for node in self.tree.body
                          if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}

    def text(self):
        body = [made for node in self.tree.body for made in self.statement(node)]
        body.insert(1, ast.parse("from typing import Any, Literal, Optional").body[0])
        return ast.unparse(ast.fix_missing_locations(ast.Module(body, []))) + "\n"

    def statement(self, node):
        """What is left of a statement of a module or a class, as a list."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return [node]
        if isinstance(node, ast.Try):  # imports of what may be missing
            return [one for one in node.body if isinstance(one, (ast.Import, ast.ImportFrom))]
        if isinstance(node, ast.FunctionDef):
            return [self.function(node)] if not private(node.name) and node.name != "__getattr__" else []
        if isinstance(node, ast.ClassDef):
            return [self.whole_class(node)]
        if isinstance(node, ast.AnnAssign) and not private(node.target.id):
            return [ast.AnnAssign(node.target, node.annotation, None, 1)]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not private(node.targets[0].id):
            return ast.parse(f"{node.targets[0].id}: {self.kind(node.value)}").body
        return []

    @staticmethod
    def kind(value):
        try:
            return type(ast.literal_eval(value)).__name__
        except ValueError:
            return "Any"

    def whole_class(self, node):
        body = [made for one in node.body for made in self.statement(one)]
        declared = {one.target.id for one in body if isinstance(one, ast.AnnAssign)} | {one.name for one in body if isinstance(one, ast.FunctionDef)}
        attributes = []
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                attributes += [(name, kind) for name, kind in self.attributes(one) if name not in declared]
        if node.name == "Predictions":
            attributes += [(name, "np.ndarray" if when == "always" else "np.ndarray | Any") for name, _, when, _ in self.fields if name.isidentifier()]
        text = ast.get_docstring(node)
        lines = ([ast.Expr(ast.Constant(text))] if text else []) + [ast.parse(f"{name}: {kind}").body[0] for name, kind in dict(attributes).items()]
        return ast.ClassDef(node.name, node.bases, node.keywords, lines + body or [ast.Expr(ast.Constant(...))], [])

    @staticmethod
    def attributes(function):
        """(name, type) of what __init__ sets; an argument keeps its type."""
        types = {one.arg: ast.unparse(one.annotation) for one in function.args.args + function.args.kwonlyargs if one.annotation}
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in [leaf for one in targets for leaf in (one.elts if isinstance(one, ast.Tuple) else [one])]:
                if isinstance(target, ast.Attribute) and not private(target.attr) and not target.attr.startswith("__"):
                    same = isinstance(node.value, ast.Name) and node.value.id == target.attr
                    yield target.attr, types.get(target.attr, "Any") if same else "Any"

    def function(self, node):
        text, decorators = ast.get_docstring(node), []
        for one in node.decorator_list:
            if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "keywords":
                text = self.expand(node, one, text)
            else:
                decorators.append(one)
        body = [ast.Expr(ast.Constant(text))] if text else []
        return ast.FunctionDef(node.name, node.args, body + [ast.Expr(ast.Constant(...))], decorators, node.returns, lineno=1)

    def expand(self, node, decorator, text):
        """The options in the place of **options; returns the docstring."""
        without = []
        for keyword in decorator.keywords:
            without = ast.literal_eval(self.constants[keyword.value.id] if isinstance(keyword.value, ast.Name) else keyword.value)
        own = {one.arg for one in node.args.args + node.args.kwonlyargs}
        lines = []
        for table in decorator.args:
            for row in self.tables[table.value]:
                if row["name"] in without or row["name"] in own:
                    continue
                own.add(row["name"])
                lines.append(described(row))
                default = row["default"]
                node.args.kwonlyargs.append(ast.arg(row["name"], expression(annotation(row))))
                node.args.kw_defaults.append(expression("..." if isinstance(default, float) and not math.isfinite(default) else repr(default)))
        node.args.kwarg = None
        return (text or "") + "\n\nOptions [default]:\n    " + "\n    ".join(lines)


def main():
    native = load(sys.argv[1])
    for path in map(pathlib.Path, sys.argv[3:]):
        made = HEAD.format(name=path.name) + Stub(native, path.read_text(encoding="utf-8")).text()
        (pathlib.Path(sys.argv[2]) / f"{path.stem}.pyi").write_text(made, encoding="utf-8")


main()
