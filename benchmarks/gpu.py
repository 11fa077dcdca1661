"""Is it right on a GPU, and how fast? Everything on one card, in eight minutes at most.

    python -m benchmarks gpu --keep  # on a machine with a GPU
    python -m benchmarks gpu --device cpu --seconds 1 --most 256  # to try it

First each algorithm trains a little, evaluates, saves, loads and goes on, and numbers
are compared with a CPU's. Then PPO and others train as long as `--seconds` says, beside
rsl-rl-lib and a program in JAX where these are installed. `--keep` writes
docs/results/gpu.json and the table of the page about GPUs.
"""

import itertools
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from yieldrl.benchmarks import gpu_peers, results, subprocesses
from yieldrl.benchmarks.figure import timed
from yieldrl.benchmarks.tasks import make_trainer, trainer_class_of
from yieldrl.cli import catalog
from yieldrl.core.files import read_file

WORLDS = 1024, 16384, 65536
SIZES = {"num_steps": 32, "num_epochs": 4, "num_minibatches": 4}
CARTS = "yieldrl/CartPole-v1"
CASES: list[dict[str, Any]] = read_file(Path(__file__).with_suffix(".yaml"))["cases"]
WARM = 40  # gradient steps, after which everything is compiled and recorded
HEADER = "what", "worlds", "steps/s", "collecting", "advantages", "learning", "memory"


def trainer_of(algorithm: str, **fields: Any) -> Any:
    """A trainer with those of the fields that its config has; its run is forgotten."""
    fields |= {"eval_every": 0, "seed": 1, "run_root": tempfile.mkdtemp()}
    known = trainer_class_of(algorithm).config_class.__dataclass_fields__
    fields = {name: value for name, value in fields.items() if name in known}
    return make_trainer(algorithm, fields)


def smoke(algorithm: str, device: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """Train a little, evaluate, save, load, and go on as the one that was saved."""
    began, kinds = time.perf_counter(), Counter[str]()
    fields |= {"device": device, "learning_starts": 200}
    try:
        with trainer_of(algorithm, **fields) as trainer:
            for log in trainer():
                kinds[log["log_type"]] += 1
                late = time.perf_counter() - began > seconds
                if late or (kinds["train"] > 20 and kinds.total() > 100):
                    break
            trainer.evaluate(1)
            path = trainer.save(Path(tempfile.mkdtemp(), "half.pt"))
            with type(trainer).load(path) as again:
                place = next(again.model.parameters()).device.type
                both = [str(go_on(of)) for of in (trainer, again)]
        found = {"ok": place, "goes_on_bitwise": both[0] == both[1]} | kinds
    except Exception as reason:
        found = {"ok": "", "error": f"{type(reason).__name__}: {reason}"[:300]}
    return {"algorithm": algorithm, **found}


def go_on(trainer: Any) -> list[dict[str, Any]]:
    """Its next logs, of plain numbers."""
    return [
        log | {"logs": {name: float(x) for name, x in log["logs"].items()}}
        for log in itertools.islice(trainer(), 20)
    ]


def compare(device: str) -> dict[str, float]:
    """The largest difference of a rollout of PPO, and of what a gradient step makes of
    the weights, between the CPU and a device, float32 throughout."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    fields = {"env_id": CARTS, "num_envs": 64, **SIZES}
    here, there = (trainer_of("ppo", **fields, device=x) for x in ("cpu", device))
    there.model.load_state_dict(here.model.state_dict())
    rollout = here.collector.collect(32)
    for agent in (here.agent, there.agent):
        agent.counters.acted_version = agent.counters.policy_version = 0
    same = there.algorithm.prepare(rollout.clone().to(there.agent.device))
    prepared = here.algorithm.prepare(rollout)
    found = {k: gap(x, same[k]) for k, x in prepared.items() if x.is_floating_point()}
    batch = prepared.flatten(0, 1)
    here.agent.learn(batch)
    there.agent.learn(batch.to(there.agent.device))
    pairs = zip(here.model.parameters(), there.model.parameters(), strict=True)
    return found | {"weights": max(gap(x, y) for x, y in pairs)}


def gap(here: Any, there: Any) -> float:
    return float((here.detach() - there.detach().cpu()).abs().max())


def speed(algorithm: str, device: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """Steps a second of a training, where its time goes, and the most memory."""
    on_gpu = device.startswith("cuda")
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    with trainer_of(algorithm, device=device, total_steps=10**9, **fields) as trainer:
        marks: list[tuple[float, int]] = []
        for log in trainer():
            new = not marks or log["sample_step"] > marks[-1][1]  # another rollout
            if log["log_type"] == "train" and log["learn_step"] >= WARM and new:
                wait()
                marks.append((time.perf_counter(), log["sample_step"]))
                if marks[-1][0] - marks[0][0] > seconds:
                    break
        (first, before), (last, after) = marks[0], marks[-1]
        calls = {"all": "algorithm.prepare"} if algorithm == "ppo" else {}
        ahead = timed(trainer, calls, wait)
        spent, kind = dict.fromkeys(("collect", "train"), 0.0), "train"
        start = time.perf_counter()
        for log in trainer():
            wait()
            spent[log["log_type"]] += time.perf_counter() - start
            if sum(spent.values()) > seconds / 2 and kind != log["log_type"] == "train":
                break
            kind, start = log["log_type"], time.perf_counter()
    total = sum(spent.values())
    return {
        "steps_per_second": (after - before) / (last - first),
        "collecting": spent["collect"] / total,
        "advantages": ahead["all"] / total,
        "gradient_steps": 1 - (spent["collect"] + ahead["all"]) / total,
        "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0,
    }


def run(device: str, seconds: float, most: int, keep: bool) -> None:
    """Measure and print; whatever fails says why, and the rest goes on. The exit status
    is 1 where something is wrong."""
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    result = results.circumstances("gpu", command, [1])
    if device.startswith("cuda"):
        card = torch.cuda.get_device_properties(device)
        result["card"] = f"{card.name}, {card.total_memory / 2**30:.0f} GiB"
        result["cuda"] = torch.version.cuda
    how = {"device": device, "seconds": seconds}
    names = catalog.folders()
    tried = [how | {"algorithm": name, "seconds": 2 * seconds} for name in names]
    result["smoke"] = subprocesses.each(smoke, tried, min(15, os.cpu_count() or 1))
    result["differences"] = subprocesses.call(compare, 1, device=device)
    runs = result["runs"] = []
    for case in CASES:
        case |= {"num_envs": min(case["num_envs"], most)}
        asked = {k: x for k, x in case.items() if k != "title"}
        runs.append(case | tried_out(speed, **how, **asked))
    for side in (gpu_peers.rsl_rl, gpu_peers.jax):
        for count in sorted({min(n, most) for n in WORLDS}):
            found = tried_out(side, **how, num_envs=count, num_steps=SIZES["num_steps"])
            runs.append({"title": side.__name__, "num_envs": count} | found)
    failed = [x for x in result["smoke"] if not x["ok"]]
    table = results.table(HEADER, rows(result))
    print(*failed, result["differences"], table, results.footer(result), sep="\n")
    if keep:
        results.save(result, results.FOLDER / "gpu.json")
        (results.FOLDER / "gpu.txt").write_text(table + "\n", "utf-8")
    raise SystemExit(bool(failed) or max(result["differences"].values()) > 1e-4)


def tried_out(function: Callable[..., Any], **asked: Any) -> dict[str, Any]:
    """What a function answers in a process of its own, or why it does not."""
    try:
        found = subprocesses.call(function, os.cpu_count() or 1, **asked)
    except RuntimeError as reason:
        return {"error": str(reason).strip().splitlines()[-1][:300]}
    print(function.__name__, asked, found["steps_per_second"], flush=True)
    return found


def rows(result: dict[str, Any]) -> list[list[str]]:
    """The table of a result."""
    shares = ("collecting", "advantages", "gradient_steps")
    return [
        [
            run["title"],
            f"{run['num_envs']:,}",
            f"{run.get('steps_per_second', 0):,.0f}" if "error" not in run else "-",
            *(f"{run[share]:.0%}" if share in run else "" for share in shares),
            f"{run['peak_bytes'] / 2**20:,.0f} MiB" if run.get("peak_bytes") else "",
        ]
        for run in result["runs"]
    ]
