"""Six small experiments whose outcome is known beforehand, for anything like PPO."""

import copy
import csv
import importlib
import math
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from yieldrl.algorithms import ppo
from yieldrl.envs.probes import Answer
from yieldrl.exercises.training import logged as trained
from yieldrl.exercises.training import own_parts, trainer_class

BUGS = {
    "none": "nothing is wrong, as far as these experiments see",
    "end": "something is expected after the end of an episode",
    "ratio": "the ratio of probabilities is always 1",
    "gradient": "no gradient reaches the actor",
    "statistics": "running statistics are not saved",
    "credit": "rewards are credited to other steps",
    "entropy": "to be undecided costs, where it should pay",
}
"""What `diagnose` may answer, and what it means."""

FOLDERS = tuple(f"broken_{number:02}" for number in range(1, 7))
PPO = type[ppo.Trainer]


class Readings(NamedTuple):
    """What the experiments gave. Behind each: what it should be."""

    value: float  # 1: a step is worth that pays 1 and ends
    sides: float  # 2: a step that pays 1 is worth more than one that costs 1
    preferred: float  # 1: the probability of an action that pays, the other one costs
    entropy: float  # 1: the share of the most there is, where nothing else can be had
    actor: float  # above 0: how far a rollout moves the actor's parameters
    approx_kl: float  # above 0, in nats: the largest while a rollout is learned from
    restored: float  # 0: the change of log-probabilities by saving and loading


_ROWS = csv.reader(Path(__file__).with_name("seen.csv").read_text().splitlines()[1:])
SEEN: dict[str, list[Readings]] = {bug: [] for bug in BUGS}
"""Bug -> what `examine` gave of the version that has it, with seeds 1 to 3."""
for bug, *row in _ROWS:
    SEEN[bug].append(Readings(*map(float, row)))


def examine(trainer_class: PPO, seed: int = 1) -> Readings:
    """All experiments with a trainer like PPO's, in about a second."""
    return Readings(
        known_value(trainer_class, seed),
        known_sides(trainer_class, seed),
        preference(trainer_class, seed),
        indecision(trainer_class, seed),
        *one_rollout(trainer_class, seed),
        restoring(trainer_class, seed),
    )


def known_value(trainer_class: PPO, seed: int = 1) -> float:
    """What a step is worth that pays 1 and ends, as it learns it in `ProbeReward`."""
    return float(values(*probed(trainer_class, "Reward", seed))[0])


def known_cut(trainer_class: PPO, seed: int = 1) -> float:
    """What `ProbeCut`, whose steps pay 1 for ever, is worth: a share of the truth."""
    trainer, answer = probed(trainer_class, "Cut", seed)
    return float(values(trainer, answer)[0] / answer.value[0])


def known_sides(trainer_class: PPO, seed: int = 1) -> float:
    """How much more a step is worth that pays 1 than one that costs 1, in
    `ProbeObservation`, where it sees beforehand which of them it is."""
    cost, pay = values(*probed(trainer_class, "Observation", seed)).tolist()
    return pay - cost


def preference(trainer_class: PPO, seed: int = 1) -> float:
    """The probability of the action that pays in `ProbeAction`; the other one costs."""
    trainer, answer = probed(trainer_class, "Action", seed)
    return float(log_probs(trainer, answer.obs)[0, 1].exp())


def indecision(trainer_class: PPO, seed: int = 1) -> float:
    """The entropy of its policy, as a share of the most that two actions have, where
    actions do nothing and all to be gained is the bonus for entropy, of weight 1."""
    trainer, answer = probed(trainer_class, "Observation", seed, entropy_coef=1.0)
    log_prob = log_probs(trainer, answer.obs)
    entropy = -(log_prob.exp() * log_prob).sum(1).mean()
    return float(entropy) / math.log(2)


def one_rollout(trainer_class: PPO, seed: int = 1) -> tuple[float, float]:
    """What a rollout on CartPole does: how far the actor's parameters move, at most,
    and the largest `approx_kl`."""
    trainer = trainer_class(settings(seed=seed, total_steps=128))
    before = parameters_to_vector(trainer.model.actor.parameters())
    logs = trained(trainer)
    moved = parameters_to_vector(trainer.model.actor.parameters()) - before
    return float(moved.detach().abs().max()), max(
        float(log["approx_kl"]) for log in logs
    )


def restoring(trainer_class: PPO, seed: int = 1) -> float:
    """The largest change of a log-probability when a trained state is loaded."""
    config = settings(seed=seed, total_steps=256)
    trainer, again = trainer_class(config), trainer_class(config)
    trained(trainer)
    again.load_state_dict(copy.deepcopy(trainer.state_dict()))
    obs = torch.linspace(-0.5, 0.5, 32).view(8, 4)
    return float((log_probs(trainer, obs) - log_probs(again, obs)).abs().max())


def probed(
    trainer_class: PPO, name: str, seed: int = 1, **changes: Any
) -> tuple[ppo.Trainer, Answer]:
    """A trainer that was trained in a probe world, and what there was to learn."""
    chosen = {"gamma": 0.8, "seed": seed, **changes}
    config = settings(env_id=f"yieldrl/Probe{name}-v1", **chosen)
    trainer = trainer_class(config)
    trained(trainer)
    world: Any = gymnasium.make_vec(config.env_id, num_envs=1)
    return trainer, world.answer(config.gamma)


def settings(**changes: Any) -> ppo.Config:
    """Small and quick: 128 updates from 2 048 steps; rewards are not scaled."""
    quick: dict[str, Any] = {"num_envs": 8, "num_steps": 16, "num_minibatches": 2}
    quick |= {"total_steps": 2_048, "learning_rate": 0.01, "hidden_sizes": (16,)}
    quick |= {"normalize_observation": True, "normalize_reward": False}
    return ppo.Config(**{**quick, "eval_every": 0, "device": "cpu", **changes})


@torch.no_grad()
def values(trainer: ppo.Trainer, answer: Answer) -> Tensor:
    """What the critic says of all that there is to see, `[K]`."""
    return trainer.model.get_value(answer.obs)


@torch.no_grad()
def log_probs(trainer: ppo.Trainer, obs: Tensor) -> Tensor:
    """Log-probabilities of all actions, `[B, A]`."""
    return trainer.model.action(obs).log_softmax(-1)


def trainer_of(folder: str) -> PPO:
    """PPO's trainer with the algorithm or the model of one of `FOLDERS` in it."""
    [part] = own_parts(importlib.import_module(f"{__package__}.{folder}"))
    return trainer_class(part)
