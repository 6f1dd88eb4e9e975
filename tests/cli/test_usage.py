# SPDX-License-Identifier: MIT
"""The parser, the help pages, the man page and the completions."""
import re
import shutil
import subprocess

import samples
from tap import SOURCE, Skip, case, cases_of, check, fails, main, run

COMMANDS = sorted(path.stem[4:] for path in (SOURCE / "cli").glob("cmd_*.c"))
# The flags that the manual promises; more may exist.
FLAGS = {
    "train": "data weights class-weight classes net epochs optimiser lr batch-size momentum l2 schedule warm-up augment keep no-holdout seed "
             "output resume table json threads memory help",
    "import": "data classes net input shift scale batchnorm-epsilon output threads memory help",
    "encode": "data out-data output threads block memory help",
    "calibrate": "features labels data probs logits apply output json threads kind force memory help",
    "diagnose": "features data json threads memory help",
    "certify": "labels probs logits ood risk coverage out-rate confidence by rule seed output save class-names json memory help",
    "verify": "labels probs logits ood memory help",
    "sets": "labels probs logits apply apply-labels output json threads alpha score by-class confidence allow-empty seed memory help",
    "search": "features labels head bias val-features val-labels test-features test-labels out-features network data store part show json csv "
              "markdown threads method samples lr batch-size epochs dropout protocol by seed shuffle layers memory help",
    "merge": "memory help",
    "reproduce": "quick full seeds data network net epochs features results threads memory help",
    "fit": "features labels head bias head-layout init classes method samples lr batch-size epochs dropout prior-precision seed threads "
           "thin burn-in lr-t0 lr-power shuffle resume part output help",
    "predict": "features labels output part no-probs members threshold by classifier row-offset block threads help",
    "evaluate": "labels ood json csv bins edges aupr classifier compat costs probs logits help",
    "threshold": "labels probs logits risk coverage by json help",
    "compare": "features labels test-features test-labels head risk predictions members json markdown help",
    "report": "labels title class-names images probs logits names ood output help",
    "inspect": "json help",
    "convert": "output dtype divide flatten help",
}
FIT = samples.FIT + ("-o", "out.safetensors")


def flags_in(text):
    return set(re.findall(r"--([a-z][a-z0-9-]*)", text))


def options_of(page):
    """Flags that a help page lists at the start of a line."""
    return set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", page, re.M)) | {"help"}


def check_width(page):
    """Lines of at most 100 columns, but for examples, which are to be copied."""
    for line in page.splitlines():
        check(len(line) <= 100 or line.startswith("  lastlayer "), f"a long line: {line}")


@case
def overview_and_version():
    out, _ = run("--help")
    check_width(out)
    check(set(FLAGS) == set(COMMANDS), f"the list above and cli/ differ in {set(FLAGS) ^ set(COMMANDS)}")
    listed = re.findall(r"^  ([a-z]+) ", out.split("Commands")[1].split("help COMMAND")[0], re.M)
    check(sorted(listed) == COMMANDS, f"the overview lists {listed}")
    check(run("help")[0] == out and run("-h")[0] == out, "help, -h and --help differ")
    version, _ = run("--version")
    check(re.fullmatch(r"lastlayer \d+\.\d+\.\d+ \(\w+ kernels\)\n", version), version)


@cases_of([(name, name) for name in COMMANDS])
def help_page(name):
    out, err = run(name, "--help")
    check(err == "", err)
    check(run("help", name)[0] == out, "help NAME and NAME --help differ")
    check(run(name, "--no-such-flag", "-h")[0] == out, "help does not win over a mistake")
    for flag in set(FLAGS[name].split()) - {"help"}:
        check(flag in options_of(out), f"--{flag} is not on the page")
    for word in ["Usage: lastlayer " + name, "Examples", "Exit codes", "130"]:
        check(word in out, f"no '{word}' on the page")
    check(re.search(rf"^  lastlayer {name} \S", out.split("\nExamples\n")[1], re.M), "no example")
    check_width(out)


@case
def man_page_has_every_flag():
    out, _ = run("help", "man")
    plain = out.replace("\\-", "-")
    for name in COMMANDS:
        check(f".SS lastlayer {name}" in plain, f"no section on {name}")
        section = plain.split(f".SS lastlayer {name}\n")[1].split(".SS")[0]
        missing = options_of(run(name, "--help")[0]) - flags_in(section) - {"help"}
        check(not missing, f"{name}: {missing}")
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]:
        check(f".TP\n.B {code}\n" in plain.split(".SH EXIT STATUS")[1], f"exit status {code} is not in the man page")


@case
def exit_codes_are_documented():
    page = (SOURCE / "docs/manual/exit-codes.md").read_text()
    listed = dict(re.findall(r"^\| (\d+) \| \w+ \| (.*) \|$", page, re.M))
    lines = re.sub(r"\n {20,}", " ", run("--help")[0].split("Exit codes")[1])  # long ones are wrapped
    shown = dict(re.findall(r"^  (\d+) {2,}(.*)$", lines, re.M))
    check(listed == shown and len(listed) == 10, f"the page says {listed}, the command {shown}")


@case
def man_page_is_good_roff():
    if not shutil.which("groff"):
        raise Skip("no groff")
    out, _ = run("help", "man")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=out.encode(), capture_output=True)
    check(done.returncode == 0 and done.stderr == b"", done.stderr.decode())


@cases_of([(shell, shell) for shell in ["bash", "zsh", "fish"]])
def completion(shell):
    out, _ = run("help", shell)
    for name in COMMANDS:
        for flag in options_of(run(name, "--help")[0]):
            form = f"-l {flag}" if shell == "fish" else f"--{flag}"
            check(re.search(re.escape(form) + r"\b", out), f"{name}: {form} is missing")
    methods = re.findall(r"^  ([a-z]+) ", run("fit", "--help")[0].split("\nMethods, and their defaults\n")[1].split("\n\n")[0], re.M)
    check("sgld" in methods and " ".join(methods) in out, f"the methods are not completed: {methods}")
    if shutil.which(shell):
        with open("script", "w") as script:
            script.write(out)
        done = subprocess.run([shell, "-n", "script"], capture_output=True)
        check(done.returncode == 0, done.stderr.decode())


@cases_of([
    ("commands", "lastlayer pre", ["predict"]),
    ("flags", "lastlayer fit --he", ["--head", "--head-layout", "--help"]),
    ("words of a choice", "lastlayer fit --method sg", ["sgd", "sgld", "sghmc"]),
    ("words after a short flag", "lastlayer fit -m boot", ["bootstrap"]),
    ("files", "lastlayer inspect my", ["my file.npy"]),
])
def bash_completes(line, expected):
    script, _ = run("help", "bash")
    with open("completion", "w") as file:
        file.write(script)
    open("my file.npy", "w").close()
    words = " ".join(f"'{w}'" for w in line.split())
    ask = f"source ./completion; COMP_WORDS=({words}); COMP_CWORD={len(line.split()) - 1}; _lastlayer; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
    check(sorted(done.stdout.splitlines()) == sorted(expected), f"{done.stdout}{done.stderr}")


@case
def unknown_kernels():
    samples.make()
    fails(2, *samples.FIT, "-o", "e.safetensors", env={"LASTLAYER_ISA": "v9"}, words="LASTLAYER_ISA")
    check("(none kernels)" in run("--version", env={"LASTLAYER_ISA": "v9"})[0], "the version names kernels that do not exist")


@cases_of([(level, level) for level in ("ref", "base", "v3", "v4")])
def kernels_by_name(level):
    """What the environment asks for is taken and recorded, or refused in a sentence where this machine or build lacks it."""
    samples.make()
    env = {"LASTLAYER_ISA": level}
    if "(none kernels)" in run("--version", env=env)[0]:
        check(level not in ("ref", "base"), f"every machine has {level}")
        fails(2, *samples.FIT, "-o", "e.safetensors", env=env, words="LASTLAYER_ISA")
    else:
        run(*samples.FIT, "-o", "e.safetensors", env=env)
        check(f'"isa": "{level}"' in run("inspect", "e.safetensors", "--json")[0], "the provenance names other kernels")


@case
def no_command():
    _, err = run(code=2)
    check(err.startswith("lastlayer: ") and err.count("\n") == 1 and "--help" in err, err)


@cases_of([("fti", "fti", "fit"), ("predcit", "predcit", "predict"), ("evalute", "evalute", "evaluate"), ("convrt", "convrt", "convert")])
def unknown_command(typed, nearest):
    fails(2, typed, words=["unknown command " + typed, "nearest one is " + nearest], prefix=False)
    fails(2, "help", typed, words=["nearest one is " + nearest], prefix=False)


@cases_of([
    ("misspelt", ["fit", "--sampels", "3"], "--samples"),
    ("swapped letters", ["fit", "--ouptut=x"], "--output"),
    ("cut short", ["fit", "--batch", "3"], "--batch-size"),
    ("with a value", ["fit", "--prior=1"], "--prior-precision"),
    ("in evaluate", ["evaluate", "--label", "x"], "--labels"),
    ("in predict", ["predict", "--treshold", ".5"], "--threshold"),
    ("method of compare", ["compare", "--json1"], "--json"),
])
def unknown_flag(arguments, nearest):
    fails(2, *arguments, words=["unknown flag", "nearest one is " + nearest + " "])


@cases_of([
    ("twice the same", ["--seed", "1", "--seed", "1"], "--seed was given twice"),
    ("long and short", ["-o", "a", "--output", "b"], "--output was given twice"),
    ("with =", ["--lr=.1", "--lr", ".2"], "--lr was given twice"),
    ("a switch", ["--resume", "--resume"], "--resume was given twice"),
])
def repeated_flag(arguments, words):
    fails(2, "fit", *arguments, words=words)


@cases_of([
    ("at the end", ["--lr"], "--lr needs a value"),
    ("before a flag", ["--features", "--labels", "x"], "--features needs a value"),
    ("empty", ["--features="], "--features needs a value"),
    ("empty word", ["--features", ""], "--features needs a value"),
    ("of a letter", ["-o"], "--output needs a value"),
    ("of a switch", ["--resume=yes"], "--resume takes no value"),
])
def value(arguments, words):
    fails(2, "fit", *arguments, words=words)


@cases_of([(text, text) for text in ["0", "-1", "1.5", "1e9", "10T", "10KB", "K", "9223372036854775808", "9007199254740992G"]])
def memory(text):
    fails(2, *FIT, f"--memory={text}", words=[f"--memory is {text};", "followed by K, M or G"])


# Every value is checked, also when the method does not use it: point uses none of these.
@cases_of([(f"{flag} {text}", flag, text) for flag, values in {
    "--samples": ["0", "-1", "1.5", "1e3", "0x10", "ten", "99999999999999999999", " 5", "5 ", "nan"],
    "--lr": ["0", "-0.1", "nan", "inf", "1e999", "1e-999", "0x1p3", "0.1x", "", "--", "1,5"],
    "--batch-size": ["0", "-3", "2.0", "9223372036854775808"],
    "--epochs": ["0", "-1", "1e2"],
    "--dropout": ["0", "1", "-0.5", "1.5", "nan"],
    "--prior-precision": ["-1", "nan", "inf"],
    "--seed": ["-1", "1.5", "18446744073709551616", "abc"],
    "--threads": ["0", "-1", "1025", "two"],
    "--thin": ["0", "-1"],
    "--burn-in": ["-1", "x"],
    "--lr-t0": ["0", "-1"],
    "--lr-power": ["-1", "nan"],
    "--shuffle": ["block", "block:0", "block:-1", "block:1x", "half", "independent:5"],
    "--classes": ["1", "0", "-2", "99999999999"],
    "--method": ["sgdl", "SGD", ""],
    "--init": ["zero"],
    "--head-layout": ["kk"],
}.items() for text in values])
def out_of_range(flag, text):
    samples.make()
    method = () if flag == "--method" else ("--method", "point")
    fails(2, *FIT, *method, f"{flag}={text}", words=flag)


@cases_of([
    ("bins", ["evaluate", "p.npz", "--bins", "0"], "--bins"),
    ("bins above", ["evaluate", "p.npz", "--bins", "1001"], "--bins"),
    ("edges", ["evaluate", "p.npz", "--edges", "middle"], "--edges"),
    ("risk", ["threshold", "p.npz", "--risk", "1.5"], "--risk"),
    ("coverage", ["threshold", "p.npz", "--coverage", "0"], "--coverage"),
    ("by", ["threshold", "p.npz", "--risk", ".1", "--by", "sure"], "--by"),
    ("row-offset", ["predict", "e", "--row-offset", "-1"], "--row-offset"),
    ("block", ["predict", "e", "--block", "0"], "--block"),
    ("predict by", ["predict", "e", "--by", "sure"], "--by"),
    ("divide", ["convert", "a.npy", "--divide", "0"], "--divide"),
    ("dtype", ["convert", "a.npy", "--dtype", "f31"], "--dtype"),
    ("compare samples", ["compare", "--samples", "0"], "--samples"),
    ("compare risk", ["compare", "--risk", "2"], "--risk"),
])
def out_of_range_elsewhere(arguments, words):
    fails(2, *arguments, words=words)


@cases_of([
    ("fit features", ["fit"], "--features"),
    ("fit output", [*samples.FIT], "--output"),
    ("predict ensemble", ["predict"], "the ensemble"),
    ("predict features", ["predict", "e"], "--features"),
    ("evaluate nothing", ["evaluate"], "expected one of PREDICTIONS, --probs and --logits"),
    ("evaluate two sources", ["evaluate", "p", "--probs", "q"], "one of"),
    ("evaluate probs without labels", ["evaluate", "--probs", "q"], "--labels"),
    ("threshold file", ["threshold", "--risk", ".1"], "expected one of PREDICTIONS"),
    ("threshold neither", ["threshold", "p"], "either --risk"),
    ("threshold both", ["threshold", "p", "--risk", ".1", "--coverage", ".9"], "either --risk"),
    ("compare", ["compare"], "--features"),
    ("inspect", ["inspect"], "the file"),
    ("convert", ["convert"], "the file"),
    ("convert output", ["convert", "f"], "--output"),
])
def missing(arguments, words):
    fails(2, *arguments, words=words)


@cases_of([
    ("operand of fit", ["fit", "features.npy"], "unexpected argument features.npy"),
    ("two operands", ["inspect", "a", "b"], "unexpected argument b"),
    ("after --", ["inspect", "--", "--json", "b"], "unexpected argument b"),
    ("json and csv", ["evaluate", "p", "--json", "--csv"], "exclude each other"),
    ("bias without head", [*samples.FIT, "--bias", "b.npy", "-o", "x.safetensors"], "--head"),
    ("init head without head", [*samples.FIT, "--init", "head", "-o", "x.safetensors"], "--head"),
    ("ensemble as .npz", [*samples.FIT, "-o", "x.npz"], ".safetensors"),
    ("output -", [*samples.FIT, "-o", "-"], "/dev/stdout"),
])
def misuse(arguments, words):
    fails(2, *arguments, words=words)


@case
def forms_of_a_flag():
    samples.make()
    base = [*samples.FIT, "--method", "point"]
    run(*base, "-o", "a.safetensors")
    run(*base, "-ob.safetensors")
    run(*base, "--output=c.safetensors", "--lr=auto", "--seed=0")
    a, b, c = (open(f"{name}.safetensors", "rb").read() for name in "abc")
    check(a == b == c, "the forms of --output give different files")
    run("inspect", "--", "features.npy")
    run("predict", "--features", "test_features.npy", "-o", "p.npz", "--threshold", "-0.5", "--by", "entropy", "--", "a.safetensors")


@case
def unused_flags_get_a_note():
    samples.make()
    _, err = run(*FIT, "--method", "point", "--dropout", "0.2", "--thin", "3")
    notes = [line for line in err.splitlines() if line.startswith("note: --")]
    check(len(notes) == 2 and "--dropout" in err and "--thin" in err and "point" in notes[0], err)
    _, err = run(*samples.FIT, "--method", "dropout", "--dropout", "0.2", "--epochs", "1", "-o", "d.safetensors")
    check("--dropout is not used" not in err, err)


if __name__ == "__main__":
    main()
