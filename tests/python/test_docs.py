#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages that show code are run as they stand: blocks of ```python in one namespace per page, blocks of ```sh by bash, both in one folder.
What a reader has already (a model, loaders, files) is made first. A block under the comment `<!-- not run: why -->` is only parsed.
"""
import ast
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import types
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import samples  # noqa: E402
from tap import SOURCE, Skip, case, cases_of, check, main  # noqa: E402

PAGES = ["README.md", "docs/tutorial.md", "docs/recipes.md", "docs/faq.md", "docs/manual/python.md"]
NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*$")
SHELL_SKIPPED = re.compile(r"(make|pip|git|cd|sudo|PYTHONPATH=\S* python3)\b")  # tools/docs.py knows the targets; the rest is not ours
N, SIDE, CLASSES = 1200, 4, 3


def blocks(page):
    """(language, first line, text, run) of each fenced block with a language."""
    text = (SOURCE / page).read_text()
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield match.group(1), text.count("\n", 0, match.start()) + 2, match.group(2), not NOT_RUN.search(text[:match.start()].rstrip("\n"))


def networks(torch):
    """A plain model, one with the functions of timm, and one that takes and gives what those of Transformers do."""
    nn, width = torch.nn, SIDE * SIDE

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(width, 8), nn.LayerNorm(8), nn.Linear(8, CLASSES)

        def forward_features(self, x):
            return torch.relu(self.body(x.flatten(1)))

        def forward_head(self, z, pre_logits=False):
            return self.norm(z) if pre_logits else self.head(self.norm(z))

        def forward(self, x):
            return self.forward_head(self.forward_features(x))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.classifier = nn.Embedding(50, 8), nn.Linear(8, CLASSES)

        def forward(self, input_ids, attention_mask):
            z = (self.embedding(input_ids) * attention_mask[..., None]).sum(1) / attention_mask.sum(1, keepdim=True)
            return types.SimpleNamespace(logits=self.classifier(z))

    return nn.Sequential(nn.Flatten(), nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, CLASSES)), Vit().eval(), Bert()


def torch_world():
    """A trained model and loaders as a reader of the pages has them, small."""
    try:
        import torch
    except ImportError:
        raise Skip("no torch") from None
    torch.manual_seed(0)
    torch.set_num_threads(1)
    centres = torch.randn(CLASSES, SIDE * SIDE)

    def loader(n):
        y = torch.randint(0, CLASSES, (n,))
        x = (centres[y] + 0.9 * torch.randn(n, SIDE * SIDE)).reshape(n, 1, SIDE, SIDE)
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=128)

    model, vit, bert = networks(torch)
    train = loader(N)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(3):
        for x, y in train:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
    texts = [{"input_ids": torch.randint(0, 50, (64, 7)), "attention_mask": torch.ones(64, 7), "labels": torch.randint(0, CLASSES, (64,))} for _ in range(4)]
    return {"model": model, "vit": vit, "bert": bert, "text_loader": texts, "train_loader": train, "val_loader": loader(N), "test_loader": loader(N),
            "images": next(iter(loader(5)))[0]}


def array_world():
    """Features, labels and outputs as arrays, and files of them, as a reader has them; on some pages under shorter names."""
    made = samples.make(n=1500)
    np.save("new_features.npy", made["test_features"][:20])
    np.save("test_images.npy", np.zeros((1500, 8, 8), np.uint8))
    pathlib.Path("classes.txt").write_text("ant\nbee\ncat\n")
    names = np.array(["ant", "bee", "cat"])
    logits = made["features"] @ made["W"].T + made["b"]
    short = {"Z": "features", "Zt": "test_features", "Zv": "val_features", "y": "labels", "yt": "test_labels", "yv": "val_labels", "q": "test_probs",
             "g": "test_logits", "embeddings": "features", "val_embeddings": "val_features", "test_embeddings": "test_features"}
    return {"np": np, **made, **{name: made[of] for name, of in short.items()}, "f": logits, "p": samples.softmax(logits),
            "new_features": made["test_features"][:20], "new_embeddings": made["test_features"][:20], "intent_names": names[made["labels"]],
            "val_intent_names": names[made["val_labels"]], "test_intent_names": names[made["test_labels"]]}


def bash(page, line, text):
    lines = [one for one in text.splitlines() if not SHELL_SKIPPED.match(one.strip())]
    command = pathlib.Path(os.environ["LASTLAYER"])
    env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                          timeout=240)
    check(done.returncode == 0, f"{page}:{line} ends with {done.returncode}:\n{text}\n{done.stdout[-2000:]}")


@cases_of([(page, page) for page in PAGES])
def the_code_of_a_page_runs(page):
    world = {"__name__": "page", **array_world(), **torch_world()}
    for language, line, text, run in blocks(page):
        if language == "python":
            code = compile(ast.parse(text), f"{page}:{line}", "exec")
            if run:
                with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(code, world)
        elif language == "sh" and run:
            bash(page, line, text)
    check(not [p for p in os.listdir(".") if p.endswith(".partial")], f"left behind: {os.listdir('.')}")


@case
def the_pages_have_code():
    kinds = {page: [(language, run) for language, _, _, run in blocks(page)] for page in PAGES}
    check(all(("python", True) in kinds[page] for page in PAGES), f"{kinds}")
    check(all(("sh", True) in kinds[page] for page in PAGES[:3]), f"{kinds}")


@case
def the_table_of_the_readme_is_that_of_the_demo():
    """Each number of the README's table is a rounded one of docs/results/promises/demo.md, which is what `make demo` prints."""
    readme, demo = ((SOURCE / page).read_text() for page in ("README.md", "docs/results/promises/demo.md"))
    rows = re.findall(r"^\| `(\w+)`: [^|]+\|([^|]+)\|([^|]+)\|([^|]+)\|$", readme, re.M)
    check(len(rows) >= 4, "the README has no table")
    for name, *cells in rows:
        line = demo.split(f"\n| {name} |")[1].splitlines()
        numbers, intervals = line[0].split("|"), line[1].split("|")
        for cell, column in zip(cells, (2, 6, 9)):  # accuracy, AURC sr, coverage, behind the name
            share = "%" in cell
            shown = [float(x) / (100 if share else 1) for x in re.findall(r"\.?\d+\.?\d*", cell)]
            exact = [float(numbers[column])] + [float(x) for x in re.findall(r"[\d.]+", intervals[column + 2])]
            for a, b in zip(shown, exact, strict=True):
                check(abs(a - b) <= 5.01e-4, f"{name}: the README has {a}, the demo {b}")
    for figure in re.findall(r"test accuracy +([\d.]+)", readme):
        check(float(figure) == float(demo.split("\n| point |")[1].split("|")[2]), f"the transcript has {figure}")
    cut = re.search(r"^coverage  ([\d.]+) ", readme, re.M).group(1)
    check(float(cut) == float(demo.split("\n| sgld |")[1].splitlines()[0].split("|")[9]), f"the threshold has coverage {cut}")


if __name__ == "__main__":
    main()
