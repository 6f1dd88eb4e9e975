#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same cell of the bench as bench/heads.c, by PyTorch, numpy or scikit-learn as their users write it.

  peers.py peer=torch method=sgd features=F labels=F classes=K batch=B lr=G epochs=E [dropout=P models=M threads=T]
  peers.py peer=torch method=predict-ensemble features=F ensemble=F classes=K [dropout=P threads=T]

Each line "SEED FILE" of standard input asks for one repeat and is answered by one line of JSON, as heads does. Data, learning rate, batch
size, prior and start (zeros) are those of lastlayer; the order of rows, noise and masks come from each library's own generator.
"""
import json
import math
import os
import sys
import time

args = dict(word.split("=", 1) for word in sys.argv[1:])
threads = int(args.get("threads", 1))
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
import numpy as np  # noqa: E402

library, _, variant = args["peer"].partition("-")
K, B, epochs, models = (int(args.get(name, 1)) for name in ("classes", "batch", "epochs", "models"))
lr, p = float(args.get("lr", 0)), float(args.get("dropout", 0))
method = args["method"]
Z = np.load(args["features"])
N, D = Z.shape
y = np.load(args["labels"]).astype(np.int64) if "labels" in args else None
shrink, noise = 1 - lr / N, math.sqrt(2 * lr / N)
if library == "torch":
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.set_num_threads(threads)
    Z = torch.from_numpy(Z)
    y = torch.from_numpy(y) if y is not None else None


def ensemble():
    """W [S,K,D] and b [S,K] of a .safetensors file."""
    with open(args["ensemble"], "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        rest = file.read()
    found = (header[name] for name in ("W", "b"))
    return [np.frombuffer(rest[slice(*a["data_offsets"])], np.float32).reshape(a["shape"]).copy() for a in found]


# ---- PyTorch ---------------------------------------------------------------------------------------------------------------------


def torch_train(seed):
    """nn.Linear, torch.optim.SGD, a loop over shuffled indices."""
    torch.manual_seed(seed)
    head = nn.Linear(D, K)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    model = nn.Sequential(nn.Dropout(p), head) if method == "dropout" else head
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=1 / N)
    rows = torch.randint(N, (N,)) if method == "bootstrap" else torch.arange(N)
    for _ in range(epochs):
        for j in rows[torch.randperm(N)].split(B):
            loss = F.cross_entropy(model(Z[j]), y[j])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if method == "sgld":
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.add_(torch.randn_like(parameter), alpha=noise)
    return epochs, {"W": head.weight.detach().numpy(), "b": head.bias.detach().numpy()}


def torch_hand(seed):
    """The gradient by hand, without autograd. Rows are gathered once per epoch where they fit the cache, else by batch: the faster way."""
    torch.manual_seed(seed)
    W, b, row = torch.zeros(K, D), torch.zeros(K), torch.arange(B)
    with torch.no_grad():
        for _ in range(epochs):
            order = torch.randperm(N)
            batches = zip(Z[order].split(B), y[order].split(B)) if N * D < 1 << 22 else ((Z[j], y[j]) for j in order.split(B))
            for z, labels in batches:
                n = len(z)
                g = torch.softmax(torch.addmm(b, z, W.t()), 1)
                g[row[:n], labels] -= 1
                W.addmm_(g.t(), z, beta=shrink, alpha=-lr / n)
                b.mul_(shrink).sub_(g.sum(0), alpha=lr / n)
    return epochs, {"W": W.numpy(), "b": b.numpy()}


def torch_bmm(seed):
    """Bootstrap members side by side in batched matrix products."""
    torch.manual_seed(seed)
    W, b, member = torch.zeros(models, D, K), torch.zeros(models, 1, K), torch.arange(models)[:, None]
    rows = torch.randint(N, (models, N))
    with torch.no_grad():
        for _ in range(epochs):
            for j in torch.stack([own[torch.randperm(N)] for own in rows]).split(B, dim=1):
                z, n = Z[j], j.shape[1]
                g = torch.softmax(torch.baddbmm(b, z, W), 2)
                g[member, torch.arange(n), y[j]] -= 1
                W.baddbmm_(z.transpose(1, 2), g, beta=shrink, alpha=-lr / n)
                b.mul_(shrink).sub_(g.sum(1, keepdim=True), alpha=lr / n)
    return models * epochs, {"W": W.transpose(1, 2).numpy(), "b": b[:, 0].numpy()}


def torch_predict(W, b, S, drop):
    """Sums over members, or over passes with dropout: mean, standard deviation of the chosen class, entropy of the votes."""
    mean, square, votes, one = torch.zeros(N, K), torch.zeros(N, K), torch.zeros(N, K), torch.ones(N, 1)
    with torch.no_grad():
        for s in range(S):
            z = F.dropout(Z, drop) if drop else Z
            q = torch.softmax(F.linear(z, W[s % len(W)], b[s % len(W)]), 1)
            mean += q
            square += q * q
            votes.scatter_add_(1, q.argmax(1, keepdim=True), one)
        mean /= S
        sr, label = mean.max(1, keepdim=True)
        std = (square.gather(1, label) / S - sr * sr).clamp_min(0).sqrt()
        torch.special.entr(votes / S).sum(1)
    return {"probs": mean.numpy(), "std": -std[:, 0].double().numpy()}


def torch_stacked(W, b, S, _):
    """All members in one product: [N,S,K] exists."""
    with torch.no_grad():
        q = torch.softmax(torch.addmm(b.view(-1), Z, W.view(S * K, D).t()).view(N, S, K), 2)
        mean = q.mean(1)
        label = mean.argmax(1)
        std = q[torch.arange(N), :, label].std(1, unbiased=False)
        torch.special.entr(F.one_hot(q.argmax(2), K).float().mean(1)).sum(1)
    return {"probs": mean.numpy(), "std": -std.double().numpy()}


# ---- numpy, scikit-learn ---------------------------------------------------------------------------------------------------------


def softmax(x):
    x -= x.max(1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(1, keepdims=True)
    return x


def numpy_train(seed):
    """Gradients by hand."""
    random = np.random.default_rng(seed)
    W, b = np.zeros((K, D), np.float32), np.zeros(K, np.float32)
    rows = random.integers(0, N, N) if method == "bootstrap" else np.arange(N)
    f32 = np.float32
    for _ in range(epochs):
        order = rows[random.permutation(N)]
        for i in range(0, N, B):
            j = order[i:i + B]
            z, n = Z[j], len(j)
            if p:
                z *= (random.random(z.shape, f32) >= p) * f32(1 / (1 - p))
            g = softmax(z @ W.T + b)
            g[np.arange(n), y[j]] -= 1
            W *= f32(shrink)
            W -= f32(lr / n) * (g.T @ z)
            b *= f32(shrink)
            b -= f32(lr / n) * g.sum(0)
            if method == "sgld":
                W += f32(noise) * random.standard_normal(W.shape, f32)
                b += f32(noise) * random.standard_normal(b.shape, f32)
    return epochs, {"W": W, "b": b}


def numpy_predict(W, b, S, drop):
    random = np.random.default_rng()
    mean, square, votes, row = np.zeros((N, K), np.float32), np.zeros((N, K), np.float32), np.zeros((N, K), np.float32), np.arange(N)
    for s in range(S):
        z = Z * ((random.random(Z.shape, np.float32) >= drop) * np.float32(1 / (1 - drop))) if drop else Z
        q = softmax(z @ W[s % len(W)].T + b[s % len(W)])
        mean += q
        square += q * q
        votes[row, q.argmax(1)] += 1
    mean /= S
    votes /= S
    label = mean.argmax(1)
    std = np.sqrt(np.maximum(square[row, label] / S - mean[row, label] ** 2, 0))
    (votes * np.log(np.where(votes > 0, votes, 1))).sum(1)
    return {"probs": mean, "std": -std.astype(np.float64)}


def sklearn_train(seed):
    """MLPClassifier without a hidden layer is this head. Its prior leaves the bias out."""
    from sklearn.neural_network import MLPClassifier
    model = MLPClassifier((), solver="sgd", alpha=B / N, batch_size=B, learning_rate_init=lr, momentum=0,
                          random_state=np.random.RandomState(seed))
    model.partial_fit(Z[:B], y[:B], np.arange(K))
    model.coefs_[0][:] = 0
    model.intercepts_[0][:] = 0
    for _ in range(epochs):
        model.partial_fit(Z, y)
    return epochs, {"W": model.coefs_[0].T, "b": model.intercepts_[0]}


def memory(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))


TRAIN = {"torch": torch_train, "torch-hand": torch_hand, "torch-bmm": torch_bmm, "numpy": numpy_train, "sklearn": sklearn_train}
PREDICT = {"torch": torch_predict, "torch-stacked": torch_stacked, "numpy": numpy_predict}
if method.startswith("predict"):
    W, b = map(torch.from_numpy, ensemble()) if library == "torch" else ensemble()
    S = int(args.get("samples", len(W)))


def repeat(seed):
    if method.startswith("predict"):
        return S * N, PREDICT[args["peer"]](W, b, S, p)
    return TRAIN[args["peer"]](seed)


base = memory("RssAnon")
for line in sys.stdin:
    seed, path = line.split()
    cpu, wall = time.process_time(), time.perf_counter()
    units, result = repeat(int(seed))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    answer = json.dumps({"cpu": cpu, "wall": wall, "units": units, "anon": memory("RssAnon"), "base": base, "peak": memory("VmHWM")})
    np.savez(path, **result)
    print(answer, flush=True)
