"""Without a critic or with one, from one clone, rewarded for nothing but success."""

import copy
import importlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import torch
from torch import Tensor

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.collectors import evaluate

from .learning import cloned, curve_of, look

WORLD, CLONE, BOTH, OWN, SIDES = constants(
    "vla/seeing", "WORLD", "CLONE", "BOTH", "OWN", "SIDES"
)
SETTINGS = {**WORLD, **BOTH, "clone": CLONE, "own": OWN}
NAMES = ("step", "success", "drawn", "entropy", "kl", "informative", "seconds")
STARTS = 512  # first looks, and episodes, the same ones every time


def train(seed: int) -> dict[str, Any]:
    """A clone, and what each side makes of it in as many steps of the environments."""
    return compared(seed, WORLD, CLONE, BOTH, OWN)


def compared(
    seed: int,
    world: dict[str, Any],
    clone: dict[str, Any],
    both: dict[str, Any],
    own: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """A clone, and what becomes of it by the settings of each side, and of `both`."""
    weights, first = cloned(vla_ppo.Config(**world, **clone, seed=seed), look)
    run = {
        side: improved({**world, **both, **only}, weights, seed, first["success"])
        for side, only in own.items()
    }
    return {"seed": seed, "cloned": first, **run}


def improved(
    settings: dict[str, Any], weights: dict[str, Tensor], seed: int, success: float
) -> dict[str, Any]:
    """`curve` has rows of `NAMES`, the first one of the clone: the share of informative
    groups is 0 without groups, and `seconds` are of one processor, spent on collecting
    and learning. The row after that, the middle and the last are `begin`, `halfway` and
    `end`."""
    fields = dict(settings)
    module = importlib.import_module(f"yieldrl.algorithms.{fields.pop('algorithm')}")
    config = module.Config(**fields, seed=seed)
    informative = seconds = 0.0
    with module.Trainer(config) as trainer:
        like = trainer.model.state_dict()
        # Where there is a value of each action, all begin as that of the chunk.
        each = {name: x.expand_as(like[name]) for name, x in weights.items()}
        trainer.model.load_state_dict(each)
        moved = Moved(trainer)
        curve = [(0, success, *moved(), informative, seconds)]
        begin = time.process_time()
        for log in trainer():
            now, logs = time.process_time(), log["logs"]
            if log["log_type"] == "evaluate":
                numbers = float(logs["success_rate"]), *moved(), informative, seconds
                curve.append((log["sample_step"], *(round(x, 4) for x in numbers)))
            else:
                seconds += now - begin
            informative = float(logs.get("grpo/informative_groups", informative))
            begin = time.process_time()
        rows = {"begin": 1, "halfway": len(curve) // 2, "end": -1}
        found = {k: dict(zip(NAMES, curve[i], strict=True)) for k, i in rows.items()}
        return {**found, "improved": look(trainer), "curve": curve}


class Moved:
    """What a policy is beside what it was, at the starts of 512 episodes."""

    def __init__(self, trainer: Any) -> None:
        kwargs = {"num_envs": STARTS, **trainer.config.env_kwargs}
        envs = gymnasium.make_vec(trainer.config.env_id, **kwargs)
        self.envs = trainer.wrap_envs(envs)
        self.policy, self.clone = trainer.model, copy.deepcopy(trainer.model)

    @torch.no_grad()
    def __call__(self) -> tuple[float, float, float]:
        """How often it succeeds where its actions are drawn, as in training; its
        entropy, and its divergence from the clone (the mean of log-ratios), of a chunk
        at the first look, in nats."""
        self.generator = torch.Generator().manual_seed(1)
        drawn = evaluate(self, self.envs, STARTS, seed=20_000).logs()["success_rate"]
        obs, _ = self.envs.reset(seed=20_000)
        action, said = self.policy.sample(obs, self.generator)
        entropy = self.policy.evaluate_actions(obs, action)[1]
        before = self.clone.evaluate_actions(obs, action)[0]
        sums = entropy, said["log_prob"] - before
        entropy, kl = (float(of.flatten(1).sum(1).mean()) for of in sums)
        return drawn, entropy, kl

    def predict(self, obs: Any) -> Tensor:
        """Drawn actions, for an evaluation that would take the most likely ones."""
        return self.policy.sample(obs, self.generator)[0]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    draw_sides(axes, runs, SIDES)


def draw_sides(axes: Any, runs: Sequence[Run], sides: Mapping[str, str]) -> None:
    """Learning curves of sides, which have these words, and their time inside."""
    axes.set_ylim(0, 1)
    inside = axes.inset_axes((0.64, 0.13, 0.35, 0.3))
    inside.set_xlabel("seconds of one processor", fontsize=7)
    inside.tick_params(labelsize=7)
    for color, (side, label) in zip(COLORS, sides.items(), strict=False):
        curves = [run[side]["curve"] for run in runs]
        line(axes, curve_of(label, [run[side] for run in runs]), color)
        last = NAMES.index("seconds")
        timed = [[(row[last], row[1]) for row in curve] for curve in curves]
        line(inside, curve_of("_", [{"curve": rows} for rows in timed]), color)
