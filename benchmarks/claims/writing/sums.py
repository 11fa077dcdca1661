"""GRPO, its relatives, REINFORCE and PPO with a critic, from one clone of each seed."""

import copy
import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from yieldrl.algorithms import behavior_cloning
from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.claims.vla.learning import rates
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.experiments.plot import aggregate
from yieldrl.language import AnswerCritic, AnswerPolicy, TokenPolicy, policy_for

WORLD, MODEL, CLONE = constants("writing/sums", "WORLD", "MODEL", "CLONE")
COMMON, OWN, SIDES = constants("writing/sums", "COMMON", "OWN", "SIDES")
GROUPS, GROUP, EPISODES = 64, 8, 1_000
EVERY = 5 * GROUPS * GROUP  # answers between two looks
LOOKS = ("answers", "right", "entropy", "kl", "informative", "length")

WRAPPERS = {"reinforce": AnswerPolicy, "ppo": AnswerCritic}
SETTINGS = {"world": WORLD, "model": MODEL, "clone": CLONE, "all": COMMON, "own": OWN}


class Look:
    """What a policy writes for 64 prompts, 8 answers each, the same ones every time.

    It sees how many are right, the mean entropy of a token, the divergence of an answer
    from the clone (the mean log-ratio), the share of prompts whose answers earn unlike
    rewards, and the tokens of an answer.
    """

    def __init__(self, world: Mapping[str, Any], clone: TokenPolicy) -> None:
        kwargs: Any = {"num_envs": GROUPS * GROUP, **world["env_kwargs"]}
        self.envs: Any = gymnasium.make_vec(world["env_id"], **kwargs)
        self.clone = copy.deepcopy(clone)

    @torch.no_grad()
    def __call__(self, policy: TokenPolicy) -> list[float]:
        seeds = [20_000 + i // GROUP for i in range(GROUPS * GROUP)]
        obs, _ = self.envs.reset(seed=seeds)
        tokens, log_prob = policy.write(obs, torch.Generator().manual_seed(1))
        _, entropy, _ = policy.evaluate_actions(obs, tokens)
        before, *_ = self.clone.evaluate_actions(obs, tokens)
        text = policy.tokenizer.to_bytes(tokens, policy.length)
        _, reward, _, _, info = self.envs.step(text)
        low, high = reward.view(GROUPS, GROUP).aminmax(dim=1)
        found = info["success"], entropy, (log_prob - before).sum(1), low < high
        found = *found, policy.written(tokens).sum(1)
        return [round(float(of.float().mean()), 4) for of in found]


def cloned(world: Mapping[str, Any], clone: Mapping[str, Any], seed: int) -> Any:
    """A trainer that has cloned the world's expert, not quite."""
    config = behavior_cloning.Config(**world, **clone, seed=seed)
    model = functools.partial(policy_for, **MODEL)
    trainer = behavior_cloning.Trainer(config, model=model)
    for _ in trainer():
        pass
    return trainer


def improved(
    name: str, clone: TokenPolicy, look: Look, **fields: Any
) -> dict[str, Any]:
    """Let an algorithm go on from a copy of the clone."""
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    fields = {**COMMON, **OWN.get(name, OWN["grpo"]), **fields}
    model = WRAPPERS.get(name, lambda one: one)(copy.deepcopy(clone))
    curve: list[list[float]] = []
    with module.Trainer(module.Config(**fields), model=model) as trainer:
        for log in trainer():
            written = log["sample_step"]
            if log["log_type"] == "train" and written >= len(curve) * EVERY + EVERY:
                curve.append([written, *look(trainer.model)])
        found = rates(trainer, EPISODES, accuracy="success_rate")
    return {"side": name, **found, "curve": curve}


def from_one_clone(
    seed: int,
    world: Mapping[str, Any],
    clone: Mapping[str, Any],
    sides: Sequence[str],
    **fields: Any,
) -> dict[str, Any]:
    """The clone, and what algorithms make of it; `fields` are of their configs."""
    made = cloned(world, clone, seed)
    start = rates(made, EPISODES, accuracy="success_rate")
    look = Look(world, made.model)
    first = [0, *look(made.model)]
    runs = [{"side": "clone", **start, "curve": [first]}]
    for name in sides:
        if name != "clone":
            own = {**world, **fields, "seed": seed}
            runs.append(improved(name, made.model, look, **own))
            runs[-1]["curve"].insert(0, first)
    return {"runs": [{"seed": seed, **run} for run in runs]}


def train(seed: int) -> dict[str, Any]:
    return from_one_clone(seed, WORLD, CLONE, list(SIDES))


def gained(runs: Sequence[Run]) -> list[float]:
    """By how much more of what is drawn is right than of the clone's answers, the mean
    of each algorithm: what they improve is the expected reward."""
    of = {s: mean_last([run for run in runs if run["side"] == s]) for s in SIDES}
    return [of[side] - of["clone"] for side in SIDES if side != "clone"]


def mean_last(runs: Sequence[Run]) -> float:
    return float(np.mean(last(runs, "right")))


def last(runs: Sequence[Run], name: str) -> list[float]:
    """What the last look found."""
    return [run["curve"][-1][LOOKS.index(name)] for run in runs]


right, entropy, kl, informative = (
    functools.partial(last, name=name) for name in LOOKS[1:5]
)


def halfway(runs: Sequence[Run]) -> list[float]:
    """Share of prompts that teach in the middle of training."""
    place = LOOKS.index("informative")
    return [run["curve"][len(run["curve"]) // 2][place] for run in runs]


def draw(axes: Any, runs: Sequence[Run], name: str = "right") -> None:
    known = {run["side"] for run in runs} - {"clone"}
    shown = [side for side in SIDES if side in known]
    for color, side in zip(COLORS, shown, strict=False):
        points = [np.array(run["curve"]).T for run in runs if run["side"] == side]
        rows = [(of[0], of[LOOKS.index(name)]) for of in points]
        line(axes, aggregate(SIDES[side], rows), color)
