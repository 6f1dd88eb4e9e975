#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""from_torch: models of several kinds, batches of several kinds, and the numbers of ll.fit on the same features."""
import pathlib
import sys
import warnings

import numpy as np

import lastlayer as ll
from lastlayer import _lastlayer as native

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import tap  # noqa: E402

try:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    print("1..0 # SKIP torch is not installed (Debian's python3-torch)")
    sys.exit(0)
warnings.simplefilter("ignore", ll.LastLayerWarning)
torch.manual_seed(0)
torch.set_num_threads(1)
K = 4
random = np.random.default_rng(1)
centres = random.normal(size=(K, 64))


def points(n):
    y = random.integers(0, K, n)
    return torch.tensor(centres[y] + 1.5 * random.normal(size=(n, 64)), dtype=torch.float32), torch.tensor(y)


X, y = points(600)
T, t = points(400)
V, v = points(400)


def loader(x, y, **named):
    return DataLoader(TensorDataset(x, y), batch_size=128, **named)


def mlp(bias=True):
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, K, bias=bias))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, K)  # registered before the body
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.fc(self.body(x.view(-1, 1, 8, 8)))


class Vit(nn.Module):
    """A class token, one block with attention, a head of another name, and a Linear that never gives the answer."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(16, K)
        self.patch = nn.Linear(16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.unused = nn.Linear(16, 7)

    def forward(self, x):
        x = self.patch(x.view(-1, 4, 16))
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        return self.scores(self.block(x)[:, 0])


class Text(nn.Module):
    """As Hugging Face has them: named inputs, an output with logits, and a head that is tied to the embedding."""

    class Output(dict):
        __getattr__ = dict.__getitem__

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(K, 64)
        self.classifier = nn.Linear(64, K, bias=False)
        self.classifier.weight = self.embedding.weight

    def forward(self, inputs=None, attention_mask=None, labels=None):
        assert labels is None
        return self.Output(logits=self.classifier(inputs * attention_mask), hidden=inputs)


class Dicts(torch.utils.data.Dataset):
    def __init__(self, x, y, name):
        self.x, self.y, self.name = x, y, name

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"inputs": self.x[i], "attention_mask": torch.ones(64), self.name: self.y[i]}


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def check(model, x=X, y=y, layer=None, tolerance=1e-5, **named):
    """The features are those that the layer sees, the ensemble starts at its weights, the model stays as it was."""
    model.train()
    next(iter(model.children())).eval()
    modes, before = [module.training for module in model.modules()], state(model)
    m = ll.from_torch(model, loader(x, y), layer, method="point", **named)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())
    with torch.no_grad():
        expected = torch.softmax(model.eval()(T.to(x.dtype)).float(), 1)
    answer = m(T.to(x.dtype))
    assert torch.allclose(answer.probs, expected, atol=tolerance) and torch.equal(answer.label, answer.probs.argmax(1))
    assert answer.label.dtype == torch.int64 and answer.abstain is None and answer.sr.shape == (400,)
    return m


@tap.case
def models_of_several_kinds():
    check(mlp())
    check(mlp(bias=False))
    check(Cnn())
    assert check(Vit()).layer.out_features == K
    check(Vit(), layer="scores")
    model = Vit()
    check(model, layer=model.scores)
    wrapped = nn.DataParallel(mlp())
    check(wrapped)
    check(mlp().to(torch.bfloat16), X.to(torch.bfloat16), tolerance=2e-2)
    check(mlp().double(), X.double())


@tap.case
def tensors_stay_where_they_are():
    for kind in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64):
        given = X.to(kind)
        how, (where, _, sizes, _) = native.array_memory(native.array(given))
        assert where == given.data_ptr() and tuple(sizes) == (600, 64), (kind, how)
    expected = ll.fit(X.numpy(), y.numpy(), samples=3).W
    wide = torch.zeros(600, 128)
    wide[:, ::2] = X
    for given in (X, X.double(), X.t().contiguous().t(), wide[:, ::2], nn.Parameter(X)):
        assert np.array_equal(ll.fit(given, y, samples=3).W, expected)
    half = X.bfloat16()
    assert np.array_equal(ll.fit(half, y, samples=3).W, ll.fit(half.float(), y, samples=3).W)


@tap.case
def the_same_numbers_as_fit():
    model = mlp().eval()
    with torch.no_grad():
        z = model[:3](X)
    m = ll.from_torch(model, loader(X, y), method="sgld", samples=5, seed=3)
    same = ll.fit(z, y, (model[3].weight.detach(), model[3].bias.detach()), method="sgld", samples=5, seed=3)
    assert np.array_equal(m.ensemble.W, same.W) and m.ensemble.provenance["init"] == same.provenance["init"] != "map"
    answer = m(T)
    with torch.no_grad():
        p = same.predict(model[:3](T))
    for name in ("sr", "std", "probs"):
        assert np.array_equal(getattr(answer, name).numpy(), getattr(p, name)), name


@tap.case
def batches_of_several_kinds():
    text = Text()
    whole = ll.from_torch(text, DataLoader(Dicts(X, y, "labels"), batch_size=100), method="sgd", samples=3)
    assert np.array_equal(whole.ensemble.W, ll.from_torch(text, DataLoader(Dicts(X, y, "label"), batch_size=77), method="sgd", samples=3).ensemble.W)
    batch = next(iter(DataLoader(Dicts(T, t, "labels"), batch_size=9)))
    bare = {name: value for name, value in batch.items() if name != "labels"}
    assert torch.equal(whole(batch).probs, whole(bare).probs) and len(whole(bare).label) == 9
    model = mlp()
    lists = [[X[i:i + 50], y[i:i + 50]] for i in range(0, 600, 50)]  # no loader at all: any iterable of batches
    m = ll.from_torch(model, lists, method="sgd", samples=3)
    assert np.array_equal(m.ensemble.W, ll.from_torch(model, loader(X, y, num_workers=2), method="sgd", samples=3).ensemble.W)
    assert torch.equal(m((T[:5], t[:5])).sr, m(T[:5]).sr) and torch.equal(m([T[:5]]).sr, m(T[:5]).sr)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(64, K)

        def forward(self, a, b):
            return self.fc(a * b)

    two = ll.from_torch(Two(), DataLoader(TensorDataset(X, 2 * torch.ones_like(X), y), batch_size=64), method="sgd", samples=2)
    assert torch.equal(two((T, 2 * torch.ones_like(T))).sr, two((T, 2 * torch.ones_like(T), t)).sr)


@tap.case
def everything_that_follows():
    model = mlp()
    m = ll.from_torch(model, loader(X, y), samples=5)
    assert m.evaluate(loader(T, t), interval=0).n == 400
    cut = m.threshold(loader(V, v), coverage=0.8)
    assert torch.equal(m(T).abstain, m(T).sr < cut.cut)
    assert m.calibrate(loader(V, v)).temperature > 0 and m(T).abstain is None
    promise = m.certify(loader(T, t), risk=0.5)
    assert promise.certified and torch.equal(m(V).abstain, m(V).sr < promise.cut)
    assert "Recommended" in str(m.compare(loader(T, t), val=loader(V, v), samples=2, epochs=1, temperature="none"))
    page = m.report(loader(T, t), "page.html", ood=loader(V + 9, v), class_names=list("abcd"))
    assert pathlib.Path("page.html").read_text() == page.html
    m.save("m.safetensors")
    again = ll.TorchModel.load("m.safetensors", model)
    assert torch.equal(again(V).abstain, m(V).abstain) and torch.equal(again(V).probs, m(V).probs)
    light = ll.from_torch(model, loader(X, y), samples=2, keep=False)
    for call, words in ((lambda: light.compare(loader(T, t)), "train="), (lambda: light.calibrate([T]), "no labels"),
                        (lambda: ll.from_torch(model, []), "no rows"), (lambda: ll.from_torch(model, loader(X, y), "head"), "0, 3"),
                        (lambda: ll.from_torch(nn.Sequential(nn.Flatten()), loader(X, y)), "no nn.Linear"),
                        (lambda: ll.from_torch(nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Conv1d(1, 1, 3)), [(X[:, None], y)]), "layer="),
                        (lambda: ll.from_torch(nn.Linear(16, K), [(X.view(-1, 4, 16), y)]), "pool"), (lambda: ll.from_torch(X, []), "Module")):
        try:
            call()
        except ll.Error as why:
            assert words in str(why), f"{why} lacks {words}"
        else:
            raise AssertionError(f"no sentence with {words}")


tap.main()
