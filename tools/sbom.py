#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the bill of materials of a build, SPDX 2.3 as JSON: lastlayer, its programs for HDF5 and MPI, and the libraries they link, in the versions
that meson found. The same build gives the same bytes: the date is SOURCE_DATE_EPOCH, else that of the commit, else that of meson.build.
Usage: sbom.py OUT VERSION [USER:NAME=VERSION=LICENCE]..., USER one of lastlayer, lastlayer-h5 and lastlayer-mpi."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent


def created():
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds and (ROOT / ".git").exists():
        done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
        seconds = done.stdout.strip()
    if not seconds:
        seconds = (ROOT / "meson.build").stat().st_mtime
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def identity(name):
    return "SPDXRef-Package-" + name


def package(name, version, licence, purpose):
    return {"name": name, "SPDXID": identity(name), "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "supplier": "NOASSERTION", "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": purpose,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:generic/{name}@{version}"}]}


def relation(a, kind, b):
    return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}


def main():
    out, version, *links = sys.argv[1:]
    packages = [package("lastlayer", version, "MIT", "LIBRARY")]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", identity("lastlayer"))]
    for link in links:
        user, _, library = link.partition(":")
        name, found, licence = library.split("=")
        if user != "lastlayer" and not any(p["name"] == user for p in packages):
            packages.append(package(user, version, "MIT", "APPLICATION"))
            relations.append(relation(identity("lastlayer"), "CONTAINS", identity(user)))
        packages.append(package(name, found, licence, "LIBRARY"))
        relations.append(relation(identity(user), "DEPENDS_ON", identity(name)))
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"lastlayer-{version}",
                "creationInfo": {"created": created(), "creators": ["Tool: lastlayer-sbom-" + version]}, "packages": packages, "relationships": relations}
    # SPDX wants a name that no other document has: made of what is in this one
    document["documentNamespace"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(document, sort_keys=True))}"
    pathlib.Path(out).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
