#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Would the tests notice? Changes one line of a room at a time, builds, and runs the tests that answer for the room.

  mutants.py                     40 changes in each room of ROOMS
  mutants.py --count 10 data     10 changes in src/data
  mutants.py --own --trial data  only with the tests of tests/data, to see what to write; the table stays as it is
  mutants.py --table             compares the table in docs/reliability.md with tests/mutants.csv, and the lines of tests/equivalent.csv with the sources

A change flips a comparison, swaps an operator, drops a statement or alters a constant. It is killed when a test fails, crashes or hangs
(AddressSanitizer and LeakSanitizer watch). A change that does not compile, or compiles to the same object, is none and is drawn again. Lines are drawn
by the seed. Survivors are printed: each is a test to write, or a change that no test can see, such as one that only costs time.
"""
import argparse
import csv
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time

import counts

root = pathlib.Path(__file__).resolve().parent.parent
work = root / "build-mutants"
tree, build = work / "tree", work / "build"
# The tests that answer for a room, beside the suite of its name.
ROOMS = {
    "metrics": ["pipeline/evaluation", "search/compare_rules", "cli/sets", "cli/promises"],
    "predict": ["pipeline/predict_stream", "pipeline/predictions", "pipeline/schema", "pipeline/conformance"],
    "train": ["pipeline/conformance", "pipeline/train", "pipeline/networks"],
    "methods": ["pipeline/conformance", "pipeline/networks", "pipeline/resume", "pipeline/fit_options", "pipeline/fit_warnings", "pipeline/weighted_fits",
                "train/samplers", "train/langevin", "guest/abuse_inputs", "guest/abuse_results", "cli/usage", "cli/laplace", "cli/samplers", "cli/hmc",
                "cli/bootstrap", "cli/scores"],
    "data": ["pipeline/conformance", "pipeline/weighted_fits", "interop/images", "guest/abuse_inputs"],
    "store": ["pipeline/resume", "search/search", "pipeline/train", "pipeline/report_buffer", "cli/search", "cli/promises"],
}
TABLE = root / "tests/mutants.csv"
EQUIVALENT = root / "tests/equivalent.csv"  # changes that no test can notice, with the reason
FIELDS = ("room", "lines", "changes", "killed", "equivalent", "seed", "tests")
FLIPS = {" < ": (" <= ", " >= "), " <= ": (" < ", " > "), " > ": (" >= ", " <= "), " >= ": (" > ", " < "), " == ": (" != ",), " != ": (" == ",),
         " && ": (" || ",), " || ": (" && ",), " + ": (" - ",), " - ": (" + ",), " * ": (" / ",), " += ": (" -= ", " = "), " -= ": (" += ",),
         "true": ("false",), "false": ("true",), "fmin(": ("fmax(",), "fmax(": ("fmin(",)}
STATEMENT = re.compile(r"^\s+(?!return|break|continue|goto|case|default|static|const|else|do\b|for|while|if|switch|typedef|struct|enum)"
                       r"[\w*(>.\[\]\-+]+(\(.*\)| (=|\+=|-=|\*=|/=|\|=|&=|\^=) .*|\+\+|--);$")
DECLARED = re.compile(r"^\s+(?:const )?(?:u?int\w*|double|float|bool|char|size_t|lli?_\w+|[A-Z]\w+)\b[ *]+\w+( =|\[|,|;)")


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return done.returncode, done.stdout


def code_of(line):
    """The line without strings, characters and comments, which mutations leave alone."""
    line = re.sub(r"'(\\.|[^'\\])'", lambda m: "~" * len(m.group()), line)
    return re.sub(r'"(\\.|[^"\\])*"', lambda m: "~" * len(m.group()), re.sub(r"/\*.*?\*/", lambda m: "~" * len(m.group()), line))


def candidates(path):
    """[(line number, new line)] of all changes of a file."""
    found, comment = [], False
    for number, line in enumerate(path.read_text().splitlines()):
        code = code_of(line)
        if comment or code.lstrip().startswith(("/*", "*", "//", "#", "}", "~")):
            comment = (comment or "/*" in code) and "*/" not in line
            continue
        if not line.startswith(" ") or "~~" in code.strip()[:2]:
            continue
        if re.search(r"LL_OPTION_(CHOICE|TEXT|FLAG|SEED)\b", code):  # rows without a range
            continue
        for old, news in FLIPS.items():
            for at in (m.start() for m in re.finditer(re.escape(old), code)):
                if old in ("true", "false") and (code[at - 1:at].isalnum() or code[at + len(old):at + len(old) + 1].isalnum()):
                    continue
                found += [(number, line[:at] + new + line[at + len(old):]) for new in news]
        sizes = re.search(r"lli_memory_(new|grow)\(|memset\(|^\s+\w[\w ]*\[.*\];", code)  # a larger block is no fault
        for m in re.finditer(r"(?<![\w.%])(\d+)(?![\w.])", "" if sizes else code):
            if not re.search(r"\[\d*\]?$", code[:m.start()] + "]") and int(m.group()) < 1000000:
                found.append((number, line[:m.start()] + str(int(m.group()) + 1) + line[m.end():]))
        for m in re.finditer(r"(?<![\w.])(\d+\.\d*(?:e-?\d+)?|\d+e-?\d+)(?!\w)", code):
            found.append((number, line[:m.start()] + f"({m.group()} * 1.5)" + line[m.end():]))
        if STATEMENT.match(code) and not DECLARED.match(code):
            found.append((number, ""))
    return found


def objects(room):
    digest = hashlib.sha256()
    for path in sorted(build.glob(f"libll{room}.a.p/*.o")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def prepare():
    work.mkdir(exist_ok=True)
    run("rm", "-rf", tree)
    tree.mkdir()
    # -m: as new, or a later commit would look older than what was built of an earlier one
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=root, stdout=subprocess.PIPE)
    subprocess.check_call(["tar", "xm"], cwd=tree, stdin=archive.stdout)
    options = ["-Db_sanitize=address", "-Doptimization=1", "-Ddebug=false", "-Db_lundef=false", "-Dc_link_args=-fuse-ld=gold"]
    if not (build / "build.ninja").exists():
        code, text = run("meson", "setup", build, tree, *options)
    else:
        code, text = run("meson", "setup", "--reconfigure", build, tree)
    if code:
        sys.exit(f"{text}\nmutants: meson failed")


class Test:
    """A test of meson's list: how it is run, what must be built for it, how much processor time it takes."""

    def __init__(self, entry, targets):
        self.name, self.command = entry["name"], entry["cmd"]
        self.env = {**os.environ, **entry["env"], "LASTLAYER_TEST_SAMPLE": "1"}
        self.targets = [os.path.relpath(targets[one], build) for one in entry["depends"] if one in targets]
        self.seconds = None

    def built(self):
        return run("ninja", "-C", build, *self.targets)[0] == 0

    def passes(self):
        """A test that runs on is stopped by its processor time, which a busy machine does not change, or, where it waits, after a quarter of an hour."""
        most = int(max(30, 20 * self.seconds)) if self.seconds else resource.RLIM_INFINITY
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(self.command, cwd=build, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)))
        try:
            text, _ = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = self.seconds or after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return process.returncode in (0, 77) and not re.search(r"^not ok", text, re.M)


def tests(room, own):
    listed = json.loads(run("meson", "introspect", "--tests", build)[1])
    targets = {one["id"]: one["filename"][0] for one in json.loads(run("meson", "introspect", "--targets", build)[1])}
    return [Test(entry, targets) for entry in listed if entry["name"].startswith(room + "/") or (not own and entry["name"] in ROOMS[room])]


def changed(path, number, new):
    lines = path.read_text().splitlines()
    lines[number] = new
    return "\n".join(lines) + "\n"


def killer(room, path, original, checks, kills):
    """The test that notices; None if there is none, False if the change is none."""
    library = f"libll{room}.a"
    if run("ninja", "-C", build, library)[0] or objects(room) == original:
        return False
    for check in sorted(checks, key=lambda c: (c.seconds + 1) / (1 + 4 * kills.get((path.name, c.name), 0))):
        if check.built() and not check.passes():
            kills[path.name, check.name] = kills.get((path.name, check.name), 0) + 1
            return check.name
    return None


def excuses():
    """{(file, line, changed line): reason}; a line that its file has no more is an error."""
    found = {}
    with open(EQUIVALENT) as file:
        for row in csv.DictReader(file):
            if row["line"] not in (line.strip() for line in (root / row["file"]).read_text().splitlines()):
                sys.exit(f"{EQUIVALENT.relative_to(root)}: {row['file']} has no line {row['line']}; take the row out")
            found[row["file"], row["line"], row["changed"]] = row["reason"]
    return found


def judge(room, count, seed, own):
    """(lines, changes, killed, equivalent)"""
    checks, known, kills = tests(room, own), excuses(), {}
    sources = sorted((tree / "src" / room).glob("*.c"))
    lines = sum(len(path.read_text().splitlines()) for path in sources)
    for check in checks:
        if not check.built() or not check.passes():
            sys.exit(f"mutants: {check.name} does not pass as it is")
    original = objects(room)
    pool = [(path, number, new) for path in sources for number, new in candidates(path)]
    random.Random(f"{seed} {room}").shuffle(pool)
    done, killed, equivalent = 0, 0, 0
    for path, number, new in pool:
        if done == count:
            break
        before = path.read_text()
        old = before.splitlines()[number].strip()
        path.write_text(changed(path, number, new))
        try:
            by = killer(room, path, original, checks, kills)
        finally:
            path.write_text(before)
            os.utime(path, (time.time() + 1, time.time() + 1))
        if by is False:
            continue
        if by is None and (f"src/{room}/{path.name}", old, new.strip()) in known:
            equivalent += 1
            continue
        done += 1
        killed += by is not None
        print(f"   {done}: {by or 'SURVIVED'}: src/{room}/{path.name}:{number + 1}: {old}  ->  {new.strip() or '(dropped)'}", flush=True)
    return lines, done, killed, equivalent


def rows():
    with open(TABLE) as file:
        return list(csv.DictReader(file))


def table():
    lines = ["| room | lines | changes | killed | share | equivalent | seed | tests |", "|---|---:|---:|---:|---:|---:|---|---|"]
    for row in rows():
        share = 100 * int(row["killed"]) / int(row["changes"])
        lines.append(f"| `{row['room']}` | {row['lines']} | {row['changes']} | {row['killed']} | {share:.0f} % | {row['equivalent']} | {row['seed']} | "
                     f"{row['tests']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="rooms of src/; all that the table has, if none is named")
    parser.add_argument("--count", type=int, default=40, help="changes per room (40)")
    parser.add_argument("--seed", default="1", help="which lines are drawn (1)")
    parser.add_argument("--trial", action="store_true", help="only print: the table stays as it is")
    parser.add_argument("--own", action="store_true", help="only the suite of the room's name, which is quick")
    parser.add_argument("--table", action="store_true", help="only compare the page with the counts")
    args = parser.parse_args()
    if args.table:
        excuses()
        counts.check(TABLE, table(), "make mutants")
        return
    for room in args.rooms:
        if room not in ROOMS:
            sys.exit(f"mutants: {room} is none of {', '.join(ROOMS)}")
    prepare()
    found = {row["room"]: row for row in rows()} if TABLE.exists() else {}
    for room in args.rooms or ROOMS:
        begin = time.time()
        lines, done, killed, equivalent = judge(room, args.count, args.seed, args.own)
        print(f"{room}: {killed} of {done} changes noticed, {equivalent} more are equivalent, {time.time() - begin:.0f} s", flush=True)
        if args.trial:
            continue
        found[room] = {"room": room, "lines": lines, "changes": done, "killed": killed, "equivalent": equivalent, "seed": args.seed,
                       "tests": "own" if args.own else "all"}
        with open(TABLE, "w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(found[name] for name in ROOMS if name in found)
    if not args.trial:
        counts.write(TABLE, table())


if __name__ == "__main__":
    main()
