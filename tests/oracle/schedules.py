#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/fixtures/schedules.json: the learning rate at every step by PyTorch's own schedulers.

step is StepLR, cosine CosineAnnealingLR, both behind a LinearLR where there is a warm-up; one-cycle is OneCycleLR without its cycle of momentum.
Usage: schedules.py [OUT]"""
import json
import pathlib
import platform
import sys
import warnings

import torch
from torch.optim import lr_scheduler as sched


def scheduler(optimiser, case):
    T, W = case["total"], case["warm_up"]
    if case["curve"] == "one-cycle":
        return sched.OneCycleLR(optimiser, case["lr"], total_steps=T, pct_start=W / T, cycle_momentum=False)
    if case["curve"] == "step":
        parts = [sched.StepLR(optimiser, case["every"], case["drop"])]
        if W:
            parts.append(sched.LinearLR(optimiser, 1 / W, 1, W - 1))  # both at once: the product of the two
        return sched.ChainedScheduler(parts)
    if not W:
        return sched.CosineAnnealingLR(optimiser, T)
    rise = sched.LinearLR(optimiser, 1 / W, 1, W - 1)
    return sched.SequentialLR(optimiser, [rise, sched.CosineAnnealingLR(optimiser, T - W)], [W])


def make_case(curve, lr, total, warm_up, drop=0.5, every=1000):
    case = {"curve": curve, "lr": lr, "total": total, "warm_up": warm_up, "drop": drop, "every": every}
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    s, found = scheduler(optimiser, case), []
    for _ in range(total):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        s.step() if len(found) < total else None
    return {**case, "found": found}


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "fixtures/schedules.json"
    warnings.simplefilter("ignore")
    cases = [
        make_case("step", 0.1, 60, 0, 0.5, 20),
        make_case("step", 0.1, 60, 7, 0.1, 25),
        make_case("step", 0.1, 60, 30, 0.5, 20),  # still rising when lr drops
        make_case("cosine", 0.1, 60, 0),
        make_case("cosine", 0.001, 61, 5),
        make_case("cosine", 0.3, 200, 199),
        make_case("one-cycle", 0.1, 60, 18),
        make_case("one-cycle", 0.05, 101, 2),
        make_case("one-cycle", 0.4, 77, 50),
    ]
    made = {"script": "tests/oracle/schedules.py", "python": platform.python_version(), "torch": torch.__version__}
    target.write_text(json.dumps({"made_by": made, "cases": cases}, separators=(",", ":")).replace('{"curve"', '\n{"curve"') + "\n")


if __name__ == "__main__":
    main()
