"""Tokens a second, beside Hugging Face's `generate` and TRL's GRPO on a like model."""

import json
import statistics
import subprocess
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.peers import venvs
from yieldrl.benchmarks.peers.sides import trl
from yieldrl.benchmarks.runs import median, some
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.subprocesses import call
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.envs.writing import SumsVectorEnv

TASK = {
    "vocabulary": 98,
    "prompt": 6,
    "answer": 32,
    "d_model": 128,
    "num_layers": 4,
    "num_heads": 4,
    "batch": 128,
    "group": 8,
    "count": 3,
    "threads": 1,
}
PARTS = {
    "sample": "sampling, tokens/s",
    "learn": "a gradient step, tokens/s",
    "grpo": "steps of GRPO, tokens/s",
}
SIDES = {"yieldrl": "yieldrl", "trl": "transformers, TRL"}
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


def in_turn(seeds: int, jobs: int) -> list[dict[str, Any]]:
    """Rounds in which both sides take turns, the first one by turns."""
    python = venvs.python_of("trl", venvs.default_folder())
    runs: list[dict[str, Any]] = []
    for seed in range(1, seeds + 1):
        sides = {
            "yieldrl": lambda seed=seed: call(train, 1, seed=seed),
            "trl": lambda seed=seed: theirs(python, seed),
        }
        for side in sides if seed % 2 else reversed([*sides]):
            answer = sides[side]()
            runs.append({"seed": seed, "side": side, **answer})
    return runs


def tokens_a_second(runs: Runs, side: str) -> dict[str, float]:
    """Of each of `PARTS`."""
    written, of = TASK["batch"] * TASK["answer"], some(runs, side=side)
    return {words: written / median(of, part) for part, words in PARTS.items()}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, label in SIDES.items():
        speeds = tokens_a_second(runs, side).values()
        row = [label, f"{median(runs, 'parameters', side=side):,.0f}"]
        rows.append(row + [f"{speed:,.0f}" for speed in speeds])
    return ["side", "parameters", *PARTS.values()], rows


def judge(runs: Runs) -> list[Demand]:
    def times(part: str) -> float:
        """How many times as fast as theirs ours was, the median of the rounds."""
        own = {run["seed"]: run[part] for run in some(runs, side="yieldrl")}
        found = (run[part] / own[run["seed"]] for run in some(runs, side="trl"))
        return statistics.median(found)

    return [
        at_least("sampling, times generate, median", times("sample"), 1.0),
        at_least("a step of GRPO, times TRL, median", times("grpo"), 1.0),
    ]


def draw(axes: Any, runs: Runs) -> None:
    for place, (color, side) in enumerate(zip(COLORS, SIDES, strict=False)):
        speeds = tokens_a_second(runs, side).values()
        spots = [i + 0.4 * place for i in range(len(PARTS))]
        axes.bar(spots, speeds, 0.38, color=color, label=SIDES[side])
    axes.set_xticks([i + 0.2 for i in range(len(PARTS))], [*PARTS.values()])


CLAIMS = [
    Trial(
        name="writing-tokens",
        statement=(
            "Tokens a second of a transformer of 0.8 million parameters: ours, and a"
            " GPT-2 of the same size with Hugging Face's generate, and with TRL's GRPO,"
            " which also takes one gradient step on each batch."
        ),
        settings=TASK,
        together=in_turn,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "A transformer of 0.8 million parameters on one thread",
            "ylabel": "tokens of answers a second",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
