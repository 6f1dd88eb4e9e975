# SPDX-License-Identifier: MIT
"""reproduce --quick on real images, from end to end."""
import os
import pathlib
import time

import images
from reproduced import METHODS, check_lines, check_row, tables
from tap import SOURCE, cases_of, check, lacks_data, main, run


def data(name):
    """Where the images of `name` are, or a skip. Without MNIST, the files of Fashion-MNIST stand in for it: they have the same form."""
    for folder in (os.environ.get("LASTLAYER_DATA"), SOURCE / "data"):
        if folder and (pathlib.Path(folder) / name).is_dir():
            return {"LASTLAYER_DATA": str(folder)}
    if name == "fashion" and images.FASHION.is_dir():
        return {}
    if name == "mnist" and images.FASHION.is_dir():
        os.mkdir("standin")
        os.symlink(images.FASHION, "standin/mnist")
        return {"LASTLAYER_DATA": os.path.abspath("standin")}
    lacks_data(f"no images of {name}: install dataset-fashion-mnist")


# The experiments take the same way; make check-long tries both.
NAMES = ("fashion", "mnist") if os.environ.get("LASTLAYER_TEST_LONG") else ("fashion",)


@cases_of([(name, name) for name in NAMES])
def quick(name):
    env = data(name)
    begin = time.monotonic()
    out, err = run("reproduce", name, "--quick", env=env)
    seconds = time.monotonic() - begin
    check("stage 1 of 6" in err and "in all" in err and "left" in err, err)
    found, markdown, lines = tables(name)
    check(out == markdown and "# " + name in markdown, "stdout is not the Markdown")
    for row in found["rows"]:
        check_row(name, row)
    for task in ("selective", "ood"):
        for protocol in ("honest", "paper"):
            rows = [(r["method"], r["scope"]) for r in found["rows"] if r["task"] == task and r["protocol"] == protocol]
            check(rows == [(m, s) for m in METHODS for s in ("last", "full")] + [("point", "last")], rows)
    accuracy = next(r for r in found["rows"] if r["method"] == "point")["metrics"]["accuracy"]["ours"]
    check(accuracy > 0.75, f"accuracy {accuracy}")
    check(len(lines) > 200, "CSV")
    check_lines(lines, found["rows"])
    again, _ = run("reproduce", name, "--quick", env=env)
    check(again == out, "what was there was made again, differently")
    print(f"# {name}: {seconds:.0f} s")


if __name__ == "__main__":
    main()
