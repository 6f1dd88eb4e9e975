#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the prose against the tree. Prints each disagreement; exit 1 if there is one.

  links       every relative link of an .md file leads to a file, and to a heading of it where it has an anchor
  paths       every path of the tree that is mentioned exists (NAME and ROOM stand for any); `src/room/file.c:name` also holds that name
  names       every ll_... and lli_... that is mentioned occurs in the sources
  targets     every `make TARGET` is a target of the Makefile
  commands    every `lastlayer SUB ...` uses flags that `lastlayer SUB --help` shows (LASTLAYER or build/lastlayer; left out without one)
  warnings    every warning of the sources has a row in docs/troubleshooting.md that quotes some of its words in bold, and the other way round
  lists       docs/README.md lists every page once; docs/math/random.md has every purpose of randomness, docs/glossary.md every confidence, metric,
              method and heading of a table; docs/manual/files.md every option of fit and array of laplace; `lastlayer help` and docs/manual/formats.md every format
"""
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
pages = sorted(p for p in root.rglob("*.md") if not re.match(r"build|demo|\.", p.relative_to(root).parts[0]))
wrong = []
count = dict.fromkeys(["links", "paths", "names", "targets", "commands"], 0)

sources = ""
for folder in ("src", "include"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".c", ".h", ".map"):
            sources += path.read_text()
known_names = set(re.findall(r"\blli?_\w+", sources))
known_targets = set(re.findall(r"^([\w/]+):", (root / "Makefile").read_text(), re.M))

binary = os.environ.get("LASTLAYER") or root / "build/lastlayer"
binary = binary if pathlib.Path(binary).is_file() else None
flags_of = {}


def flags(sub):
    """The flags of a subcommand, None if there is no such subcommand."""
    if sub not in flags_of:
        done = subprocess.run([binary, sub, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        known = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][a-z0-9-]*)", done.stdout))
        flags_of[sub] = known | {"--help", "-h"} if done.returncode == 0 else None
    return flags_of[sub]


def slug(heading):
    """The anchor that a heading gets on the usual hosts."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose_of(text):
    """The page with its fenced blocks blanked, line by line, and the blocks as (first line, text)."""
    lines, blocks, block = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        if fence and block is None:
            block = (number + 1, [])
        elif fence:
            blocks.append((block[0], "\n".join(block[1])))
            block = None
        elif block is not None:
            block[1].append(line)
        lines.append("" if fence or block is not None else line)
    return lines, blocks


def check_link(here, page, target):
    if re.match(r"[a-z]+:", target):
        return
    count["links"] += 1
    path, _, anchor = target.partition("#")
    goal = (page.parent / path).resolve() if path else page
    if not goal.exists():
        wrong.append(f"{here}: the link {target} leads nowhere")
    elif anchor and goal.suffix == ".md":
        headings = [re.sub(r"^#+\s*", "", line) for line in prose_of(goal.read_text())[0] if line.startswith("#")]
        if anchor not in map(slug, headings):
            wrong.append(f"{here}: {goal.relative_to(root)} has no heading #{anchor}")


def check_path(here, text):
    count["paths"] += 1
    path, _, name = text.rstrip(".,;").partition(":")
    if "*" in path:
        if not any(root.glob(path)):
            wrong.append(f"{here}: nothing matches {path}")
    elif not (root / path).exists():
        wrong.append(f"{here}: there is no {path}")
    elif name and not re.search(rf"\b{re.escape(name)}\b", (root / path).read_text()):
        wrong.append(f"{here}: {path} holds no {name}")


def check_command(here, line):
    words = re.sub(r"\s#.*", "", line).split()
    words = words[words.index(next(w for w in words if w.endswith("lastlayer"))) + 1:]
    if not words or not binary or not re.fullmatch(r"[a-z]+", words[0]):
        return
    count["commands"] += 1
    if words[0] == "help":
        return
    known = flags(words[0])
    if known is None:
        wrong.append(f"{here}: lastlayer has no subcommand {words[0]}")
        return
    for word in re.findall(r"(?<![\w-])--?[a-zA-Z][a-z0-9-]*", " ".join(words[1:])):
        if word not in known:
            wrong.append(f"{here}: lastlayer {words[0]} has no flag {word}")


def check_code(here, code):
    """What stands between backticks."""
    for path in re.findall(r"(?<![\w./<-])(?:src|include|cli|tests|tools|examples|bench|docs)/[\w./*:-]+(?![\w<])", code):
        if not re.search(r"<|NAME|ROOM", code):
            check_path(here, path)
    for used in re.findall(r"\blli?_\w+", code):
        count["names"] += 1
        if used not in known_names and not used.endswith("_"):
            wrong.append(f"{here}: {used} is nowhere in the sources")
    for target in re.findall(r"\bmake ([a-z]\w*)", code):
        count["targets"] += 1
        if target not in known_targets:
            wrong.append(f"{here}: the Makefile has no target {target}")
    if COMMAND.match(code):
        check_command(here, code)


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


COMMAND = re.compile(r"(?:\$ )?(?:build/|\./build/)?lastlayer\s")

for page in pages:
    lines, blocks = prose_of(page.read_text())
    name, prose = page.relative_to(root), "\n".join(lines)
    for match in re.finditer(r"\]\(([^)\s]+)\)", prose):
        check_link(f"{name}:{line_of(prose, match)}", page, match.group(1))
    for match in re.finditer(r"`((?:[^`\n]|\n(?!\n))+)`", prose):
        check_code(f"{name}:{line_of(prose, match)}", match.group(1))
    for first, text in blocks:
        for offset, line in enumerate(re.sub(r"\\\n", "  ", text).splitlines()):
            if COMMAND.match(line.strip()):
                check_command(f"{name}:{first + offset}", line.strip())


def words_of(path, pattern):
    found = re.findall(pattern, (root / path).read_text(), re.M)
    if not found:
        wrong.append(f"tools/docs.py: finds nothing of {pattern} in {path}")
    return found


def check_warnings():
    """Each warning of the sources holds what a row of docs/troubleshooting.md has in bold, and the other way round."""
    table = (root / "docs/troubleshooting.md").read_text().split("\n## Warnings\n")[1].split("\n## ")[0]
    bold = [phrase for row in re.findall(r"^\| (.+?) \|", table, re.M) for phrase in re.findall(r"\*\*(.+?)\*\*", row)]
    said = {}
    for path in sorted((root / "src").rglob("*.c")) + sorted((root / "cli").rglob("*.c")):
        for match in re.finditer(r'LL_LOG_WARNING,\s*((?:"(?:[^"\\]|\\.)*"|\s|PRI\w+)+)', path.read_text()):
            said["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1)))] = path.relative_to(root)
    for text, path in said.items():
        if not any(phrase in text for phrase in bold):
            wrong.append(f"docs/troubleshooting.md: no row of its table of warnings has words in bold of this one of {path}: {text}")
    wrong.extend(f"docs/troubleshooting.md: no warning of the sources says '{phrase}'" for phrase in bold if not any(phrase in text for text in said))
    errors = (root / "docs/troubleshooting.md").read_text().split("\nFrequent ones:\n")[1]
    everything = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', "".join(path.read_text() for folder in ("src", "cli") for path in (root / folder).rglob("*.c"))))
    for phrase in re.findall(r'"([^"]+)"', errors):
        if phrase not in everything:
            wrong.append(f"docs/troubleshooting.md: nothing in the sources says '{phrase}'")


def check_lists():
    """What stands in tables of the code stands in the tables of the docs."""
    listed = re.findall(r"\]\(([^)#]+\.md)\)", (root / "docs/README.md").read_text())
    for page in sorted((root / "docs").rglob("*.md")):
        link = page.relative_to(root / "docs").as_posix()
        if link != "README.md" and (not link.startswith("results/") or link == "results/README.md") and listed.count(link) != 1:
            wrong.append(f"docs/README.md: lists {link} {listed.count(link)} times, once is right")
    table = (root / "docs/math/random.md").read_text()
    for purpose in words_of("src/base/rng.h", r"LLI_PURPOSE_(\w+)[ ,=]"):
        if purpose != "TEST" and f"| `{purpose}` |" not in table:
            wrong.append(f"docs/math/random.md: the table lacks the purpose {purpose}")
    glossary = (root / "docs/glossary.md").read_text()
    terms = {term for line in re.findall(r"^\| ([^|]+) \|", glossary, re.M) for term in re.split(r", | \(method\)", line)}
    names = re.findall(r'"(\w+)"', words_of("src/base/confidence.c", r"names\[\] = \{([^}]*)\}")[0])
    titles = words_of("src/report/metric_rule.c", r'\[LLI_RULE_\w+\] = \{"\w+", "([^"]+)"\}')
    methods = [name for path in sorted((root / "src/methods").glob("*.c")) for name in re.findall(r'\.info = \{"(\w+)"', path.read_text())]
    heads = words_of("src/report/contrast_text.c", r"heads\[\] = \{(\"method\", \"metric\",[^}]*adjusted p[^}]*)\}") + words_of("src/report/evaluation_text.c", r"heads\[\] = \{([^}]*)\}")
    heads = [head for row in heads for head in re.findall(r'"([^"]+)"', row)]
    for head in heads + words_of("src/report/comparison_text.c", r'lli_metric_rule_note\(out, "([^"]+)"')[:-1]:
        if not any(re.search(rf"\b{re.escape(head.removesuffix('s'))}", term) for term in terms) and head not in ("class", "method", "metric", "word", "sr from", "to", "mean sr"):
            wrong.append(f"docs/glossary.md: lacks {head}, which heads a column")
    for word in names + titles + methods:
        if word not in terms:
            wrong.append(f"docs/glossary.md: lacks {word}, which lastlayer prints")
    files = (root / "docs/manual/files.md").read_text()
    arrays = words_of("src/ensemble/gaussian.c", r"names\[LLI_GAUSSIAN_ARRAYS\] = \{([^}]*)\}")
    for word in words_of("src/methods/fit_options.c", r'^    \{"([a-z0-9-]+)", ') + re.findall(r'"(\w+)"', "".join(arrays)):
        if f"`{word}`" not in files:
            wrong.append(f"docs/manual/files.md: lacks {word}, which an ensemble holds")
    formats = (root / "docs/manual/formats.md").read_text()
    shown = subprocess.run([binary, "help"], stdout=subprocess.PIPE, text=True).stdout if binary else None
    refused = words_of("src/formats/format.c", r'^    \{"\w+", "(\.[\w.]+)".*lli_refused_')  # with the lines that convert them
    for extension in words_of("src/formats/format.c", r'^    \{"\w+", "(\.[\w.]+)"'):
        if extension not in formats:
            wrong.append(f"docs/manual/formats.md: lacks the format {extension}")
        if shown is not None and extension not in refused and extension not in shown:
            wrong.append(f"lastlayer help: lacks the format {extension}")


check_warnings()
check_lists()
summary = ", ".join(f"{n} {what}" for what, n in count.items()) + ("" if binary else " (no lastlayer to ask)")
print("\n".join(wrong) or f"{len(pages)} pages: {summary}, all true")
sys.exit(1 if wrong else 0)
