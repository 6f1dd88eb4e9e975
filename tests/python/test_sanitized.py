#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The extension module under ASan, UBSan and LeakSanitizer, in a Python that allocates by malloc. Leaks count where the module or the library
allocated; Python and numpy keep a lot until the end."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

if os.environ.get("LASTLAYER_SANITIZED") != "yes":
    print("1..0 # SKIP the module is not built with -Db_sanitize=address,undefined")
    sys.exit(0)
EVERYTHING = re.search(r'^EVERYTHING = """\n(.*?)^"""', pathlib.Path(__file__).with_name("test_processes.py").read_text(encoding="utf-8"), re.M | re.S)


def sanitized(code):
    """What the code prints on both channels."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    environment = {**os.environ, "LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1",
                   "ASAN_OPTIONS": "detect_leaks=1:exitcode=0:allocator_may_return_null=1:fast_unwind_on_malloc=1:malloc_context_size=12",
                   "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=280, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "end of the program" in done.stdout and "ERROR: AddressSanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr[-4000:]
    return done.stderr


def leaks(text):
    """Blocks that LeakSanitizer lists, with one of our files among the frames."""
    blocks = re.split(r"\n(?=(?:Direct|Indirect) leak of)", text)
    return [one for one in blocks if re.match(r"(Direct|Indirect) leak of", one) and re.search(r" \.\./(python|src)/|_lastlayer\.abi3\.so", one)]


@tap.case
def everything_is_returned():
    text = sanitized(EVERYTHING.group(1) + "\nfor _ in range(3):\n    everything()\nprint('end of the program')\n")
    assert not leaks(text), "\n".join(leaks(text))[:4000]


@tap.case
def a_leak_would_be_seen():
    """The detector itself: a capsule whose reference is kept from Python for ever."""
    text = sanitized("import ctypes, numpy as np\nfrom lastlayer import _lastlayer as native\n"
                     "for _ in range(50):\n    capsule = native.array(np.ones(3))\n    ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))\n"
                     "del capsule\nprint('end of the program')\n")
    assert leaks(text), text[-3000:]


tap.main()
