"""Chapter 10's second figure: many gradient steps on one rollout, clipped and not.

A policy on the frozen lake is a table of logits, the critic is exact, and a rollout has
256 transitions. Gradients are those of the library's own `ppo.Algorithm.gain`; what the
policy is worth is exact, `policy_evaluation`.
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
    """Transitions `[B]` of one policy."""

    state: Tensor
    action: Tensor
    advantage: Tensor
    acted: Tensor
    """Log-probabilities of the policy that acted, `[B]`."""


class Moment(NamedTuple):
    """A policy after some gradient steps."""

    ratio: np.ndarray  # [B]
    promise: float
    worth: float


def rollout(table: Any, policy: np.ndarray, rng: np.random.Generator) -> Rollout:
    """32 steps in each of 8 lakes, with normalised TD errors of an exact critic."""
    value, rows = policy_evaluation(table, policy, GAMMA), []
    states = [0] * 8
    for _ in range(32):
        for i, state in enumerate(states):
            action = int(rng.choice(4, p=policy[state]))
            outcomes = table[state][action]
            _, after, reward, ended = outcomes[rng.integers(len(outcomes))]
            delta = reward + GAMMA * value[after] * (not ended) - value[state]
            rows.append((state, action, delta, np.log(policy[state, action])))
            states[i] = 0 if ended else after
    state, action, delta, acted = map(torch.tensor, zip(*rows, strict=True))
    return Rollout(state, action, (delta - delta.mean()) / delta.std(), acted)


def moments(table: Any, policy: np.ndarray, data: Rollout, clip: float) -> list[Moment]:
    """What becomes of a policy `[S, A]`, at every number of `STEPS`."""
    clipped: Any = SimpleNamespace(config=ppo.Config(clip_coef=clip))
    logits = torch.tensor(np.log(policy), requires_grad=True)
    found: list[Moment] = []
    for step in range(STEPS[-1] + 1):
        log_policy = logits.log_softmax(1)
        ratio = (log_policy[data.state, data.action] - data.acted).exp()
        if step in STEPS:
            promise = float((ratio.detach() * data.advantage).mean())
            worth = policy_evaluation(table, log_policy.exp().detach().numpy(), GAMMA)
            found.append(Moment(ratio.detach().numpy(), promise, float(worth[0])))
        objective = ppo.Algorithm.surrogate(clipped, ratio, data.advantage).mean()
        (gradient,) = torch.autograd.grad(objective, logits)
        logits = (logits + ALPHA * gradient).detach().requires_grad_()
    return found


def played() -> tuple[Rollout, dict[str, list[Moment]]]:
    """The rollout, and what becomes of the policy with either clip."""
    table = transitions()
    policy = good_policy(table)
    data = rollout(table, policy, np.random.default_rng(SEED))
    return data, {k: moments(table, policy, data, e) for k, e in CLIPS.items()}


def figure() -> dict[str, Any]:
    """All frames: a number of steps and a clip each."""
    data, found = played()
    groups = grouped(data)
    return svg.figure(
        size=(480, 372),
        svg=drawing(groups, found),
        controls={"steps": svg.labelled(STEPS), "clip": svg.labelled(CLIPS)},
        start=("30", "none"),
        frame=lambda steps, name: frame(
            groups, found[name][STEPS.index(steps)], steps, name
        ),
    )


class Group(NamedTuple):
    """Transitions of one state, one action and one sign, whose ratios are the same."""

    first: int  # of them, in the rollout
    size: int
    good: bool


def grouped(data: Rollout) -> list[Group]:
    """The transitions, those with the same ratio and the same sign together."""
    signs = (data.advantage > 0).tolist()
    keys = list(zip(data.state.tolist(), data.action.tolist(), signs, strict=True))
    return [Group(keys.index(key), n, key[2]) for key, n in Counter(keys).items()]


def frame(groups: list[Group], moment: Moment, steps: int, name: str) -> Frame:
    """A policy after some steps."""
    left = np.mean(np.abs(moment.ratio - 1) > 0.2)
    said = (
        f"{steps} steps, clip: {name}. {left:.0%} of the ratios are outside of the"
        f" grey. Promised {abs(moment.promise):.2f}, worth {moment.worth:.2f}."
    )
    xs = [along(steps) for along in ALONG]
    ratios = [np.clip(np.log2(moment.ratio[group.first]), -4, 4) for group in groups]
    return {
        "dot cx": [*map(ACROSS, ratios)],
        "now d": [f"M{x} 214V334" for x in xs],
        "at cx": xs,
        "at cy": [UP[0](moment.promise), UP[1](moment.worth)],
        "says text": said.replace("%", " %"),
    }


def drawing(groups: list[Group], found: dict[str, list[Moment]]) -> str:
    """Axes, dots and lines."""
    rows = {True: 46, False: 112}
    dots = "".join(
        svg.dot(
            "dot",
            y=rows[group.good] + 5 * (i * 3 % 7) - 9,
            r=round(2 + 0.8 * group.size**0.5, 1),
        )
        for i, group in enumerate(groups)
    )
    low, high = ACROSS(np.log2(0.8)), ACROSS(np.log2(1.2))
    ratios = {np.log2(ratio): f"{ratio:g}" for ratio in (0.0625, 0.25, 1, 4, 16)}
    parts = [
        svg.label(36, 24, "better than expected"),
        svg.label(36, 90, "worse"),
        svg.box("band", low, 14, round(high - low, 1), 130),
        dots,
        svg.x_axis(ACROSS, 144, ratios, "ratio"),
    ]
    for along, up, name in zip(ALONG, UP, ("promise", "worth"), strict=True):
        heights = np.arange(0, up.high + 0.01, 0.1).round(1)
        parts.append(svg.label(along.begin + 6, 208, name.replace("mise", "mised")))
        parts.append(svg.x_axis(along, 334, (0, 20, 40, 60), "gradient steps"))
        parts.append(svg.y_axis(up, along.begin, heights))
        for look, of in zip(("blue dashed", "ink"), found.values(), strict=True):
            values = [getattr(moment, name) for moment in of]
            parts.append(svg.line(f"{look} line", svg.curve(STEPS, values, along, up)))
    now = svg.line("now axis dotted") + svg.dot("at red line", r=5)
    return "".join(parts) + now * 2
