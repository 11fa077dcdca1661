"""Chapter 10's second figure: many gradient steps on one rollout, clipped and not.

A policy on the frozen lake is a table of logits, the critic is exact, and a rollout has
256 transitions. Gradients are those of the library's own `Clip.surrogate`; what the
policy is worth is exact, `policy_evaluation`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo.correction import Clip
from yieldrl.envs import policy_evaluation, value_iteration

GAMMA, ALPHA, SEED = 0.99, 10.0, 10
STEPS = [*range(7), 8, 10, 12, 15, 18, 22, 26, 30, 35, 40, 45, 50, 55, 60]
"""Numbers of gradient steps that are shown."""
CLIPS = {"none": 1e9, "ε = 0.2": 0.2}
RATIOS = [0.0625, 0.25, 1, 4, 16]
PROMISE, WORTH = 0.5, 0.3  # the highest on the two lower axes
LEFT, RIGHT, PANELS, WIDTH = 36, 460, (36, 276), 184  # in pixels
UP, DOWN = 214, 334  # of the lower axes
CAPTION = """\
Above: the ratios of the rollout's transitions, on a logarithmic axis; a larger dot is
more transitions, and what is off the axis stands at its end. Grey: 0.8 to 1.2. Below:
what the rollout promises, the mean of ratio times advantage; and what the policy is
worth at the start, exactly. Dashed without a clip, solid with one."""


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
    correction = Clip(ppo.Config(clip_coef=clip))
    logits = torch.tensor(np.log(policy), requires_grad=True)
    found: list[Moment] = []
    for step in range(STEPS[-1] + 1):
        log_policy = logits.log_softmax(1)
        ratio = (log_policy[data.state, data.action] - data.acted).exp()
        if step in STEPS:
            promise = float((ratio.detach() * data.advantage).mean())
            worth = policy_evaluation(table, log_policy.exp().detach().numpy(), GAMMA)
            found.append(Moment(ratio.detach().numpy(), promise, float(worth[0])))
        objective = correction.surrogate(ratio, data.advantage).mean()
        (gradient,) = torch.autograd.grad(objective, logits)
        logits = (logits + ALPHA * gradient).detach().requires_grad_()
    return found


def played() -> tuple[Rollout, dict[str, list[Moment]]]:
    """The rollout, and what becomes of the policy with either clip."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    best = value_iteration(table, GAMMA)[1].argmax(1)
    policy = 0.05 + 0.8 * np.eye(4)[best]
    data = rollout(table, policy, np.random.default_rng(SEED))
    return data, {k: moments(table, policy, data, e) for k, e in CLIPS.items()}


def figure() -> dict[str, Any]:
    """All frames: a number of steps and a clip each."""
    data, found = played()
    groups = grouped(data)
    shown = [
        frame(groups, moments[at], steps, name)
        for at, steps in enumerate(STEPS)
        for name, moments in found.items()
    ]
    start = (STEPS.index(30), list(CLIPS).index("none"))
    return {
        "title": "Many gradient steps on one rollout, with a clip and without",
        "caption": CAPTION,
        "size": (480, 372),
        "svg": drawing(groups, found, shown[start[0] * len(CLIPS) + start[1]]),
        "controls": {"steps": [f"{steps}" for steps in STEPS], "clip": list(CLIPS)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".dot", "cx"), (".now", "d"), (".at", "cx"), (".at", "cy"), (".says", "text")]


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


def frame(groups: list[Group], moment: Moment, steps: int, name: str) -> list[Any]:
    """The values of `PARTS` for a policy after some steps."""
    left = np.mean(np.abs(moment.ratio - 1) > 0.2)
    said = (
        f"{steps} steps, clip: {name}. {left:.0%} of the ratios are outside of the"
        f" grey. Promised {abs(moment.promise):.2f}, worth {moment.worth:.2f}."
    )
    xs = [along(panel, steps) for panel in PANELS]
    return [
        [across(moment.ratio[group.first]) for group in groups],
        [f"M{x} {UP}V{DOWN}" for x in xs],
        xs,
        [high(moment.promise, PROMISE), high(moment.worth, WORTH)],
        said.replace("%", " %"),
    ]


def drawing(
    groups: list[Group], found: dict[str, list[Moment]], first: list[Any]
) -> str:
    """Axes and all parts, as the first frame has them."""
    places, nows, xs, ys, _ = first
    rows = {True: 46, False: 112}
    circles = "".join(
        f'<circle class="dot" cx="{x}" cy="{rows[group.good] + 5 * (i * 3 % 7) - 9}"'
        f' r="{2 + 0.8 * group.size**0.5:.1f}"/>'
        for i, (x, group) in enumerate(zip(places, groups, strict=True))
    )
    names = zip(rows.values(), ("better than expected", "worse"), strict=True)
    drawn = "".join(f'<text x="{LEFT}" y="{y - 22}">{name}</text>' for y, name in names)
    low, width = across(0.8), round(across(1.2) - across(0.8), 1)
    marks = [(across(ratio), f"{ratio:g}") for ratio in RATIOS]
    drawn += (
        f'<rect class="band" x="{low}" y="14" width="{width}" height="130"/>'
        f"{circles}"
        f"{axis(144, LEFT, RIGHT, marks)}"
        f'<text x="{(LEFT + RIGHT) / 2}" y="176" text-anchor="middle">ratio</text>'
    )
    both = (("promised", PROMISE), ("worth", WORTH))
    for panel, (name, most) in zip(PANELS, both, strict=True):
        marks = [(along(panel, steps), f"{steps}") for steps in (0, 20, 40, 60)]
        drawn += (
            f'<text x="{panel + 6}" y="{UP - 6}">{name}</text>'
            f"{axis(DOWN, panel, panel + WIDTH, marks)}{heights(panel, most)}"
            f'<text x="{panel + WIDTH / 2}" y="{DOWN + 32}" text-anchor="middle">'
            "gradient steps</text>"
        )
    for look, moments in zip(("blue dashed", "ink"), found.values(), strict=True):
        lines = ([m.promise for m in moments], [m.worth for m in moments])
        drawn += "".join(
            f'<path class="{look} line" d="{path(panel, line, most)}"/>'
            for panel, line, (_, most) in zip(PANELS, lines, both, strict=True)
        )
    return drawn + "".join(
        f'<path class="now axis dotted" d="{now}"/>'
        f'<circle class="at red line" cx="{x}" cy="{y}" r="5"/>'
        for now, x, y in zip(nows, xs, ys, strict=True)
    )


def axis(y: int, left: int, right: int, marks: list[tuple[float, str]]) -> str:
    """A horizontal axis."""
    drawn = "".join(
        f'<path class="axis" d="M{x} {y}v4"/>'
        f'<text x="{x}" y="{y + 16}" text-anchor="middle">{mark}</text>'
        for x, mark in marks
    )
    return f'<path class="axis" d="M{left} {y}H{right}"/>{drawn}'


def heights(left: int, most: float) -> str:
    """A vertical axis."""
    drawn = "".join(
        f'<path class="axis" d="M{left} {high(y, most)}h-4"/><text x="{left - 7}"'
        f' y="{high(y, most) + 4}" text-anchor="end">{y:g}</text>'
        for y in np.arange(0, most + 0.01, 0.1).round(1)
    )
    return f'<path class="axis" d="M{left} {DOWN}V{UP}"/>{drawn}'


def across(ratio: float) -> float:
    """Pixels of a ratio, those off the axis at its end."""
    place = (np.clip(np.log2(ratio), -4, 4) + 4) / 8
    return round(LEFT + (RIGHT - LEFT) * float(place), 1)


def along(panel: int, steps: int) -> float:
    """Pixels of a number of steps."""
    return round(panel + WIDTH * steps / STEPS[-1], 1)


def high(y: float, most: float) -> float:
    """Pixels of a height on a lower axis."""
    return round(DOWN - (DOWN - UP) * float(y) / most, 1)


def path(panel: int, ys: list[float], most: float) -> str:
    """A line over the steps."""
    points = zip(STEPS, ys, strict=True)
    return "M" + "L".join(f"{along(panel, x)} {high(y, most)}" for x, y in points)
