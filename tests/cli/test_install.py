# SPDX-License-Identifier: MIT
"""What an installation holds, and that a program builds against it."""
import os
import pathlib
import re
import shutil
import subprocess

from tap import Skip, case, check, main

BUILD = os.environ.get("MESON_BUILD", "build")
PROGRAM = """
#include <lastlayer.h>
#include <string.h>
int main(void) { ll_context *ctx; return ll_context_new(&ctx, NULL) != LL_OK || strcmp(ll_version(), LL_VERSION) != 0; }
"""


def install():
    """Everything under ./root; returns the prefix inside it."""
    if not shutil.which("meson"):
        raise Skip("no meson")
    words = ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", os.getcwd() + "/root"]
    done = subprocess.run(words, capture_output=True, text=True)
    check(done.returncode == 0, done.stdout + done.stderr)
    header = next(pathlib.Path("root").rglob("lastlayer.h"))
    return header.parent.parent.resolve()


@case
def layout():
    prefix = install()
    found = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()}
    for pattern in [r"bin/lastlayer", r"include/lastlayer\.h", r"lib.*/liblastlayer\.a", r"lib.*/liblastlayer\.so",
                    r"lib.*/liblastlayer\.so\.\d+", r"lib.*/pkgconfig/lastlayer\.pc", r"share/man/man1/lastlayer\.1", r"share/bash-completion/completions/lastlayer\.bash",
                    r"share/zsh/site-functions/_lastlayer", r"share/fish/vendor_completions\.d/lastlayer\.fish", r"share/lastlayer/lastlayer\.spdx\.json",
                    *([r"libexec/lastlayer/lastlayer-h5"] if os.environ.get("LASTLAYER_H5") else [])]:
        check(any(re.fullmatch(pattern, p) for p in found), f"no {pattern} in {sorted(found)}")
    command = subprocess.run([prefix / "bin/lastlayer", "help", "man"], capture_output=True)
    check(command.stdout == (prefix / "share/man/man1/lastlayer.1").read_bytes(), "the man page is not that of the command")


@case
def few_libraries():
    """What every program that uses lastlayer has to load. HDF5 with all that hangs on it is for lastlayer-h5 alone."""
    prefix = install()
    known = r"linux-(vdso|gate)\.so\S*|(/\S*/)?ld-(linux|musl)\S*|lib(c|m|z|png16|pthread)\.so\S*"
    for path in prefix / "bin/lastlayer", next(prefix.rglob("liblastlayer.so")):
        lines = subprocess.run(["ldd", path], capture_output=True, text=True).stdout.splitlines()
        names = [line.split()[0] for line in lines]
        if any("asan" in name or "tsan" in name for name in names):
            raise Skip("a build with sanitizers")
        check(len(names) > 3 and all(re.fullmatch(known, name) for name in names), f"{path.name}: {names}")


@case
def only_public_names_are_exported():
    prefix = install()
    library = next(prefix.rglob("liblastlayer.so"))
    names = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True).stdout.split("\n")
    names = {line.split()[0].split("@")[0] for line in names if line}
    header = (prefix / "include/lastlayer.h").read_text()
    declared = set(re.findall(r"LL_API [^;]*?\b(ll_\w+)\(", header)) | {name + "_init" for name in re.findall(r"^LL_DEFAULTS\((\w+)\)", header, re.M)}
    check(names == declared, f"exported but not declared: {names - declared}; declared but not exported: {declared - names}")


@case
def a_program_builds_against_it():
    prefix = install()
    if not shutil.which("pkg-config") or not shutil.which("cc"):
        raise Skip("no compiler or pkg-config")
    pathlib.Path("program.c").write_text(PROGRAM)
    folder = next(prefix.rglob("lastlayer.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder), "LD_LIBRARY_PATH": str(folder.parent)}
    for static in (False, True):
        words = ["pkg-config", f"--define-variable=prefix={prefix}", *(["--static"] if static else []), "--cflags", "--libs", "lastlayer"]
        flags = subprocess.run(words, capture_output=True, text=True, env=environment)
        check(flags.returncode == 0, flags.stderr)
        words = (["-static"] if static else []) + flags.stdout.split()
        done = subprocess.run(["cc", "program.c", "-o", "program", *words], capture_output=True, text=True)
        if "__asan" in done.stderr or "__ubsan" in done.stderr:
            raise Skip("a build with sanitizers")
        check(done.returncode == 0, done.stderr)
        done = subprocess.run(["./program"], capture_output=True, text=True, env=environment)
        if "ASan runtime" in done.stderr:
            raise Skip("a build with sanitizers")
        check(done.returncode == 0, done.stderr)
        check(b"liblastlayer.so" in pathlib.Path("program").read_bytes() or static, "the shared library was not linked")


@case
def flags_are_the_include_path_alone():
    """A user compiles with what he needs and nothing of ours: no definitions, no warnings, no paths of libraries that only we include."""
    prefix = install()
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    folder = next(prefix.rglob("lastlayer.pc")).parent
    for more in ([], ["--static"]):
        words = ["pkg-config", f"--define-variable=prefix={prefix}", *more, "--cflags", "lastlayer"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
        check(done.returncode == 0 and done.stdout.split() == [f"-I{prefix}/include"], done.stdout + done.stderr)


if __name__ == "__main__":
    main()
