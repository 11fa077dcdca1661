"""Tokens a second, beside Hugging Face's `generate` and TRL's GRPO on a like model."""

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.benchmarks.claim import Options, Run, constants, median
from yieldrl.benchmarks.peers import venvs
from yieldrl.benchmarks.peers.sides import trl
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.subprocesses import call
from yieldrl.envs.writing import SumsVectorEnv

(TASK,) = constants("writing/tokens", "TASK")
PARTS = {
    "sample": "sampling, tokens/s",
    "learn": "a gradient step, tokens/s",
    "grpo": "GRPO's steps, tokens/s",
}
SETTINGS = dict(TASK)
HERE = Path(trl.__file__).parent.parent


class LongSums(SumsVectorEnv):
    """Sums whose answers have room for more, and are judged by their first byte."""

    @property
    def answer_length(self) -> int:
        return TASK["answer"]

    def right_number(self, state: Any) -> Tensor:
        return super().right_number(state)[:, : TASK["answer"]]

    def grade(self, state: Any, answer: Tensor) -> Tensor:
        return (answer[:, 0] % 2 == 0).float()


def train(seed: int) -> dict[str, Any]:
    """Our seconds of sampling, of a gradient step, and of a step of GRPO."""
    torch.manual_seed(seed)
    batch, count = TASK["batch"], TASK["count"]
    fields = {name: TASK[name] for name in ("d_model", "num_layers", "num_heads")}
    fields |= {"num_envs": batch, "num_epochs": 1, "num_minibatches": 1}
    fields |= {"total_steps": batch * (count + 1), "demonstration_steps": 0}
    fields |= {"eval_every": 0, "device": "cpu", "threads": 1, "seed": seed}
    config = grpo.Config(**fields, group_size=TASK["group"])
    with grpo.Trainer(config, envs=LongSums(batch)) as trainer:
        model = trainer.model
        obs, _ = trainer.envs.reset(seed=seed)
        generator = torch.Generator().manual_seed(seed)
        sample = trl.median_seconds(lambda: model.write(obs, generator), count)
        action = torch.randint(1, TASK["vocabulary"], (batch, TASK["answer"]))
        optimizer = torch.optim.Adam(model.parameters(), fused=True)

        def step() -> None:
            log_prob, *_ = model.evaluate_actions(obs, action)
            optimizer.zero_grad()
            log_prob.mean().backward()
            optimizer.step()

        learn = trl.median_seconds(step, count)
        parameters = sum(p.numel() for p in model.parameters())
    with grpo.Trainer(config, envs=LongSums(batch)) as trainer:
        times = [time.perf_counter()]
        with closing(trainer()) as loop:
            times += [time.perf_counter() for log in loop if log["log_type"] == "train"]
    taken = sorted(b - a for a, b in pairwise(times[1:]))
    found = {"sample": sample, "learn": learn, "grpo": taken[len(taken) // 2]}
    return {"parameters": parameters, **found}


def theirs(python: Path, seed: int) -> dict[str, Any]:
    """The seconds of Hugging Face and TRL."""
    command = [str(python), "-m", "sides.trl", json.dumps({**TASK, "seed": seed})]
    with tempfile.TemporaryDirectory() as folder:
        env = {"PYTHONPATH": str(HERE), "HOME": folder, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True
        )
    if done.returncode != 0:
        raise RuntimeError(f"TRL failed: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(options: Options) -> list[dict[str, Any]]:
    """Rounds in which both sides take turns, the first one by turns."""
    python = venvs.python_of("trl", venvs.default_folder())
    runs: list[dict[str, Any]] = []
    for seed in options.numbers:
        sides = {
            "yieldrl": lambda seed=seed: call(train, 1, seed=seed),
            "trl": lambda seed=seed: theirs(python, seed),
        }
        for side in sides if seed % 2 else reversed([*sides]):
            answer = sides[side]()
            runs.append({"seed": seed, "side": side, **answer})
            print(f"round {seed}, {side}: done", flush=True)
    return runs


def tokens_a_second(runs: Sequence[Run], part: str) -> float:
    return TASK["batch"] * TASK["answer"] / median(runs, part)


def sampled(runs: Sequence[Run]) -> float:
    return tokens_a_second(runs, "sample")


def learned(runs: Sequence[Run]) -> float:
    return tokens_a_second(runs, "learn")


def stepped(runs: Sequence[Run]) -> float:
    return tokens_a_second(runs, "grpo")


def faster(runs: Sequence[Run], part: str) -> list[float]:
    """How many times as fast as theirs ours was in each round."""
    own = {run["seed"]: run[part] for run in runs if run["side"] == "yieldrl"}
    return [run[part] / own[run["seed"]] for run in runs if run["side"] == "trl"]


def ratio_sample(runs: Sequence[Run]) -> list[float]:
    return faster(runs, "sample")


def ratio_learn(runs: Sequence[Run]) -> list[float]:
    return faster(runs, "learn")


def ratio_grpo(runs: Sequence[Run]) -> list[float]:
    return faster(runs, "grpo")


SIDES = {"yieldrl": "yieldrl", "trl": "transformers, TRL"}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for place, (color, side) in enumerate(zip(COLORS, SIDES, strict=False)):
        of = [run for run in runs if run["side"] == side]
        heights = [tokens_a_second(of, part) for part in PARTS]
        spots = [i + 0.4 * place for i in range(len(PARTS))]
        axes.bar(spots, heights, 0.38, color=color, label=SIDES[side])
    axes.set_xticks([i + 0.2 for i in range(len(PARTS))], [*PARTS.values()])
