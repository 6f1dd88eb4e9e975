# SPDX-License-Identifier: MIT
"""Networks of Keras (.h5 by h5py) and PyTorch (.safetensors): what comes out predicts what a plain numpy forward pass predicts."""
import base64
import io
import json
import os
import pathlib
import struct
import zipfile
import zlib

import numpy as np

from tap import SOURCE, Skip, case, cases_of, check, fails, main, run

random = np.random.default_rng(5)
GROUPS = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
WIDTH = 8  # VGG-16 with an eighth of its channels


def normal(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype("f4")


def norm_layer(channels):
    return {"gamma": 1 + normal(channels, scale=0.2), "beta": normal(channels, scale=0.2), "mean": normal(channels, scale=0.2),
            "variance": random.uniform(0.001, 2, channels).astype("f4")}  # some so small that epsilon shows


def vgg(classes):
    """Layers in the order of the data: ('conv', kernel HWIO, bias), ('norm', dict), ('pool',), ('dense', kernel [in,out], bias)."""
    layers, channels = [], 3
    for out, count in GROUPS:
        for _ in range(count):
            layers += [("conv", normal(3, 3, channels, out // WIDTH, scale=(2 / (9 * channels)) ** 0.5), normal(out // WIDTH, scale=0.1)), ("relu",),
                       ("norm", norm_layer(out // WIDTH))]
            channels = out // WIDTH
        layers.append(("pool",))
    return layers + [("dense", normal(channels, 64, scale=0.2), normal(64, scale=0.1)), ("relu",), ("norm", norm_layer(64)),
                     ("dense", normal(64, classes, scale=0.2), normal(classes))]


def mlp(*units):
    layers = []
    for i, (a, b) in enumerate(zip(units, units[1:])):
        layers += [("dense", normal(a, b, scale=a ** -0.5), normal(b, scale=0.1))] + ([("relu",)] if i + 2 < len(units) else [])
    return layers


def forward(layers, x, epsilon=1e-3):
    """x [N,H,W,C] in f64 to logits; a dense layer reads it in this order."""
    for kind, *rest in layers:
        if kind == "conv":
            padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
            x = sum(padded[:, i:i + x.shape[1], j:j + x.shape[2]] @ rest[0][i, j].astype("f8") for i in range(3) for j in range(3)) + rest[1]
        elif kind == "relu":
            x = np.maximum(x, 0)
        elif kind == "norm":
            n = {k: v.astype("f8") for k, v in rest[0].items()}
            x = n["gamma"] * (x - n["mean"]) / np.sqrt(n["variance"] + epsilon) + n["beta"]
        elif kind == "pool":
            N, H, W, C = x.shape
            x = x.reshape(N, H // 2, 2, W // 2, 2, C).max(axis=(2, 4))
        else:
            x = x.reshape(len(x), -1) @ rest[0].astype("f8") + rest[1]
    return x


def write_keras(path, layers, names=True, root="", state=False):
    try:
        import h5py
    except ImportError:
        raise Skip("no h5py")
    with h5py.File(path, "w") as f:
        group = f.require_group(root) if root else f
        order, count = [], {}
        for kind, *rest in layers:
            word = {"conv": "conv2d", "norm": "batch_normalization", "dense": "dense", "relu": "activation", "pool": "max_pooling2d"}[kind]
            count[word] = count.get(word, 0) + 1
            name = f"{word}_{count[word]}"
            order.append(name.encode())
            arrays = {"conv": lambda: {"kernel:0": rest[0], "bias:0": rest[1]}, "dense": lambda: {"kernel:0": rest[0], "bias:0": rest[1]},
                      "norm": lambda: {"gamma:0": rest[0]["gamma"], "beta:0": rest[0]["beta"], "moving_mean:0": rest[0]["mean"],
                                       "moving_variance:0": rest[0]["variance"]}}.get(kind, dict)()
            g = group.create_group(name)
            g.attrs["weight_names"] = [f"{name}/{k}".encode() for k in arrays]
            for k, v in arrays.items():
                g.create_dataset(f"{name}/{k}", data=v)
        if names:
            group.attrs["layer_names"] = order
        if state:
            f.create_dataset("optimizer_weights/training/SGD/dense_1/kernel:0", data=normal(3, 3))


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name in sorted(tensors):  # as its library does: by name, so that 10 comes before 2
        a = tensors[name]
        header[name] = {"dtype": {"f4": "F32", "i8": "I64"}[a.dtype.str[1:]], "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += np.ascontiguousarray(a).tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def pytorch_tensors(layers, split=None, bias=True):
    """As a Sequential, or as features and classifier from layer `split` on."""
    tensors = {}
    for i, (kind, *rest) in enumerate(layers):
        name = f"net.{i}" if split is None else f"features.{i}" if i < split else f"classifier.{i - split}"
        if kind == "conv":
            tensors[name + ".weight"] = rest[0].transpose(3, 2, 0, 1)
            if bias:
                tensors[name + ".bias"] = rest[1]
        elif kind == "dense":
            tensors[name + ".weight"], tensors[name + ".bias"] = rest[0].T, rest[1]
        elif kind == "norm":
            n = rest[0]
            tensors |= {name + ".weight": n["gamma"], name + ".bias": n["beta"], name + ".running_mean": n["mean"], name + ".running_var": n["variance"],
                        name + ".num_batches_tracked": np.array(7)}
    return tensors


def images(*shape):
    x = random.integers(0, 256, (12, *shape), dtype="u1")
    np.savez("images.npz", x_test=x, y_test=np.arange(12) % 3)
    return x.reshape(12, *shape[:2], -1).astype("f8")


def logits(network):
    run("encode", network, "--data", "images.npz", "-o", "encoded.npz")
    z = np.load("encoded.npz")
    return z["features_test"].astype("f8") @ z["W"].T.astype("f8") + z["b"]


def same(found, expected):
    error = np.abs(found - expected).max() / np.abs(expected).max()
    check(found.shape == expected.shape and error < 2e-5, f"logits differ by {error:.2g} relative to the largest")


def imports(*arguments):
    """The command on a .h5, or a skip where the program that reads it was not built."""
    from tap import COMMAND
    import subprocess
    done = subprocess.run([COMMAND, "import", *map(str, arguments)], capture_output=True, text=True)
    if "lastlayer-h5, which is not installed" in done.stderr:
        raise Skip("no lastlayer-h5")
    check(done.returncode == 0, done.stderr)
    return done.stdout


@case
def keras_mlp():
    layers = mlp(784, 16, 5, 3)
    write_keras("model.h5", layers)
    x = images(28, 28)
    out = imports("model.h5", "-o", "net.safetensors")
    check("mlp:16,5: 3 classes, 5 features" in out, out)
    same(logits("net.safetensors"), forward(layers, x / 255))
    out, _ = run("inspect", "net.safetensors")
    check("layers.0: /dense_1/dense_1" in out and "layers.2: /dense_3/dense_3" in out and "input: 28x28x1" in out and "imported: keras" in out, out)
    out = imports("model.h5", "--data", "images.npz", "--net", "mlp:16,5", "-o", "net.safetensors")
    check("test accuracy 0." in out or "test accuracy 1." in out, out)


@cases_of([("with the list of layers", True, "", False), ("by their numbers", False, "", False), ("a whole saved model", True, "model_weights", True)])
def keras_vgg(names, root, state):
    layers = vgg(3)
    write_keras("model.h5", layers, names, root, state)
    x = images(32, 32, 3)
    out = imports("model.h5", "--shift", 120, "--scale", 0.015625, "-o", "net.safetensors")
    check("vgg16:width=0.125: 3 classes, 64 features" in out, out)
    same(logits("net.safetensors"), forward(layers, (x - 120) / 64))


FIXTURES = {c["name"]: c for c in json.loads((SOURCE / "tests/fixtures/keras.json").read_text())["cases"]}


@cases_of([(f"{name} as {ending}{', packed' if pack else ''}", name, ending, pack, net) for name, ending, pack in [
    ("flat", ".keras", None), ("flat", ".weights.h5", None), ("flat", ".h5", None), ("nested", ".keras", None), ("nested", ".keras", zipfile.ZIP_DEFLATED),
    ("vgg", ".keras", None), ("vgg", ".weights.h5", None)] for net in [("--net", "vgg16:width=0.0625") if name == "vgg" else ()]])
def keras_3(name, ending, pack, net):
    """Files that Keras 3 wrote itself; its own logits."""
    fixture = FIXTURES[name]
    path = pathlib.Path("model" + ending)
    inner = ending not in fixture["made_files"]
    data = zlib.decompress(base64.b64decode(fixture["made_files"][".keras" if inner else ending]))
    path.write_bytes(zipfile.ZipFile(io.BytesIO(data)).read("model.weights.h5") if inner else data)  # what save_weights writes
    if pack is not None:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile("packed.keras", "w", pack) as new:
            for entry in old.namelist():
                new.writestr(entry, old.read(entry))
        path = pathlib.Path("packed.keras")
    x = np.array(fixture["images"], "u1")
    np.savez("images.npz", x_test=x, y_test=np.arange(len(x)) % 3)
    imports(path, "--input", "x".join(map(str, x.shape[1:])) + "x1", *net, "-o", "net.safetensors")
    found, expected = logits("net.safetensors"), np.array(fixture["logits"])
    check(np.abs(found - expected).max() < 1e-5 * max(1, np.abs(expected).max()), f"logits differ by {np.abs(found - expected).max():.2g}")


def repacked(change, name="nested"):
    """A model of the fixtures as model.keras, with other entries."""
    with zipfile.ZipFile(io.BytesIO(zlib.decompress(base64.b64decode(FIXTURES[name]["made_files"][".keras"])))) as old:
        entries = {entry: old.read(entry) for entry in old.namelist()}
    with zipfile.ZipFile("model.keras", "w") as new:
        for entry, data in change(entries):
            new.writestr(entry, data)


def without(name):
    return lambda entries: [(k, v) for k, v in entries.items() if k != name]


def instead(name, data):
    return lambda entries: [(k, data if k == name else v) for k, v in entries.items()]


@cases_of([
    ("without weights", without("model.weights.h5"), 4, "the archive holds no model.weights.h5"),
    ("without the model", without("config.json"), 4, "the archive holds no config.json"),
    ("weights that are none", instead("model.weights.h5", b"garbage"), 4, "the HDF5 file is damaged"),
    ("a model that is no JSON", instead("config.json", b"{"), 4, "model.keras: "),
    ("a layer without a class", instead("config.json", b'{"config": {"layers": [{}]}}'), 4, "layer 0 in config.json has no class_name"),
    ("too many layers", instead("config.json", b'{"config": {"layers": [' + b'{"class_name":"Dense"},' * 4000 + b'{}]}}'), 4, "more than 4000 layers"),
    ("models inside models for ever", instead("config.json", b'{"class_name":"A","config":{"layers":[' * 2000 + b"]}}" * 2000), 4, "model.keras: "),
    ("a model whose order is not told", instead("config.json", b"{}"), 5, "holds a model inside a model"),
])
def refused_keras(change, code, words):
    imports(write_small(), "-o", "net.safetensors")  # or a skip
    repacked(change)
    fails(code, "import", "model.keras", "-o", "net.safetensors", words=words)


def layer_of(model, name):
    return next(layer for layer in model["config"]["layers"] if layer["config"]["name"] == name)


def setting(name, **more):
    return lambda model: layer_of(model, name)["config"].update(more)


def behind(name, *new):
    """Puts layers behind one whose own activation becomes linear."""
    def change(model):
        layers = model["config"]["layers"]
        at = layers.index(layer_of(model, name))
        layers[at]["config"].update(activation="linear")
        layers[at + 1:at + 1] = new
    return change


def swapped(one, other):
    def change(model):
        layers = model["config"]["layers"]
        a, b = layers.index(layer_of(model, one)), layers.index(layer_of(model, other))
        layers[a], layers[b] = layers[b], layers[a]
    return change


def layer(kind, name="new", **config):
    return {"class_name": kind, "config": {"name": name, **config}}


RELU, TANH = layer("Activation", activation="relu"), layer("Activation", activation="tanh")
FUNCTIONS = [
    ("softmax at the end", "flat", setting("dense_2", activation="softmax"), None),
    ("softmax as a layer at the end", "flat", behind("dense_2", layer("Softmax", axis=-1)), None),
    ("no activation told at the end", "flat", setting("dense_2", activation=None), None),
    ("relu as a layer", "flat", behind("dense", layer("ReLU", max_value=None, negative_slope=0.0, threshold=0.0)), None),
    ("tanh", "flat", setting("dense", activation="tanh"), "the layer dense has the activation tanh; expected relu"),
    ("tanh as a layer", "flat", behind("dense", TANH), "the layer new has the activation tanh; expected relu"),
    ("a function of somebody", "flat", setting("dense", activation={"class_name": "function", "config": "mine"}), "the activation of a custom class"),
    ("nothing behind a hidden layer", "flat", setting("dense_1", activation="linear"), "no relu comes after the hidden layer dense_1"),
    ("softmax behind a hidden layer", "flat", setting("dense_1", activation="softmax"), "softmax comes after the hidden layer dense_1"),
    ("relu behind the last layer", "flat", setting("dense_2", activation="relu"), "relu comes after the last layer dense_2"),
    ("relu6", "flat", behind("dense", layer("ReLU", max_value=6.0)), "the layer new has a max_value"),
    ("a leaky relu", "flat", behind("dense", layer("ReLU", negative_slope=0.1)), "negative_slope of the layer new is not 0"),
    ("a layer of another class", "flat", behind("dense", layer("LeakyReLU")), "the layer new is of the class LeakyReLU; expected Dense"),
    ("a function before all layers", "flat", behind("flatten", RELU), "does relu before the first layer with weights"),
    ("one layer less", "flat", lambda model: model["config"]["layers"].remove(layer_of(model, "dense_1")), "the model has 2 dense layers, but there are arrays for 3"),
    ("in a model in the model", "nested", lambda model: layer_of(layer_of(model, "sequential_1"), "dense_4")["config"].update(activation="elu"),
     "the layer dense_4 has the activation elu"),
    ("batch norm before relu", "vgg", behind("batch_normalization_3", RELU), "the layer new does relu behind a batch norm"),
    ("batch norm of something else", "vgg", setting("batch_normalization_3", epsilon=1e-5), "adds 1e-05 to the variance, not 0.001; give --batchnorm-epsilon 1e-05"),
    ("batch norm behind pooling", "vgg", swapped("max_pooling2d", "batch_normalization_1"), "batch_normalization_1 comes behind a max-pooling"),
    ("another padding", "vgg", setting("conv2d_1", padding="valid"), "padding of the layer conv2d_1 is not same"),
    ("strides", "vgg", setting("conv2d_1", strides=[2, 1]), "strides of the layer conv2d_1 is not 1"),
    ("a larger pool", "vgg", setting("max_pooling2d", pool_size=[3, 3]), "pool_size of the layer max_pooling2d is not 2"),
]


@cases_of(FUNCTIONS)
def keras_functions(name, change, words):
    """What stands between the layers is what stands between ours, or the model is refused."""
    imports(write_small(), "-o", "net.safetensors")  # or a skip
    fixture = FIXTURES[name]
    x = np.array(fixture["images"], "u1")
    options = ("--input", "x".join(map(str, x.shape[1:])) + "x1", "-o", "net.safetensors", *(("--net", "vgg16:width=0.0625") if name == "vgg" else ()))

    def changed(entries):
        model = json.loads(entries["config.json"])
        change(model)
        return {**entries, "config.json": json.dumps(model)}.items()
    repacked(changed, name)
    if words:
        fails(5, "import", "model.keras", *options, words=words)
        return
    check("note" not in run("import", "model.keras", *options)[1], "a model that tells its activations gets a note")
    np.savez("images.npz", x_test=x, y_test=np.arange(len(x)) % 3)
    check(np.abs(logits("net.safetensors") - np.array(fixture["logits"])).max() < 1e-5, "logits differ")


@cases_of([("of Keras 3", lambda model: model), ("of an old Keras", lambda model: {**model, "config": model["config"]["layers"]})])
def functions_in_an_h5(change):
    imports(write_small(), "-o", "net.safetensors")
    import h5py
    _, err = run("import", "small.h5", "-o", "net.safetensors")
    check("note: small.h5 does not say which activations it has; relu is assumed" in err, err)
    pathlib.Path("model.h5").write_bytes(zlib.decompress(base64.b64decode(FIXTURES["flat"]["made_files"][".h5"])))
    for activation in "tanh", "relu":
        with h5py.File("model.h5", "r+") as file:
            model = json.loads(file.attrs["model_config"])
            if isinstance(model["config"], dict):
                model = change(model)
            layers = model["config"] if isinstance(model["config"], list) else model["config"]["layers"]
            next(layer for layer in layers if layer["config"]["name"] == "dense_1")["config"]["activation"] = activation
            file.attrs["model_config"] = json.dumps(model)
        if activation == "tanh":
            fails(5, "import", "model.h5", "-o", "net.safetensors", words="the layer dense_1 has the activation tanh")
    _, err = run("import", "model.h5", "-o", "net.safetensors")
    check("note" not in err, err)


@case
def keras_3_weights_of_a_model_in_a_model():
    imports(write_small(), "-o", "net.safetensors")
    repacked(lambda entries: entries.items())
    pathlib.Path("model.weights.h5").write_bytes(zipfile.ZipFile("model.keras").read("model.weights.h5"))
    fails(5, "import", "model.weights.h5", "-o", "net.safetensors", words="holds a model inside a model")


def write_small():
    write_keras("small.h5", mlp(784, 4, 3))
    return "small.h5"


@cases_of([("one sequence", None, True), ("features and classifier", 44, True), ("without biases", 44, False)])
def pytorch_vgg(split, bias):
    layers = vgg(3)
    if not bias:
        layers = [(k, r[0], 0 * r[1]) if k == "conv" else (k, *r) for k, *r in layers]
    write_safetensors("model.safetensors", pytorch_tensors(layers, split, bias))
    x = images(32, 32, 3)
    run("import", "model.safetensors", "--shift", 120, "--scale", 0.015625, "-o", "net.safetensors")
    same(logits("net.safetensors"), forward(layers, (x - 120) / 64, 1e-5))
    run("import", "model.safetensors", "--shift", 120, "--scale", 0.015625, "--batchnorm-epsilon", 0.01, "-o", "net.safetensors")
    same(logits("net.safetensors"), forward(layers, (x - 120) / 64, 0.01))


@case
def pytorch_mlp_on_colour_images():
    """PyTorch flattens [C,H,W], lastlayer [H,W,C]."""
    layers = mlp(4 * 5 * 3, 7, 3)
    tensors = pytorch_tensors(layers)
    tensors["net.0.weight"] = tensors["net.0.weight"].reshape(7, 4, 5, 3).transpose(0, 3, 1, 2).reshape(7, -1)
    write_safetensors("model.safetensors", tensors)
    x = images(4, 5, 3)
    run("import", "model.safetensors", "--input", "4x5x3", "--shift", 100, "--scale", 0.02, "-o", "net.safetensors")
    same(logits("net.safetensors"), forward(layers, (x - 100) * 0.02))


def damaged(change):
    tensors = pytorch_tensors(vgg(3), 44)
    change(tensors)
    write_safetensors("model.safetensors", tensors)


def cut(tensors):
    tensors["features.3.weight"] = tensors["features.3.weight"][:, :7]


def infinite(tensors):
    tensors["features.0.bias"] = tensors["features.0.bias"] * np.float32(np.inf)


SCALE = ("--shift", 120, "--scale", 0.015625)


@cases_of([
    ("a wrong shape", cut, SCALE, 5, ["features.3.weight is [8,7,3,3] f32", "layers.2.weight of the network vgg16:width=0.125 needs [8,8,3,3]"]),
    ("a missing layer", lambda t: [t.pop(k) for k in list(t) if k.startswith("features.5.")], SCALE, 5, "has 13 batch norms, but the network vgg16:width=0.125 has 14"),
    ("a value that is not finite", infinite, SCALE, 5, "features.0 (for layers.0.bias) holds a value that is not finite"),
    ("no scale", lambda t: None, (), 2, "how were its pixels scaled?"),
    ("another network", lambda t: None, (*SCALE, "--net", "vgg16"), 5, "features.0.weight is [8,3,3,3] f32, but layers.0.weight of the network vgg16 needs [64,3,3,3]"),
    ("no network at all", lambda t: None, (*SCALE, "--net", "resnet"), 2, "does not describe a network"),
    ("a wrong input", lambda t: None, (*SCALE, "--input", "32x32"), 2, "expected height, width and channels like 32x32x3"),
    ("no dense layer", lambda t: [t.pop(k) for k in list(t) if k.startswith("classifier")], SCALE, 5, "holds no dense layer"),
])
def refused(change, options, code, words):
    damaged(change)
    fails(code, "import", "model.safetensors", *options, "-o", "net.safetensors", words=words)


@case
def refused_files():
    np.save("x.npy", np.zeros((3, 4)))
    fails(5, "import", "x.npy", "-o", "net.safetensors", words="holds no dense layer")
    open("bad.h5", "wb").write(b"\x89HDF\r\n\x1a\n" + bytes(500))
    fails(4 if os.environ.get("LASTLAYER_H5") else 3, "import", "bad.h5", "-o", "net.safetensors", words="bad.h5: ")
    write_safetensors("model.safetensors", pytorch_tensors(mlp(784, 5, 4)))
    fails(2, "import", "model.safetensors", "-o", "net.npz", words=".safetensors")
    images(28, 28)
    fails(5, "import", "model.safetensors", "--data", "images.npz", "-o", "net.safetensors", words="the network has 4 classes but the images have 3")


@cases_of([
    ("too large a scale", ("--scale", "1e300"), 2, "--scale"), ("too small a scale", ("--scale", "1e-300"), 2, "--scale"),
    ("no scale", ("--scale", "0"), 2, "--scale"), ("a negative scale", ("--scale", "-1"), 2, "--scale"),
    ("too large a shift", ("--shift", "1e300", "--scale", "1"), 2, "--shift"), ("classes of nothing", ("--classes", "0,1"), 2, "--classes belongs to --data"),
])
def refused_numbers(options, code, words):
    write_safetensors("model.safetensors", pytorch_tensors(mlp(784, 5, 3)))
    images(28, 28)
    fails(code, "import", "model.safetensors", *options, "-o", "net.safetensors", words=words)
    if "--classes" not in options:
        fails(code, "import", "model.safetensors", "--data", "images.npz", *options, "-o", "net.safetensors", words=words)


@case
def one_output_is_no_classifier():
    write_safetensors("model.safetensors", pytorch_tensors(mlp(784, 5, 1)))
    fails(5, "import", "model.safetensors", "-o", "net.safetensors", words="the last dense layer has 1 output")


@case
def logits_that_are_no_numbers_are_never_right():
    write_safetensors("model.safetensors", pytorch_tensors(mlp(784, 3)))
    images(28, 28)
    out, _ = run("import", "model.safetensors", "--data", "images.npz", "--scale", "3e38", "-o", "net.safetensors")
    check("test accuracy 0.0000" in out, out)


@case
def shift_and_scale_each_by_itself():
    layers = mlp(4 * 5 * 3, 7, 3)
    tensors = pytorch_tensors(layers)
    tensors["net.0.weight"] = tensors["net.0.weight"].reshape(7, 4, 5, 3).transpose(0, 3, 1, 2).reshape(7, -1)
    write_safetensors("model.safetensors", tensors)
    x = images(4, 5, 3)
    train = random.integers(0, 200, (40, 4, 5, 3), dtype="u1")
    np.savez("both.npz", x_train=train, y_train=np.arange(40) % 3, x_test=x.astype("u1"), y_test=np.arange(12) % 3)
    mean, scale = train.mean(), 1 / (train.std() + 1e-7)
    for options, shifted in [((), (x - mean) * scale), (("--shift", 90), (x - 90) * scale), (("--scale", 0.02), (x - mean) * 0.02),
                             (("--shift", 90, "--scale", 0.02), (x - 90) * 0.02)]:
        run("import", "model.safetensors", "--data", "both.npz", *options, "-o", "net.safetensors")
        same(logits("net.safetensors"), forward(layers, shifted))
    fails(2, "import", "model.safetensors", "--input", "4x5x3", "--scale", 0.02, "-o", "n.safetensors", words="how were its pixels scaled?")


main()
