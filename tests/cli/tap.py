# SPDX-License-Identifier: MIT
"""Cases of the command line, reported as TAP. Each case runs in a scratch folder of its own."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

COMMAND = os.environ.get("LASTLAYER", "lastlayer")
PLAIN = b"__asan_init" not in pathlib.Path(COMMAND).read_bytes() if os.path.exists(COMMAND) else True  # sanitizers take memory and time of their own
SOURCE = pathlib.Path(os.environ.get("LASTLAYER_SOURCE", pathlib.Path(__file__).parent.parent.parent))
TIMEOUT = 240
cases = []


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


def case(function):
    cases.append((function.__name__.replace("_", " "), function, ()))
    return function


def cases_of(rows):
    """One case per row; row[0] names it, the rest are its arguments."""
    def add(function):
        for name, *arguments in rows:
            cases.append((f"{function.__name__.replace('_', ' ')}: {name}", function, arguments))
        return function
    return add


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def run(*arguments, code=0, stdout=subprocess.PIPE, env=None):
    """The command must end with this exit code. Returns (stdout, stderr) as text."""
    words = [COMMAND, *map(str, arguments)]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT, env=environment)
    out, err = (done.stdout or b"").decode(errors="replace"), done.stderr.decode(errors="replace")
    check(done.returncode == code, f"exit {done.returncode} where {code} was expected: {' '.join(words)}\n{out[-500:]}{err[-1500:]}")
    return out, err


def snapshot():
    """What lies in the folder: name to contents."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in pathlib.Path(".").iterdir() if p.is_file()}


def fails(code, *arguments, words=(), stdout=subprocess.PIPE, prefix=True, lines=1, env=None):
    """The command must fail with this code and one sentence that holds the words, and leave every file as it was, and none new."""
    before = snapshot()
    out, err = run(*arguments, code=code, stdout=stdout, env=env)
    sentences = [line for line in err.splitlines() if not line.startswith(("note:", "warning:"))]
    check(lines is None or len(sentences) == lines, f"expected one line on stderr, found {len(sentences)}:\n{err}")
    start = f"lastlayer {arguments[0]}: " if prefix else "lastlayer: "
    check(sentences[0].startswith(start), f"stderr does not start with '{start}': {err}")
    for word in [words] if isinstance(words, str) else words:
        check(word in err, f"'{word}' is not in: {err}")
    check("AddressSanitizer" not in err and "runtime error" not in err, err)
    after = snapshot()
    check(before == after, f"the folder changed: {sorted(set(before.items()) ^ set(after.items()))}")
    check(not out, f"a failure printed on stdout: {out[:300]}")
    return err


def lacks_data(sentence):
    """The data of a case are not here: a skip, or a failure with LASTLAYER_REQUIRE_DATA=1."""
    check(os.environ.get("LASTLAYER_REQUIRE_DATA") != "1", sentence)
    raise Skip(sentence)


def data_folder(name):
    """The real data `name`."""
    root = os.environ.get("LASTLAYER_TEST_DATA")
    path = pathlib.Path(root) / name if root else SOURCE / "../shared/data" / name
    if path.is_dir():
        return path
    lacks_data(f"no test data {path}: LASTLAYER_TEST_DATA names the folder that has them")


def main():
    home = os.getcwd()
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, (name, function, arguments) in enumerate(cases, 1):
        scratch = tempfile.mkdtemp(prefix="lastlayer-")
        os.chdir(scratch)
        try:
            function(*arguments)
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
        os.chdir(home)
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failed else 0)
