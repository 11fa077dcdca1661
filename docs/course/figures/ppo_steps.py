"""Chapter 10's second figure: many gradient steps on one rollout, clipped and not.

A policy on the frozen lake is a table of logits, the critic is exact, and a rollout has
256 transitions. Gradients are those of the library's own `ppo.Algorithm.surrogate`;
what the policy is worth is exact, `policy_evaluation`.
"""

from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.envs import policy_evaluation

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import GAMMA, good_policy, transitions

ALPHA, SEED = 10.0, 10
STEPS = [*range(7), 8, 10, 12, 15, 18, 22, 26, 30, 35, 40, 45, 50, 55, 60]
"""Numbers of gradient steps that are shown."""
CLIPS = {"none": 1e9, "ε = 0.2": 0.2}
ACROSS = Scale(-4, 4, 36, 460)  # of logarithms of ratios
ALONG = (Scale(0, 60, 36, 220), Scale(0, 60, 276, 460))
UP = (Scale(0, 0.5, 334, 214), Scale(0, 0.3, 334, 214))


class Rollout(NamedTuple):
    """Transitions of one policy, `[B]` each."""

    state: Tensor
    action: Tensor
    advantage: Tensor


class Moment(NamedTuple):
    """A policy after some gradient steps."""

    ratio: np.ndarray  # `[S, A]`, to the policy that acted
    promise: float
    worth: float


def rollout(table: Any, policy: np.ndarray) -> Rollout:
    """32 steps in each of 8 lakes, with normalised TD errors of an exact critic."""
    value, rng = policy_evaluation(table, policy, GAMMA), np.random.default_rng(SEED)
    states, rows = [0] * 8, []
    for _ in range(32):
        for i, state in enumerate(states):
            action = int(rng.choice(4, p=policy[state]))
            outcomes = table[state][action]
            _, after, reward, ended = outcomes[rng.integers(len(outcomes))]
            delta = reward + GAMMA * value[after] * (not ended) - value[state]
            rows.append((state, action, delta))
            states[i] = 0 if ended else after
    state, action, delta = map(torch.tensor, zip(*rows, strict=True))
    return Rollout(state, action, (delta - delta.mean()) / delta.std())


def moments(table: Any, policy: np.ndarray, data: Rollout, clip: float) -> list[Moment]:
    """What becomes of a policy `[S, A]`, at every number of `STEPS`."""
    clipped: Any = SimpleNamespace(config=ppo.Config(clip_coef=clip))
    acted = torch.tensor(np.log(policy))
    logits, found = acted.clone().requires_grad_(), []
    for step in range(STEPS[-1] + 1):
        log_policy = logits.log_softmax(1)
        ratios = (log_policy - acted).exp()
        ratio = ratios[data.state, data.action]
        if step in STEPS:
            promise = float((ratio.detach() * data.advantage).mean())
            worth = policy_evaluation(table, log_policy.exp().detach().numpy(), GAMMA)
            found.append(Moment(ratios.detach().numpy(), promise, float(worth[0])))
        objective = ppo.Algorithm.surrogate(clipped, ratio, data.advantage).mean()
        (gradient,) = torch.autograd.grad(objective, logits)
        logits = (logits + ALPHA * gradient).detach().requires_grad_()
    return found


def played() -> tuple[Rollout, dict[str, list[Moment]]]:
    """The rollout, and what becomes of the policy with either clip."""
    table = transitions()
    policy = good_policy(table)
    data = rollout(table, policy)
    return data, {k: moments(table, policy, data, e) for k, e in CLIPS.items()}


def grouped(data: Rollout) -> Counter[tuple[int, int, bool]]:
    """How many transitions have a state, an action and a good advantage or not."""
    signs = (data.advantage > 0).tolist()
    return Counter(zip(data.state.tolist(), data.action.tolist(), signs, strict=True))


def figure() -> dict[str, Any]:
    """All frames: a number of steps and a clip each."""
    data, found = played()
    groups = grouped(data)

    def frame(steps: int, name: str) -> Frame:
        ratio, promise, worth = found[name][STEPS.index(steps)]
        left = np.mean(np.abs(ratio[data.state, data.action] - 1) > 0.2)
        said = (
            f"{steps} steps, clip: {name}. {100 * left:.0f} % of the ratios are outside"
            f" of the grey. Promised {abs(promise):.2f}, worth {worth:.2f}."
        )
        xs = [along(steps) for along in ALONG]
        shown = np.clip(np.log2(ratio), -4, 4)
        return {
            "dot cx": [ACROSS(shown[state, action]) for state, action, _ in groups],
            "now d": [f"M{x} 214V334" for x in xs],
            "at cx": xs,
            "at cy": [UP[0](promise), UP[1](worth)],
            "says text": said,
        }

    return svg.figure(
        size=(480, 372),
        svg=drawing(groups, found),
        controls={"steps": svg.labelled(STEPS), "clip": svg.labelled(CLIPS)},
        start=("30", "none"),
        frame=frame,
    )


def drawing(
    groups: Counter[tuple[int, int, bool]], found: dict[str, list[Moment]]
) -> str:
    """A dot for each group, as large as it is, and what was promised and is so."""
    dots = ""
    for i, ((_, _, good), size) in enumerate(groups.items()):
        y, r = (46 if good else 112) + 5 * (i * 3 % 7) - 9, 2 + 0.8 * size**0.5
        dots += svg.dot("dot", y=y, r=round(r, 1))
    promise, worth = (
        svg.curves(
            ("blue dashed", "ink"),
            STEPS,
            [[getattr(moment, name) for moment in of] for of in found.values()],
            along,
            up,
        )
        for name, along, up in zip(("promise", "worth"), ALONG, UP, strict=True)
    )
    return svg.drawn("ppo_steps", dots=dots, promise=promise, worth=worth)
