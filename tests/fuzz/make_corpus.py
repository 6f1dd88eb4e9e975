#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fuzz/corpus/<target>/: small valid inputs made by numpy and the standard library, from which the fuzzers start and which
the unit tests truncate and damage. What fuzzers found beyond them lies beside them, under the hash of its bytes. The result is committed;
run this again only to add a file."""
import gzip
import io
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np

root = pathlib.Path(__file__).parent / "corpus"


def put(path, data):
    path = root / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def npz(arrays, method, comment=b""):
    """Like numpy.savez, which also forces zip64, without the time of day."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name + ".npy")
            info.compress_type = method
            with z.open(info, "w", force_zip64=True) as f:
                f.write(npy(array))
        z.comment = comment
    return out.getvalue()


def safetensors(tensors, meta=None):
    header, data = {}, b""
    if meta:
        header["__metadata__"] = meta
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def idx(array, code):
    return bytes([0, 0, code, array.ndim]) + b"".join(struct.pack(">I", n) for n in array.shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


def png(array, color, depth=8, palette=None):
    """Rows without a filter, not interlaced. `array`: the packed bytes of each row."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[color]
    width = array.shape[1] * 8 // (depth * channels)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in array))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, array.shape[0], depth, color, 0, 0, 0))
            + (chunk(b"PLTE", palette) if palette else b"") + chunk(b"IDAT", data) + chunk(b"IEND", b""))


numbers = np.arange(6).reshape(2, 3)
put("npy/f4.npy", npy(numbers.astype("<f4")))
put("npy/f8_big_fortran_v2.npy", npy(np.asfortranarray(numbers.astype(">f8")), (2, 0)))
put("npy/i2_v3.npy", npy(numbers.astype("<i2"), (3, 0)))
put("npy/bool_scalar.npy", npy(np.array(True)))
put("npy/f2_empty.npy", npy(np.zeros((0, 3), "<f2")))
two = {"x": numbers.astype("<f4"), "labels": np.array([1, 0], "<i8")}
put("npz/stored.npz", npz(two, zipfile.ZIP_STORED, b'{"seed":"1"}'))
put("npz/deflated.npz", npz(two, zipfile.ZIP_DEFLATED))
put("safetensors/two.safetensors", safetensors({"W": ("F32", [2, 3], numbers.astype("<f4").tobytes()), "b": ("BF16", [2], b"\x80\x3f\x00\x40")},
                                               {"method": "sgd"}))
put("safetensors/odd.safetensors", safetensors({"flag": ("BOOL", [], b"\1"), "z": ("F64", [2], np.ones(2).tobytes()), "none": ("I8", [0, 4], b"")}))
put("idx/u8.idx", idx(np.arange(8, dtype="u1").reshape(2, 2, 2), 0x08))
put("idx/f64.idx", idx(np.arange(3, dtype="f8"), 0x0E))
put("idx_gz/u8.idx.gz", gzip.compress(idx(np.arange(8, dtype="u1").reshape(2, 2, 2), 0x08), mtime=0))
put("csv/integers.csv", b"1,2\n3,-4\n")
put("csv/named.csv", b'label,p_0,p_1,"a ""b"""\r\n1,0.25,1e-3,nan\r\n0,.5,-2.5E+2,inf\r\n')
pixels = (np.arange(3072) % 251).astype("u1").tobytes()
put("cifar/ten.bin", b"\7" + pixels)
put("cifar/hundred.bin", b"\x13\x63" + pixels)
put("png/rgb.png", png(np.arange(24, dtype="u1").reshape(2, 12), 2))
put("png/gray1.png", png(np.array([[0xA0], [0x50], [0xFF]], "u1"), 0, 1))
put("png/rgba16.png", png(np.arange(16, dtype="u1").reshape(1, 16), 6, 16))
put("png/palette.png", png(np.array([[0, 1], [1, 0]], "u1"), 3, 8, b"\1\2\3\4\5\6"))

# ---- whole files of lastlayer, as its manual describes them ----

CONFIDENCES = ("sr", "std", "hq", "maxmin", "entropy", "mi", "margin")


def f4(*shape):
    return ("F32", list(shape), (np.arange(np.prod(shape)) % 7 / 8 - 0.25).astype("<f4").tobytes())


def f8(values):
    return ("F64", list(np.shape(values)), np.array(values, "<f8").tobytes())


heads = {"format": "lastlayer-ensemble-1", "version": "0.1.0", "method": "sgd", "samples": "2", "seed": "0"}
put("ensemble/heads.safetensors", safetensors({"W": f4(2, 2, 3), "b": f4(2, 2), "weight": f8([1, 1])}, heads))
square = f8(np.eye(3))
put("ensemble/fingerprints.safetensors", safetensors(
    {"W": f4(2, 2, 3), "b": f4(2, 2), "fingerprint": ("U8", [2, 64], bytes(128)), "weight": f8([1, 1])}, heads))
put("ensemble/scores.safetensors",
    safetensors({"W": f4(2, 2, 3), "b": f4(2, 2), "weight": f8([1, 1]), "theta_W": f4(2, 3), "theta_b": f4(2), "score_mean": f8([0, 1, 2]), "score_within": square,
                 "score_classes": f8([[0, 1, 2]]), "score_total": square, "score_bank": ("F16", [2, 3], np.ones((2, 3), "<f2").tobytes()),
                 "score_origin": f8([0, 0, 1]), "score_outside": f8([[0, 1, 0], [1, 0, 0]]), "score_alpha": f8([0.5])},
                heads | {"scores": "msp,energy,mds,rmds,knn,vim"}))
put("ensemble/dropout.safetensors", safetensors({"W": f4(1, 2, 3), "b": f4(1, 2), "weight": f8([1, 1, 1])},
                                                {**heads, "method": "dropout", "drop16": "32768", "seed": "7"}))
put("ensemble/networks.safetensors", safetensors(
    {"layers.0.weight": f4(2, 2, 4), "layers.0.bias": f4(2, 2), "layers.1.weight": f4(2, 2, 2), "layers.1.bias": f4(2, 2),
     "weight": f8([1, 1]), "scaling": f8([0, 1 / 255])},
    {**heads, "format": "lastlayer-ensemble-2", "net": "mlp:2", "input": "2x2x1", "outputs": "2", "classes": "0,1"}))
put("ensemble/dropout_networks.safetensors", safetensors(
    {"layers.0.weight": f4(1, 3, 3), "layers.0.bias": f4(1, 3), "layers.1.weight": f4(1, 2, 3), "layers.1.bias": f4(1, 2),
     "weight": f8([1, 1]), "scaling": f8([0, 1])},
    {**heads, "format": "lastlayer-ensemble-2", "method": "dropout", "drop16": "6554", "net": "head:2", "input": "1x1x3", "outputs": "2"}))

trained = {"format": "lastlayer-network-1", "version": "0.1.0", "net": "mlp:2", "input": "2x2x1", "shift": "0", "scale": "0.0039",
           "classes": "0,1", "epochs": "1", "optimiser": "adam", "lr": "0.001", "batch-size": "32", "seed": "0", "kept_epoch": "1"}
layers = {"layers.0.weight": f4(2, 4), "layers.0.bias": f4(2), "layers.1.weight": f4(2, 2), "layers.1.bias": f4(2)}
put("network/mlp.safetensors", safetensors({**layers, "holdout": ("I64", [2], np.array([1, 5], "<i8").tobytes()),
                                            "epochs": f8([[0.001, 0.7, 0.6, 1]])}, trained))
put("network/head.safetensors", safetensors({"layers.0.weight": f4(3, 3), "layers.0.bias": f4(3), "layers.1.weight": f4(2, 3),
                                             "layers.1.bias": f4(2)}, {**trained, "net": "head:2", "input": "1x1x3", "kept_epoch": "0"}))
put("import/torch.safetensors", safetensors({"features.0.weight": f4(2, 4), "features.0.bias": f4(2), "classifier.weight": f4(3, 2),
                                             "classifier.bias": f4(3)}))
put("import/keras.safetensors", safetensors({"/dense_1/dense_1/kernel:0": f4(4, 2), "/dense_1/dense_1/bias:0": f4(2),
                                             "/dense_2/dense_2/kernel:0": f4(2, 2), "/dense_2/dense_2/bias:0": f4(2),
                                             "/bn/bn/gamma:0": f4(2), "/bn/bn/moving_mean:0": f4(2), "/bn/bn/moving_variance:0": f4(2)},
                                            {"layer_names": "dense_1,bn,dense_2"}))
put("hdf5/answer.safetensors", safetensors({"/dense/kernel:0": f4(4, 2), "/dense/bias:0": f4(2)}, {"layer_names": "dense"}))


def keras(model, tensors, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in (("metadata.json", b'{"keras_version": "3.0"}'), ("config.json", json.dumps(model).encode()), ("model.weights.h5", safetensors(tensors))):
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def layer(kind, **config):
    return {"class_name": kind, "config": config}


hidden, last, norm = ({"/layers/dense/vars/0": f4(4, 2), "/layers/dense/vars/1": f4(2)}, {"/layers/dense_1/vars/0": f4(2, 2), "/layers/dense_1/vars/1": f4(2)},
                      {f"/layers/batch_normalization/vars/{i}": f4(2) for i in range(4)})
plain = layer("Sequential", layers=[layer("InputLayer"), layer("Flatten"), layer("Dense", name="a", activation="relu"), layer("Dropout"),
                                    layer("Dense", name="b", activation="softmax")])
put("keras/plain.keras", keras(plain, hidden | last))
put("keras/packed.keras", keras(plain, hidden | last, zipfile.ZIP_DEFLATED))
put("keras/layers.keras", keras(layer("Functional", layers=[
    layer("Dense", name="a", activation="linear"), layer("ReLU", max_value=None, negative_slope=0), layer("BatchNormalization", name="n", epsilon=0.001),
    layer("Dense", name="b"), layer("Softmax")]), hidden | norm | last))
put("keras/inside.keras", keras(layer("Model", layers=[layer("Sequential", name="inner", layers=[layer("Dense", name="a", activation="relu")]), layer("Dense", name="b")]),
                                {"/layers/sequential/layers/dense/vars/0": f4(4, 2), "/layers/dense/vars/0": f4(2, 2)}))
put("keras/conv.keras", keras(layer("Sequential", layers=[
    layer("Conv2D", name="c", activation="tanh", strides=[1, 1], padding="same", data_format="channels_last"), layer("MaxPooling2D", pool_size=[2, 2]),
    layer("Dense", name="b")]), {"/layers/conv2d/vars/0": f4(3, 3, 1, 2), "/layers/dense/vars/0": f4(2, 2)}))
put("import/head.safetensors", safetensors({"weight": f4(2, 3), "bias": f4(2), "optimizer_weights/x": f4(1)}))

n = 4
points = {"probs": np.array([[.5, .25, .25], [.25, .75, 0], [.25, .25, .5], [.625, .25, .125]], "<f4"), "label": np.array([0, 1, 2, 0], "<i4"),
          "vote": np.array([0, 1, 2, 0], "<i4"), "sr_tail": np.array([.5, .25, .5, .375]), "truth": np.array([0, 1, 1, 2], "<i4")}
for i, name in enumerate(CONFIDENCES):
    points[name] = np.array([.5, .75, .5, .625]) if name == "sr" else -(np.arange(n) + i) / 16
outside = {"out_" + k: v[:2] for k, v in points.items() if k != "truth"}
CODES = {"<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64", "|u1": "U8"}


def tensors(arrays):
    return {k: (CODES[v.dtype.str], list(v.shape), v.tobytes()) for k, v in arrays.items()}


put("predictions/points.safetensors", safetensors(tensors({**points, **outside}), {"method": "sgd", "samples": "2"}))
put("predictions/points.npz", npz({k: points[k] for k in ("probs", "label", "sr", "std", "truth")}, zipfile.ZIP_STORED))
put("predictions/table.csv", b"label,sr,truth,p_0,p_1\n0,0.5,0,0.5,0.5\n1,0.75,1,0.25,0.75\n")
members = np.stack([points["probs"], points["probs"][::-1]])
put("outputs/probs.safetensors", safetensors(tensors({"probs": points["probs"], "labels": points["truth"]})))
put("outputs/members.safetensors", safetensors(tensors({"logits": np.log(members + .1).astype("<f4"), "labels": points["truth"]})))
put("outputs/probs.npy", npy(points["probs"].astype("<f8")))
put("costs/costs.npy", npy(np.array([[0, 1, 2], [1, 0, 1], [5, 1, 0]], "<f8")))
put("costs/costs.csv", b"0,1,2\n1,0,1\n5,1,0\n")
put("costs/costs.safetensors", safetensors({"costs": f8([[0, 1, 2], [1, 0, 1], [5, 1, 0]])}))
put("names/three.txt", b"cat\nan \xc3\xa4pfel \xe2\x80\xae <b>\r\n&amp;\n")
rows = {"x": np.arange(12, dtype="<f4").reshape(4, 3), "labels": np.array([0, 1, 0, 1], "<i8")}
put("dataset/features.safetensors", safetensors(tensors(rows)))
put("dataset/head.safetensors", safetensors({"W": f4(2, 3), "b": f4(2)}))
put("dataset/images.safetensors", safetensors(tensors({
    "x_train": np.arange(16, dtype="u1").reshape(4, 2, 2), "y_train": np.array([0, 1, 2, 1], "<i8"),
    "x_test": np.arange(12, dtype="u1").reshape(3, 2, 2), "y_test": np.array([0, 1, 2], "<i8")})))

by_confidence = dict.fromkeys(CONFIDENCES, 0.25)
evaluation = {
    "n": 4, "errors": 1, "classes": 3, "accuracy": 0.75, "nll": 0.7, "brier": 0.5, "ece": 0.1, "mce": 0.2, "min_aurc": 0.25, "cost": 0.5,
    "options": {"bins": 2, "edges": "left", "aupr": "step", "classifier": "mean", "compat": "none", "costs": True},
    "bins": [{"lo": 0, "hi": 0.5, "n": 0, "accuracy": None, "confidence": None}, {"lo": 0.5, "hi": 1, "n": 4, "accuracy": 0.75, "confidence": 0.6}],
    "aurc": by_confidence, "eaurc": by_confidence, "augrc": by_confidence, "failure_auroc": {**by_confidence, "mi": None},
    "aurc_band": {"sr": {"best": 0.1, "expected": 0.25, "worst": 0.3}},
    "ood": {"n": 2, "base_rate": 0.6, "auroc": by_confidence, "aupr_in": by_confidence, "aupr_out": by_confidence, "fpr95": by_confidence}}
put("json/all.json", json.dumps([None, True, False, 0, -1.5e-3, 2**70, "\u00e4\u202e\\\"\n\U0001f600", {"a": [], "b": {}}]).encode())
put("json/utf8.json", '{"\u00e4\U0001f600" : [ "\u20ac" ]}\n'.encode())
put("evaluation/full.json", json.dumps(evaluation).encode())
put("evaluation/diagnosis.json", json.dumps({
    "method": "sgld", "members": 32, "chains": 2, "rows": 3, "among": 4, "above": 1, "rhat_limit": 1.2, "rhat": {"median": 1.1, "most": 1.3},
    "bulk": {"median": 9, "least": 4}, "tail": {"median": 9, "least": 4}, "apart": True, "repeating": True, "row": [0, 1, 2],
    "worst": [{"row": 1, "draws": [0.5, 0.25] * 16}]}).encode())
certified = {
    "certified": True, "statement": "with probability at least 0.9 a promise", "conditions": "same source", "by": "sr", "cut": 0.75, "cut_hex": "0x1.8p-1",
    "risk": 0.2, "coverage": None, "out_rate": None, "confidence": 0.9, "n": 40, "n_proposing": 20, "n_out": 0, "accepted": 20, "errors": 0,
    "accepted_out": 0, "costs": None, "mean_cost": None, "per_class": None, "p_value": 0.01, "bound": 0.1, "needed": 11, "rule": "sequence", "rule_version": 1,
    "seed": 0, "tests": [{"cut": 0.75, "accepted": 20, "errors": 0, "p_value": 0.01}], "sgr": None, "rows_sha256": "00", "labels_sha256": "00",
    "features_sha256": None, "ensemble_sha256": None, "label_rule": None, "uses_of_these_rows": None}
of_class = {key: certified[key] for key in ("certified", "cut", "cut_hex", "n", "n_proposing", "accepted", "errors", "p_value", "bound", "tests")}
put("certificate/risk.json", json.dumps(certified).encode())
put("certificate/none.json", json.dumps({**certified, "certified": False, "cut": None, "cut_hex": None, "accepted": 0}).encode())
put("certificate/classes.json", json.dumps({**certified, "cut": None, "cut_hex": None, "per_class": [{"class": k, **of_class} for k in range(3)]}).encode())
put("certificate/costs.json", json.dumps({**certified, "risk": 1.5, "costs": [[0, 1, 2], [1, 0, 2], [5, 5, 0]], "mean_cost": 0.5}).encode())
put("certificate/out.json", json.dumps({**certified, "risk": None, "coverage": 0.4, "out_rate": 0.1, "n_out": 5}).encode())
score = {"n": 5, "errors": 2, "accuracy": 0.6, "nll": 0.7, "brier": 0.5, "ece": 0.14, "mce": 0.15,
         **{kind: by_confidence for kind in ("aurc", "auroc", "aupr_in", "aupr_out", "fpr95")}}
trial = {"trial": "sgd-lr0.1-B128-S2", "run": "sgd-lr0.1-B128", "method": "sgd", "samples": 2, "batch_size": 128, "epochs": None, "lr": 0.1,
         "dropout": None, "status": "ok", "seconds": 0.5, "val": score, "test": score, "all": score}
point = {**trial, "trial": "point-S1", "run": "point", "method": "point", "samples": 1, "batch_size": None, "lr": None}
del point["all"]
lost = {**{k: v for k, v in trial.items() if k not in ("val", "test", "all")}, "trial": "sgld-S2", "method": "sgld", "status": "diverged"}
lines = [json.dumps(t, separators=(",", ":")).encode() + b"\n" for t in (trial, point, lost)]
put("trials/three.jsonl", b"".join(lines))
put("trials/lost.jsonl", lines[2])
put("trials/none.jsonl", b"{}\n")
identity = json.dumps({"seed": "0", "method": "sgd"}).encode()
choice = json.dumps({"protocol": "honest", "by": "aurc", "best": {"sgd": "sgd-lr0.1-B128-S2"}}).encode()
kept = safetensors({"label": ("I32", [1], bytes(4))}, {"trial": "sgd-lr0.1-B128-S2"})
put("store/whole.bin", b"\f".join((lines[0], identity, choice, kept)))
put("store/young.bin", b"\f".join((lines[2], identity, choice, kept)))

# ---- work files: the first byte tells the target what to put right ----

put("slots/right.bin", b"\3" + bytes(64) + b"\1" + bytes(7) + bytes(120) + bytes(24) + b"\2" + bytes(7) + bytes(120) + b"\1" * 24)
put("slots/raw.bin", b"\0" + b"lastlayer-slots-1".ljust(24, b"\0") + struct.pack("<qq", 4, 24) + b"fuzz")
put("partial/right.bin", b"\3" + bytes(2000))
put("partial/finished.bin", b"\7" + bytes(400))
put("partial/raw.bin", b"\0" + struct.pack("<Q", 8) + b"{}      ")

# ---- texts ----

put("options/fit.txt", b"\3--features\nx.npy\n--labels=y.npy\n-m\nsgld\n--samples\n10\n--lr\nauto\n-o\ne.safetensors")
put("options/search.txt", b"\10--store\nt\n--samples\n10,100/bootstrap:10\n--seed\n18446744073709551615\n--protocol\npaper\n--json")
put("options/report.txt", b"\12a.npz\nb.npz\n--title\nx\n--\n--c.npz\n")
put("options/typo.txt", b"\4--sampels=3\n-z\n--help")
put("grid/paper.txt", b"point,sgd,sgld,bootstrap,dropout\n10,100,1000/bootstrap:10,100\n0.1,0.05,auto\n128\nbootstrap:10/dropout:100\n0.1,.5\nblock:2")
put("grid/one.txt", b"sgd\n5\n1e-3\n32")
put("lists/rows.txt", b"0,5,10:20\n3:4,1")
put("lists/classes.txt", b"random:4\n0,3,4")
put("lists/shuffle.txt", b"block:16384\nfirst:2")
put("net/mlp.txt", b"mlp:512,20")
put("net/vgg.txt", b"vgg16:width=0.25")
put("net/vgg-dropout.txt", b"vgg16:width=0.5,dropout=0.3")
put("net/head.txt", b"head:3")
put("number/real.txt", b"-12.5e-3")
put("number/whole.txt", b"9223372036854775807")
put("number/nan.txt", b"nan")
put("number/long.txt", b"0.1000000000000000055511151231257827021181583404541015625e+300")
put("escape/marks.txt", "a\n\t\x1b[2J\x7f\x9b\u061c\u200f\u2028\u202e\u2069\U0001f600\\\"".encode())
put("escape/broken.txt", b"\xc3 \xe2\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf")
put("split/named.txt", b"/dev/null:x")
put("split/twice.txt", b"/dev:/dev/null:a:b")
for i, path in enumerate(("npy/f4.npy", "npz/stored.npz", "safetensors/two.safetensors", "idx/u8.idx", "idx_gz/u8.idx.gz", "csv/named.csv", "png/rgb.png")):
    put("file/" + path.replace("/", "_"), bytes([(128, 2, 3, 4, 5, 6, 8)[i]]) + (root / path).read_bytes())
