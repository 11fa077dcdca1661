"""Is it right on a GPU, and how fast? Everything on one card, in eight minutes at most.

    python -m benchmarks gpu --keep  # on a machine with a GPU
    python -m benchmarks gpu --device cpu --seconds 1 --most 256  # to try it

First each algorithm trains a little, evaluates, saves, loads and goes on, and numbers
are compared with a CPU's. Then PPO and others train as long as `--seconds` says, beside
rsl-rl-lib and a program in JAX where these are installed. `--keep` writes
docs/results/gpu.json and the table of the page about GPUs.
"""

import argparse
import importlib
import itertools
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from yieldrl.benchmarks import results, subprocesses
from yieldrl.cli import catalog
from yieldrl.core.config import Config

WORLDS = 1024, 16384, 65536
SIZES = {"num_steps": 32, "num_epochs": 4, "num_minibatches": 4}
CARTS, GAME = "yieldrl/CartPole-v1", "yieldrl/MinAtar-Breakout-v1"
WARM = 40  # gradient steps, after which everything is compiled and recorded
HEADER = "what", "environments", "steps a second", "collecting", "advantages"
HEADER = *HEADER, "gradient steps", "peak memory"


def config_of(algorithm: str, **fields: Any) -> Config:
    """A config of the fields that it has, whose run is forgotten."""
    kind: Any = importlib.import_module(f"yieldrl.algorithms.{algorithm}").Config
    fields |= {"eval_every": 0, "seed": 1, "run_root": tempfile.mkdtemp()}
    known = kind.__dataclass_fields__
    return kind(**{name: value for name, value in fields.items() if name in known})


def trainer_of(algorithm: str, **fields: Any) -> Any:
    module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    return module.Trainer(config_of(algorithm, **fields))


def smoke(algorithm: str, device: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """Train a little, evaluate, save, load, and go on as the one that was saved."""
    began, kinds = time.perf_counter(), Counter[str]()
    try:
        fields |= {"device": device, "learning_starts": 200}
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
                both = [
                    [plain(log) for log in itertools.islice(one(), 20)]
                    for one in (trainer, again)
                ]
        same = str(both[0]) == str(both[1])
        return {"algorithm": algorithm, "ok": place, "goes_on_bitwise": same} | kinds
    except Exception as reason:
        said = f"{type(reason).__name__}: {reason}"
        return {"algorithm": algorithm, "ok": "", "error": said[:300]}


def plain(log: dict[str, Any]) -> dict[str, Any]:
    return log | {"logs": {name: float(x) for name, x in log["logs"].items()}}


def compare(device: str) -> dict[str, float]:
    """The largest difference of a rollout of PPO, and of what a gradient step makes of
    the weights, between the CPU and a device, float32 throughout."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    fields = {"env_id": CARTS, "num_envs": 64, "device": "cpu", **SIZES}
    here, there = (trainer_of("ppo", **fields | {"device": x}) for x in ("cpu", device))
    there.model.load_state_dict(here.model.state_dict())
    rollout = here.collector.collect(32)
    moved = rollout.clone().to(there.agent.device)
    there.agent.counters.acted_version = here.agent.counters.acted_version = 0
    here.agent.counters.policy_version = there.agent.counters.policy_version = 0
    prepared, same = here.algorithm.prepare(rollout), there.algorithm.prepare(moved)
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
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    fields |= {"device": device, "total_steps": 10**9}
    with trainer_of(algorithm, **fields) as trainer:
        marks: list[tuple[float, int]] = []
        for log in trainer():
            if log["log_type"] == "train" and log["learn_step"] >= WARM:
                wait()
                marks.append((time.perf_counter(), log["sample_step"]))
                if marks[-1][0] - marks[0][0] > seconds:
                    break
        (first, before), (last, after) = marks[0], marks[-1]
        spent, kind = dict.fromkeys(("collect", "first", "train"), 0.0), ""
        count, start = dict.fromkeys(spent, 0), time.perf_counter()
        for log in trainer():
            wait()
            begins = log["log_type"] == "train" and kind != "train"
            kind = log["log_type"]
            part = "first" if begins else kind  # which takes the advantages too
            spent[part] += time.perf_counter() - start
            count[part] += 1
            if sum(spent.values()) > seconds / 2 and begins:
                break
            start = time.perf_counter()
    step = spent["train"] / max(1, count["train"])
    ahead = max(0.0, spent["first"] - count["first"] * step)
    total = sum(spent.values())
    memory = torch.cuda.max_memory_allocated() if device.startswith("cuda") else 0
    return {
        "steps_per_second": (after - before) / (last - first),
        "collecting": spent["collect"] / total,
        "advantages": ahead / total,
        "gradient_steps": 1 - (spent["collect"] + ahead) / total,
        "peak_bytes": memory,
    }


def cases(most: int) -> list[dict[str, Any]]:
    """What is trained: titles, and the arguments of `speed`."""
    ppo = [
        {"title": f"PPO, CartPole, {how}", "env_id": CARTS, "num_envs": n, "compile": c}
        for n in WORLDS
        for how, c in {"eager": False, "compiled": True}.items()
    ]
    games = [
        {"title": f"PPO, Breakout, {digits}", "env_id": GAME, "precision": digits}
        for digits in ("float32", "bfloat16")
    ]
    arrays = {"title": "PPO, Gymnasium's CartPole", "env_id": "CartPole-v1"}
    found = [case | SIZES | {"algorithm": "ppo"} for case in ppo]
    found += [case | SIZES | {"algorithm": "ppo", "num_envs": 1024} for case in games]
    found += [arrays | SIZES | {"algorithm": "ppo", "num_envs": 16}]
    sac = {"algorithm": "sac", "env_id": "yieldrl/Pendulum-v1", "num_envs": 1024}
    sac |= {"train_every": 1024, "gradient_steps": 8}
    found += [{"title": "SAC, Pendulum, eager", **sac}]
    found += [{"title": "SAC, Pendulum, compiled", "compile": True, **sac}]
    return [case | {"num_envs": min(case["num_envs"], most)} for case in found]


def benchmark(device: str, seconds: float, most: int, command: str) -> dict[str, Any]:
    """All of it; whatever fails says why, and the rest goes on."""
    result = results.circumstances("gpu", command, [1])
    if device.startswith("cuda"):
        card = torch.cuda.get_device_properties(device)
        result["card"] = f"{card.name}, {card.total_memory / 2**30:.0f} GiB"
        result["cuda"] = torch.version.cuda
    asked = {"device": device, "seconds": 2 * seconds}
    tried = [asked | {"algorithm": name} for name in catalog.folders()]
    result["smoke"] = subprocesses.each(smoke, tried, min(15, os.cpu_count() or 1))
    result["differences"] = subprocesses.call(compare, 1, device=device)
    runs = []
    for case in cases(most):
        asked = {k: x for k, x in case.items() if k != "title"}
        runs.append(case | tried_out("gpu", "speed", device, seconds, asked))
    for side in ("rsl_rl", "jax"):
        for count in sorted({min(n, most) for n in WORLDS}):
            asked = {"num_envs": count, "num_steps": SIZES["num_steps"]}
            of = tried_out("gpu_peers", side, device, seconds, asked)
            runs.append({"title": side, "num_envs": count} | of)
    return result | {"runs": runs}


def tried_out(
    module: str, name: str, device: str, seconds: float, asked: dict[str, Any]
) -> dict[str, Any]:
    """What a function answers in a process of its own, or why it does not."""
    function = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    try:
        both = {"device": device, "seconds": seconds}
        found = subprocesses.call(function, os.cpu_count() or 1, **both, **asked)
    except RuntimeError as reason:
        return {"error": str(reason).strip().splitlines()[-1][:300]}
    print(name, asked, f"{found['steps_per_second']:,.0f} steps/s", flush=True)
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("--device", default="cuda", help="what is measured (cuda)")
    add("--seconds", type=float, default=5.0, help="of each training (5)")
    add("--most", type=int, default=WORLDS[-1], help="environments (65536)")
    add("--keep", action="store_true", help="write into docs/results")


def run(device: str, seconds: float, most: int, keep: bool) -> None:
    """Measure and print; the exit status is 1 where something is wrong."""
    command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    result = benchmark(device, seconds, most, command)
    failed = [x for x in result["smoke"] if not x["ok"]]
    table = results.table(HEADER, rows(result))
    print(*failed, result["differences"], table, results.footer(result), sep="\n")
    if keep:
        results.save(result, results.FOLDER / "gpu.json")
        (results.FOLDER / "gpu.txt").write_text(table + "\n", "utf-8")
    raise SystemExit(bool(failed) or max(result["differences"].values()) > 1e-4)
