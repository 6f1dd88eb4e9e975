# SPDX-License-Identifier: MIT
"""What a release is made of: the bill of materials of the build, and a tarball that is the same bytes every time."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

from tap import SOURCE, Skip, case, check, main

BUILD = pathlib.Path(os.environ.get("MESON_BUILD", "build"))


def bill():
    return json.loads((BUILD / "lastlayer.spdx.json").read_text())


@case
def the_bill_has_what_spdx_wants():
    document = bill()
    for key in "spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships":
        check(document.get(key), f"no {key}")
    check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0" and document["SPDXID"] == "SPDXRef-DOCUMENT", document)
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), document["creationInfo"])
    check(all(re.fullmatch(r"(Tool|Person|Organization): \S.*", who) for who in document["creationInfo"]["creators"]), document["creationInfo"])
    check(re.fullmatch(r"[a-z]+:[^#\s]+", document["documentNamespace"]), document["documentNamespace"])
    names = {"SPDXRef-DOCUMENT"}
    for package in document["packages"]:
        for key in "name", "SPDXID", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText":
            check(package.get(key), f"{package.get('name')} has no {key}")
        check(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) and package["SPDXID"] not in names, package["SPDXID"])
        names.add(package["SPDXID"])
    ends = {end for r in document["relationships"] for end in (r["spdxElementId"], r["relatedSpdxElement"])}
    check(ends == names, f"packages without a relation, or relations without a package: {ends ^ names}")


@case
def the_bill_has_the_versions_that_are_linked():
    versions = {package["name"]: package["versionInfo"] for package in bill()["packages"]}
    header = (SOURCE / "include/lastlayer.h").read_text()
    check(f'"{versions.pop("lastlayer")}"' in header, "another version than the header's")
    versions.pop("lastlayer-h5", None)
    versions.pop("lastlayer-mpi", None)
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config")
    check("zlib" in versions and ("hdf5" in versions) == ("LASTLAYER_H5" in os.environ), versions)
    for name, version in versions.items():
        modules = {"hdf5": ["hdf5-serial", "hdf5"], "openmpi": ["ompi-c"]}.get(name, [name])
        told = [subprocess.run(["pkg-config", "--modversion", m], capture_output=True, text=True).stdout.strip() for m in modules]
        check(version in told, f"{name} {version}; pkg-config has {told}")


@case
def the_bill_is_the_same_twice():
    words = ["python3", SOURCE / "tools/sbom.py"]
    links = ["lastlayer:zlib=1.2=Zlib", "lastlayer-h5:hdf5=1.10=BSD-3-Clause"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    for out in "a.json", "b.json":
        subprocess.run([*words, out, "9.9.9", *links], check=True, env=environment)
    check(pathlib.Path("a.json").read_bytes() == pathlib.Path("b.json").read_bytes(), "two runs differ")
    check(json.loads(pathlib.Path("a.json").read_text())["creationInfo"]["created"] == "1970-01-02T00:00:00Z", "not the date that was given")
    subprocess.run([*words, "c.json", "9.9.8", *links], check=True, env=environment)
    spaces = [json.loads(pathlib.Path(f).read_text())["documentNamespace"] for f in ("a.json", "c.json")]
    check(spaces[0] != spaces[1], "two documents have one name")


@case
def the_tarball_is_the_same_twice():
    if not shutil.which("git") or not (SOURCE / ".git").exists():
        raise Skip("no git checkout")
    for folder in "one", "two":
        done = subprocess.run([SOURCE / "tools/dist", os.path.abspath(folder)], capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
    path = next(pathlib.Path("one").glob("lastlayer-*.tar.gz"))
    header = subprocess.run(["git", "-C", SOURCE, "show", "HEAD:include/lastlayer.h"], capture_output=True, text=True).stdout
    version = re.search(r'LL_VERSION "([^"]+)"', header)[1]
    check(path.name == f"lastlayer-{version}.tar.gz", f"{path.name} is not named after version {version}")
    data = path.read_bytes()
    check(data == (pathlib.Path("two") / path.name).read_bytes(), "two runs differ")
    check(sorted(p.name for p in pathlib.Path("one").iterdir()) == ["SHA256SUMS", path.name], "other files beside it")
    check(pathlib.Path("one/SHA256SUMS").read_text() == f"{hashlib.sha256(data).hexdigest()}  {path.name}\n", "a wrong checksum")
    files = subprocess.run(["git", "-C", SOURCE, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True).stdout.split("\n")[:-1]
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        top = path.name[:-len(".tar.gz")]
        check({m.name for m in members if not m.isdir()} == {f"{top}/{f}" for f in files}, "not the committed files")
        check(len({m.mtime for m in members}) == 1 and {(m.uid, m.gid) for m in members} == {(0, 0)}, "times or owners differ")


if __name__ == "__main__":
    main()
