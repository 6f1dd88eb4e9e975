# SPDX-License-Identifier: MIT
"""Calibration, certificates and sets from the command line. The oracle is numpy's longdouble for calibrated predictions, and scipy's bounded
search where a temperature is fitted."""
import hashlib
import json
import math
import struct

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, logsumexp

from tap import case, cases_of, check, fails, main, run
from tensors import rewrite, tensors

WIDE = np.longdouble


def problem(scale, S=3, N=600, K=4, D=6, seed=5):
    """Members whose logits are exact in f32, and labels that follow them with errors."""
    rng = np.random.default_rng(seed)
    z = (rng.integers(-8, 9, (N, D)) / 4).astype(np.float32)
    W = (rng.integers(-6, 7, (S, K, D)) * scale / 4).astype(np.float32)
    b = (rng.integers(-4, 5, (S, K)) * scale / 4).astype(np.float32)
    logits = np.einsum("skd,nd->snk", W.astype(np.float64), z.astype(np.float64)) + b[:, None]
    y = logits.mean(0).argmax(1)
    y = np.where(rng.random(N) < 0.2, rng.integers(0, K, N), y)
    return z, W, b, logits, y


def write_ensemble(path, W, b, weight):
    """An ensemble as any program may write it."""
    arrays = {"W": W, "b": b, "weight": weight.astype(np.float64)}
    header, body = {"__metadata__": {"format": "lastlayer-ensemble-1", "method": "bootstrap", "version": "0.2.0"}}, b""
    for name, a in arrays.items():
        raw = a.tobytes()
        header[name] = {"dtype": {"float32": "F32", "float64": "F64"}[str(a.dtype)], "shape": list(a.shape),
                        "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(len(text).to_bytes(8, "little") + text + body)


def wide_log_p_hat(logits, weight):
    x = logits.astype(WIDE)
    x = x - x.max(-1, keepdims=True)
    p = np.exp(x)
    p /= p.sum(-1, keepdims=True)
    return np.log((p * (weight / weight.sum()).astype(WIDE)[:, None, None]).sum(0))


def slope(beta, f, y):
    p = np.exp(log_softmax(beta * f, axis=1))
    return ((p * f).sum(1) - f[np.arange(len(y)), y]).mean()


def near(found, expected, relative, what, absolute=0.0):
    found, expected = np.asarray(found, WIDE), np.asarray(expected, WIDE)
    bad = ~(abs(found - expected) <= relative * abs(expected) + absolute)
    check(not bad.any(), f"{what}: {found[bad][:3]} in place of {expected[bad][:3]}")


@cases_of([("plain logits", 0.5), ("sharp logits", 8), ("gaps of hundreds", 128)])
def calibrated_predictions(scale):
    z, W, b, logits, y = problem(scale)
    weight = np.array([1.0, 2.0, 0.5])
    np.save("z.npy", z), np.save("y.npy", y)
    write_ensemble("e.safetensors", W, b, weight)
    out, _ = run("calibrate", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "c.safetensors", "--json")
    found = json.loads(out)
    f = np.asarray(wide_log_p_hat(logits, weight), np.float64)
    beta = brentq(slope, np.exp(-10), np.exp(10), args=(f, y), xtol=1e-15, rtol=1e-14)
    near(1 / found["temperature"], beta, 1e-6, "beta")  # members are summed in f32
    _, err = run("predict", "c.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "c.npz")
    check("calibrated" in err, err)
    run("predict", "c.safetensors", "--no-calibration", "--features", "z.npy", "--labels", "y.npy", "-o", "p.npz")
    run("predict", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "e.npz")
    c, p, e = np.load("c.npz"), np.load("p.npz"), np.load("e.npz")
    x = wide_log_p_hat(logits, weight) / WIDE(found["temperature"])
    q = np.exp(x - x.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    rows, label = np.arange(len(y)), q.argmax(1)
    tail = q.copy()
    tail[rows, label] = 0
    rel = 1e-5 * max(1, scale / 4)  # f32 logits of size 100 have an error of 1e-5
    check((c["label"] == e["label"]).all(), "a temperature changes no label")
    near(c["sr_tail"], tail.sum(1), rel, "sr_tail")
    near(c["sr_logtail"], np.log(tail.sum(1)), rel, "sr_logtail", rel)
    near(c["margin_logtail"], np.log(tail.sum(1) + tail.max(1)), rel, "margin_logtail", rel)
    near(c["log_true"], np.log(q[rows, y]), rel, "log_true", rel)
    near(c["probs"], q, rel, "probs", 1e-9)
    near(-c["entropy"], -(q * np.log(q)).sum(1), 10 * rel, "entropy", 1e-12)
    for name in ("std", "hq", "mi", "maxmin", "vote"):
        check((c[name] == e[name]).all(), f"{name} is the members'")
    for name in e.files:
        check((p[name] == e[name]).all(), f"--no-calibration changes {name}")
    nll = json.loads(run("evaluate", "c.npz", "--json")[0])["nll"]
    near(nll, found["nll"], 1e-6, "NLL after")


@case
def calibration_of_foreign_outputs():
    _, _, _, logits, y = problem(2)
    np.save("one.npy", logits[0]), np.save("members.npy", logits), np.save("y.npy", y)
    for name, f in (("one", logits[0]), ("members", logsumexp(log_softmax(logits, axis=-1), axis=0) - np.log(3))):
        found = json.loads(run("calibrate", "--logits", f"{name}.npy", "--labels", "y.npy", "-o", "c.npz", "--json")[0])
        beta = brentq(slope, np.exp(-10), np.exp(10), args=(f, y), xtol=1e-15, rtol=1e-14)
        near(1 / found["temperature"], beta, 1e-10, name)
        near(np.load("c.npz")["logits"], log_softmax(beta * f, axis=1), 1e-9, "calibrated logits", 1e-9)
    probs = np.exp(log_softmax(logits[0], axis=1)).astype(np.float32)
    probs[0] = [1, 0, 0, 0]
    np.save("p.npy", probs)
    _, err = run("calibrate", "--probs", "p.npy", "--labels", "y.npy", "-o", "p.npz")
    check("3 of 2400 probabilities are 0" in err, err)
    run("calibrate", "--logits", "one.npy", "--labels", "y.npy", "--kind", "vector", "-o", "v.npz")


@case
def calibration_that_is_refused():
    z, W, b, logits, y = problem(2)
    np.save("z.npy", z), np.save("y.npy", y)
    run("fit", "--features", "z.npy", "--labels", "y.npy", "--method", "sgd", "--samples", 3, "-o", "e.safetensors")
    fails(5, "calibrate", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "-o", "c.safetensors", words=["fitted on", "--force"])
    run("calibrate", "e.safetensors", "--features", "z.npy", "--labels", "y.npy", "--force", "-o", "c.safetensors")
    np.save("few.npy", z[:100]), np.save("fewy.npy", y[:100])
    fails(5, "calibrate", "e.safetensors", "--features", "few.npy", "--labels", "fewy.npy", "--kind", "vector", "-o", "v.safetensors",
          words=["--kind vector needs 50 rows per class"])
    fails(2, "calibrate", "e.safetensors", "--features", "few.npy", "-o", "v.safetensors", words=["--labels"])
    fails(2, "calibrate", "-o", "v.safetensors", words=["ENSEMBLE"])
    wrong = (logits[0].argmin(1)).astype(np.int64)
    np.save("worse.npy", wrong)
    np.save("l.npy", logits[0])
    out, err = run("calibrate", "--logits", "l.npy", "--labels", "worse.npy", "-o", "w.npz")
    check("worse than uniform" in err and "temperature  1\n" in out, out + err)
    np.save("right.npy", logits[0].argmax(1))
    _, err = run("calibrate", "--logits", "l.npy", "--labels", "right.npy", "-o", "w.npz")
    check("every row is right" in err, err)


@case
def certificates():
    from scipy.stats import beta, binom
    rng = np.random.default_rng(3)
    N, K = 3000, 3
    logits = rng.normal(size=(N, K)) * 3
    p = np.exp(log_softmax(logits, axis=1))
    y = np.array([rng.choice(K, p=q) for q in p])
    np.save("l.npy", logits), np.save("y.npy", y)
    d = json.loads(run("certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 0.05, "--confidence", 0.9, "--json")[0])
    check(d["certified"] and d["n"] == 2000 and d["n_proposing"] == 1000 and d["by"] == "sr", str(d))
    check(float.fromhex(d["cut_hex"]) == d["cut"], "cut_hex")
    near(d["p_value"], binom.cdf(d["errors"], d["accepted"], 0.05), 1e-9, "p_value")
    near(d["bound"], beta.ppf(0.9, d["errors"] + 1, d["accepted"] - d["errors"]), 1e-9, "bound")
    check(d["p_value"] <= 0.1, "p-value above delta")
    everywhere = p.max(1) >= d["cut"]
    check(d["accepted"] <= everywhere.sum() and d["errors"] <= (everywhere & (p.argmax(1) != y)).sum(), "counts")
    out, _ = run("certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 0.0005)
    check("none certified" in out and "5990" in out, out)
    fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", words=["--risk"])
    fails(2, "certify", "--logits", "l.npy", "--labels", "y.npy", "--risk", 1.5, words=["--risk"])
    fails(5, "certify", "--logits", "l.npy", "--labels", "y.npy", "--out-rate", 0.1, words=["out-of-distribution"])


def certified_problem():
    """An ensemble whose certificate at a risk of 0.1 exists, calibration rows, certification rows."""
    rng = np.random.default_rng(17)
    z, W, b, logits, y = problem(1, N=4000)
    y = np.where(rng.random(len(y)) < 0.9, logits.mean(0).argmax(1), y)
    for name, rows in (("cal", slice(0, 1000)), ("cert", slice(1000, 4000))):
        np.save(f"{name}_z.npy", z[rows]), np.save(f"{name}_y.npy", y[rows])
    write_ensemble("e.safetensors", W, b, np.ones(3))
    run("calibrate", "e.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "-o", "c.safetensors")
    run("predict", "c.safetensors", "--features", "cert_z.npy", "--labels", "cert_y.npy", "-o", "p.npz")
    return y[1000:]


def metadata(path):
    raw = open(path, "rb").read()
    return json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])["__metadata__"]


# the first state of SHA-512: the first 64 bits of the fractions of the roots of 2, 3, 5, ..., 19
SHA512 = [math.isqrt(p << 128) % 2**64 for p in (2, 3, 5, 7, 11, 13, 17, 19)]


def fingerprint(pieces, sha256=None):
    """What docs/math/certificates.md says of the bytes of a member's tensors; with this SHA-256 in place of the true one."""
    sha256, lanes = sha256 or hashlib.sha256(b"".join(pieces)).digest(), list(SHA512[4:])
    for piece in (*pieces, sha256):
        for at in range(0, len(piece), 64):
            words = struct.unpack("<8Q", piece[at:at + 64].ljust(64, b"\0"))
            for i in range(4):
                product = (lanes[i] ^ words[2 * i]) * (SHA512[i] ^ words[2 * i + 1])
                lanes[i] = product % 2**64 ^ product // 2**64
    return sha256 + struct.pack("<4Q", *lanes)


def identity(path):
    """ensemble_sha256 of heads without draws, and whether the fingerprints in the file are right."""
    arrays, meta = tensors(path)
    found = hashlib.sha256()
    for name in ("W", "b", "weight", "calibration"):
        if name in arrays:
            found.update(name.encode() + b"\0" + struct.pack(f"<{arrays[name].ndim}q", *arrays[name].shape))
            found.update(b"" if name in "Wb" else arrays[name].tobytes())
    members = [fingerprint([W.tobytes(), b.tobytes()]) for W, b in zip(arrays["W"], arrays["b"])]
    for member in members:
        found.update(member[:32])
    found.update(struct.pack("<2Q", int(meta.get("drop16", 0)), int(meta["seed"]) if "drop16" in meta else 0))
    right = "fingerprint" in arrays and arrays["fingerprint"].tobytes() == b"".join(members)
    return found.hexdigest(), right


def named(path):
    """The ensemble that predictions say they are of."""
    run("predict", path, "--features", "cert_z.npy", "-o", "named.safetensors")
    return metadata("named.safetensors")["ensemble_sha256"]


@case
def an_ensemble_has_its_name_from_whoever_writes_it():
    certified_problem()
    fit = ("fit", "--features", "cal_z.npy", "--labels", "cal_y.npy", "--epochs", 2, "--samples", 5)
    run(*fit, "--method", "bootstrap", "-o", "b.safetensors")
    for part in (1, 2, 3):
        run(*fit, "--method", "bootstrap", "--part", f"{part}/3", "-o", "merged.safetensors")
    run("merge", "merged.safetensors")
    run(*fit, "--method", "dropout", "-o", "d.safetensors")
    run(*fit, "--method", "laplace", "--members-out", "drawn.safetensors", "-o", "l.safetensors")
    run("calibrate", "b.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "--force", "-o", "bc.safetensors")
    names = {path: identity(f"{path}.safetensors") for path in ("b", "merged", "d", "drawn", "bc", "c")}
    for path, (name, right) in names.items():
        check(right, f"{path} has false fingerprints")
        check(named(f"{path}.safetensors") == name, f"{path} has another name in its predictions")
    check(names["b"] == names["merged"], "parts have another name")
    check(len({name for name, right in names.values()}) == 5, "a calibration keeps the name")
    name, right = identity("e.safetensors")  # another program wrote it
    check(not right and named("e.safetensors") == name, "a file without fingerprints")


@case
def a_false_name():
    certified_problem()
    run("certify", "p.npz", "--risk", 0.1, "--save", "c.safetensors")

    def lie(header, arrays):
        begin, end = header["fingerprint"]["data_offsets"]
        pieces = [arrays[header[name]["data_offsets"][0]:][:size] for name, size in (("W", 4 * 6 * 4), ("b", 4 * 4))]
        arrays[begin:begin + 64] = fingerprint([bytes(piece) for piece in pieces], bytes(32))

    rewrite("c.safetensors", "lies.safetensors", lie)
    check(named("lies.safetensors") == identity("lies.safetensors")[0], "with a certificate, the SHA-256 is taken anew")
    out, err = run("predict", "lies.safetensors", "--features", "cert_z.npy")
    check("answers by a certificate" in err, "the members are those that were certified: " + err)
    run("calibrate", "e.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "-o", "fresh.safetensors")
    rewrite("fresh.safetensors", "lies.safetensors", lie)
    run("predict", "lies.safetensors", "--features", "cert_z.npy", "--labels", "cert_y.npy", "-o", "lies.npz")
    fails(5, "certify", "lies.npz", "--risk", 0.1, "--save", "lies.safetensors", words=["fingerprint", "not that of its members"])
    fails(5, "certify", "lies.npz", "--risk", 0.1, "--save", "fresh.safetensors", words=["another ensemble"])

    def change(header, arrays):
        arrays[header["W"]["data_offsets"][0] + 1] ^= 0x40

    rewrite("fresh.safetensors", "changed.safetensors", change)
    _, err = run("predict", "changed.safetensors", "--features", "cert_z.npy", "--labels", "cert_y.npy", "-o", "changed.npz")
    check("1 of 3 members were changed after they were written" in err, err)
    check(named("changed.safetensors") == identity("changed.safetensors")[0], "a changed ensemble goes by its old name")
    fails(5, "certify", "changed.npz", "--risk", 0.3, "--save", "fresh.safetensors", words=["another ensemble"])


@case
def stored_certificates():
    y = certified_problem()
    open("names.txt", "w").write("cat\ndog, wild\nbird\nfish\n")
    certify = ("certify", "p.npz", "--risk", 0.1, "--save", "c.safetensors")
    _, err = run(*certify, "--class-names", "names.txt", "-o", "cert.json")
    check("has the certificate" in err, err)
    d = json.load(open("cert.json"))
    check(d["certified"] and d["uses_of_these_rows"] == 1 and d["label_rule"] == "mean" and d["ensemble_sha256"] == identity("c.safetensors")[0], str(d))
    check(json.loads(metadata("c.safetensors")["certificate"]) == d, "the stored certificate is the file")
    out, err = run("predict", "c.safetensors", "--features", "cert_z.npy")
    check("with probability at least 0.95" in err and "at most 0.1 of the answered ones are wrong" in err, err)
    lines = out.splitlines()
    check(lines[0] == "row,label,class,sr,answer" and len(lines) == len(y) + 1, lines[0])
    check(any(line.endswith(',"dog, wild"') for line in lines) and any(line.endswith(",unknown") for line in lines), lines[1])
    run("predict", "c.safetensors", "--features", "cert_z.npy", "--labels", "cert_y.npy", "-o", "a.npz")
    a = np.load("a.npz")
    answered = a["sr"] >= d["cut"]
    check((a["abstain"] == ~answered).all() and (a["answer"] == np.where(answered, a["label"], -1)).all(), "answers are not by the cut")
    check(sum(not line.endswith(",unknown") for line in lines[1:]) == answered.sum(), "the table and the file answer differently")
    check(sum(t["cut"] == d["cut"] for t in d["tests"]) == 1, "the cut is none of the tested ones")
    _, err = run("predict", "c.safetensors", "--features", "cert_z.npy", "--threshold", 0.5, "-o", "t.npz")
    t = np.load("t.npz")
    check("certified cut of the ensemble is not used" in err and (t["abstain"] == (t["sr"] < 0.5)).all(), err)
    _, err = run("predict", "c.safetensors", "--features", "cert_z.npy", "--classifier", "votes", "-o", "v.npz")
    check("decided by votes" in err and "abstain" not in np.load("v.npz").files, err)
    _, err = run(*certify, "-o", "second.json")
    check("used 2 times" in err and json.load(open("second.json"))["uses_of_these_rows"] == 2, err)
    _, err = run("calibrate", "c.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "-o", "again.safetensors")
    m = metadata("again.safetensors")
    check("is removed" in err and not [k for k in m if k.startswith("certificate")] and m["certified_rows"].endswith(" 2"), err + str(m))
    run("predict", "again.safetensors", "--features", "cert_z.npy", "-o", "n.npz")
    check("abstain" not in np.load("n.npz").files, "a removed certificate answers")


@case
def certificates_that_are_not_stored():
    certified_problem()
    run("predict", "c.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "-o", "same.npz")
    fails(5, "certify", "same.npz", "--risk", 0.1, words=["calibrated on"])
    run("predict", "c.safetensors", "--no-calibration", "--features", "cal_z.npy", "--labels", "cal_y.npy", "-o", "plain.npz")
    run("certify", "plain.npz", "--risk", 0.1)
    fails(5, "certify", "plain.npz", "--risk", 0.1, "--save", "c.safetensors", words=["another calibration"])
    fails(5, "certify", "p.npz", "--risk", 0.1, "--save", "e.safetensors", words=["another ensemble"])
    run("predict", "c.safetensors", "--classifier", "votes", "--features", "cert_z.npy", "--labels", "cert_y.npy", "-o", "votes.npz")
    fails(5, "certify", "votes.npz", "--risk", 0.1, "--save", "c.safetensors", words=["decided by votes"])
    fails(2, "certify", "p.npz", "--risk", 0.1, "--save", "c.safetensors", "-o", "c.safetensors", words=["c.safetensors"])
    fails(2, "certify", "p.npz", "--risk", 0.1, "-o", "cert.npz", words=[".json"])
    fails(2, "certify", "p.npz", "--risk", 0.1, "--class-names", "n.txt", words=["--save"])
    _, err = run("certify", "p.npz", "--risk", 0.0001, "--save", "c.safetensors")
    check("no new certificate" in err and "certificate" not in metadata("c.safetensors"), err)
    check(metadata("c.safetensors")["certified_rows"].endswith(" 1"), "a use that certified nothing is one too")
    np.save("probs.npy", np.load("p.npz")["probs"])
    out, _ = run("certify", "--probs", "probs.npy", "--labels", "cert_y.npy", "--risk", 0.1)
    check("is not known" in out, out)
    run("certify", "p.npz", "--risk", 0.1, "--save", "c.safetensors")
    raw = bytearray(open("c.safetensors", "rb").read())
    start = 8 + int.from_bytes(raw[:8], "little")
    raw[start + 1] ^= 0x40  # a bit of W
    open("changed.safetensors", "wb").write(raw)
    _, err = run("predict", "changed.safetensors", "--features", "cert_z.npy", "-o", "x.npz")
    check("was changed after it" in err and "abstain" not in np.load("x.npz").files, err)


@case
def verified_certificates():
    y = certified_problem()
    run("certify", "p.npz", "--risk", 0.1, "--save", "c.safetensors", "-o", "cert.json")
    out, _ = run("verify", "cert.json", "p.npz", "--labels", "cert_y.npy")
    check("the certificate holds" in out and "DIFFERS" not in out and "matches  ensemble_sha256" in out, out)
    changed = y.copy()
    changed[:50] = (changed[:50] + 1) % 4
    np.save("changed.npy", changed)
    out, _ = run("verify", "cert.json", "p.npz", "--labels", "changed.npy", code=5)
    check("DIFFERS  labels_sha256" in out and "matches  rows_sha256" in out, out)
    run("predict", "c.safetensors", "--features", "cal_z.npy", "--labels", "cal_y.npy", "--no-calibration", "-o", "other.npz")
    out, _ = run("verify", "cert.json", "other.npz", code=5)
    for key in ("rows_sha256", "features_sha256", "ensemble_sha256", "n"):
        check(f"DIFFERS  {key}" in out, key + out)
    good = json.load(open("cert.json"))
    for key, value in (("cut", good["cut"] - 1e-9), ("errors", good["errors"] - 1), ("accepted", good["accepted"] + 1), ("n", 7),
                       ("p_value", good["p_value"] / 2), ("bound", 0.01), ("cut_hex", "0x1p-1"), ("risk", 0.05), ("confidence", 0.99)):
        json.dump({**good, key: value}, open("bad.json", "w"))
        out, _ = run("verify", "bad.json", "p.npz", code=5)
        check("DIFFERS" in out and (key in ("risk", "confidence") or f"DIFFERS  {key}" in out), f"{key}: {out}")
    for value in ({}, {**good, "seed": -1}, {**good, "by": "luck"}, {**good, "rule_version": 2}, {**good, "risk": 5}, [good]):
        json.dump(value, open("bad.json", "w"))
        fails(4, "verify", "bad.json", "p.npz", words=["not a certificate"])
    fails(4, "verify", "p.npz", "p.npz")
    fails(2, "verify", "cert.json", words=["PREDICTIONS"])
    fails(2, "verify", words=["certificate"])


@case
def thresholds_of_foreign_outputs():
    _, _, _, logits, y = problem(2)
    p = np.exp(log_softmax(logits[0], axis=1))
    np.save("l.npy", logits[0]), np.save("p.npy", p), np.save("y.npy", y)
    for kind, path in (("--logits", "l.npy"), ("--probs", "p.npy")):
        d = json.loads(run("threshold", kind, path, "--labels", "y.npy", "--risk", 0.15, "--json")[0])
        answered = p.max(1) >= d["cut"] - 1e-12
        check(d["accepted"] == answered.sum() and d["accepted_errors"] == (answered & (p.argmax(1) != y)).sum(), str(d))
        check("lastlayer certify" in d["note"], d["note"])
    fails(2, "threshold", "--probs", "p.npy", "--risk", 0.1, words=["--labels"])
    fails(2, "threshold", "x.npz", "--probs", "p.npy", "--risk", 0.1, words=["PREDICTIONS"])


main()
