# SPDX-License-Identifier: MIT
"""What the compiler and the linker were asked for, read off the binaries: the command, the shared library, the program that reads HDF5."""
import os
import pathlib

import elf
from tap import COMMAND, Skip, cases_of, check, main

LIBRARY = os.environ["LASTLAYER_LIBRARY"]
BINARIES = {"command": COMMAND, "library": LIBRARY, "lastlayer-h5": os.environ.get("LASTLAYER_H5")}
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def binary(name):
    path = BINARIES[name]
    if os.environ["LASTLAYER_HARDENED"] != "yes":
        raise Skip("a build with sanitizers, which watch more closely")
    if not path:
        raise Skip("built without it")
    return elf.Elf(path)


@cases_of([(name, name) for name in BINARIES])
def relocations_are_read_only(name):
    file = binary(name)
    check(file.segment(elf.PT_GNU_RELRO), "no PT_GNU_RELRO")
    entries = file.dynamic()
    now = elf.DT_BIND_NOW in entries or entries.get(elf.DT_FLAGS, 0) & elf.DF_BIND_NOW or entries.get(elf.DT_FLAGS_1, 0) & elf.DF_1_NOW
    check(now, "symbols are bound lazily, so RELRO is only partial")
    check(elf.DT_TEXTREL not in entries, "code has relocations")


@cases_of([(name, name) for name in BINARIES])
def nothing_is_writable_and_executable(name):
    file = binary(name)
    stack = file.segment(elf.PT_GNU_STACK)
    check(stack and not stack[1] & elf.PF_X, "the stack is executable, or nothing says that it is not")
    check(not any(s[0] == elf.PT_LOAD and s[1] & 3 == 3 for s in file.segments), "a segment is writable and executable")


@cases_of([("command", "command"), ("lastlayer-h5", "lastlayer-h5")])
def is_position_independent(name):
    file = binary(name)
    check(file.type == elf.ET_DYN and file.segment(elf.PT_INTERP) and file.dynamic().get(elf.DT_FLAGS_1, 0) & elf.DF_1_PIE, "not a PIE")


@cases_of([(name, name) for name in BINARIES])
def stacks_are_guarded(name):
    names = {symbol for symbol, _, defined, _ in binary(name).symbols() if not defined}
    check("__stack_chk_fail" in names, "no stack protector")


@cases_of([("command", "command"), ("library", "library")])
def copies_are_checked(name):
    """_FORTIFY_SOURCE: calls that take a size go to functions that check it, where the compiler could not prove it."""
    names = {symbol for symbol, _, defined, _ in binary(name).symbols() if not defined}
    checked = {symbol for symbol in names if symbol.startswith("__") and symbol.endswith("_chk")}
    check(len(checked) >= 3, f"only {sorted(checked)} of {len(names)} imported functions check sizes")


@cases_of([("library", "library")])
def indirect_calls_land_on_marks(name):
    file = binary(name)
    if file.machine != elf.EM_X86_64:
        raise Skip("endbr64 belongs to x86-64")
    exported = [(symbol, address) for symbol, function, defined, address in file.symbols() if function and defined]
    bare = [symbol for symbol, address in exported if file.code(address, 4) != ENDBR64]
    check(len(exported) > 50 and not bare, f"{len(bare)} of {len(exported)} exported functions do not begin with endbr64: {bare[:5]}")


@cases_of([("no file", "missing"), ("no ELF", __file__)])
def the_reader_refuses(path):
    """So that nothing above passes for want of a file."""
    try:
        elf.Elf(pathlib.Path(path))
    except (OSError, ValueError):
        return
    check(False, f"{path} was read")


if __name__ == "__main__":
    main()
