"""Chapter 8's figure: what a baseline does to estimates of a policy's gradient.

Two advisers on the frozen lake, and a policy with two parameters: how much each of
them counts. The lake's table is known, so the return and its gradient are exact. The
dots are estimates from episodes, whose returns the library computes. An estimate is
linear in the baseline, `sum(score G) - b sum(score)`, so that each episode is played
once for all frames.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch

from yieldrl.buffers import discounted_returns
from yieldrl.envs import value_iteration

THETA = np.array([5.0, 2.0])
BASELINES = [0.25 * k - 1 for k in range(13)]
EPISODES = [8, 32, 128]
"""Behind each estimate."""
DOTS, START = 100, (BASELINES.index(0.5), EPISODES.index(8))
CAPTION = """\
Thin lines: the probability to arrive, exactly, for every θ₁ and θ₂. Arrow: one step
along the true gradient. Filled dots: 100 steps along estimates, with the baseline;
hollow: without. Cross: the mean of all 12 800 episodes. Below: how far estimates are
scattered, for every baseline."""
UNIT, WIDE, HIGH, LEFT, TOP = 150, 420, 264, 40, 6  # of the map, in pixels
BOTTOM, LOW, LARGEST = 444, 96, 1.0  # of the lower axes, and the largest number there
LEVELS = [0.3, 0.4, 0.5, 0.6, 0.7]


class Lake:
    """The lake, and a policy with an adviser for each of its two parameters.

    Attributes:
        advice: 1 where an adviser recommends an action, `[S, A, 2]`: the first turns
            its back on the holes, the second believes that the ice is firm.
        after: Where the ice takes one from each state and action, `[S, A, 3]`.
        reward: What that earns, `[S, A, 3]`.
        ended: Whether it ends the episode, `[S, A, 3]`.
    """

    def __init__(self) -> None:
        worlds = [
            gymnasium.make("FrozenLake-v1", is_slippery=slips).unwrapped.P  # pyright: ignore
            for slips in (True, False)
        ]
        best = [value_iteration(world, 0.99)[1].round(8).argmax(1) for world in worlds]
        self.advice = np.stack([np.eye(4)[actions] for actions in best], -1)
        slippery = worlds[0]
        rows = [[(row * 3)[:3] for row in slippery[s].values()] for s in range(16)]
        _, after, self.reward, ended = np.moveaxis(np.array(rows), -1, 0)
        self.after, self.ended = after.astype(int), ended > 0

    def policy(self, theta: np.ndarray) -> np.ndarray:
        """Probabilities `[..., S, A]` for parameters `[..., 2]`."""
        weight = np.exp(np.einsum("sai,...i->...sa", self.advice, theta))
        return weight / weight.sum(-1, keepdims=True)

    def arrives(self, theta: np.ndarray) -> np.ndarray:
        """The probability to arrive, `[...]`, for parameters `[..., 2]`."""
        goes_on = np.eye(16)[self.after] * ~self.ended[..., None]
        policy = self.policy(theta)
        chance = np.einsum("...sa,sakt->...st", policy, goes_on) / 3
        earned = np.einsum("...sa,sak->...s", policy, self.reward) / 3
        return np.linalg.solve(np.eye(16) - chance, earned[..., None])[..., 0, 0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """What `arrives` changes by with each parameter, `[2]`."""
        nudge = 1e-5 * np.eye(2)
        return (self.arrives(theta + nudge) - self.arrives(theta - nudge)) / 2e-5

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of `log pi(a | s)`, `[S, A, 2]`."""
        mean = np.einsum("sa,sai->si", self.policy(theta), self.advice)
        return self.advice - mean[:, None]

    def parts(
        self, theta: np.ndarray, count: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of so many episodes `sum(score G)` and `sum(score)`, `[count, 2]` each."""
        first = self.policy(theta)[:, :3].cumsum(1)
        state, going = np.zeros(count, int), np.ones(count, bool)
        columns: list[tuple[np.ndarray, ...]] = []
        while going.any():
            action = (rng.random((count, 1)) > first[state]).sum(1)
            at = state, action, rng.integers(3, size=count)
            columns.append((state, action, self.reward[at], self.ended[at], going))
            going = going & ~self.ended[at]
            state = self.after[at]
        states, actions, reward, ended, counts = map(
            np.array, zip(*columns, strict=True)
        )
        flags = torch.as_tensor(ended)
        no = torch.zeros_like(flags)
        earned = torch.as_tensor(reward * counts)
        returns = discounted_returns(earned, torch.zeros_like(earned), flags, no, 1.0)
        score = self.scores(theta)[states, actions] * counts[..., None]
        return (score * returns.numpy()[..., None]).sum(0), score.sum(0)


def figure() -> dict[str, Any]:
    """All frames: a baseline and a number of episodes each."""
    lake, rng = Lake(), np.random.default_rng(8)
    weighed, plain = lake.parts(THETA, DOTS * max(EPISODES), rng)
    shown = [
        frame(lake, weighed - baseline * plain, baseline, count)
        for baseline in BASELINES
        for count in EPISODES
    ]
    first = shown[START[0] * len(EPISODES) + START[1]]
    return {
        "title": "Estimates of a policy gradient, for every baseline",
        "caption": CAPTION,
        "size": (480, 476),
        "svg": drawing(lake, weighed, plain, first),
        "controls": {
            "baseline": [signed(f"{baseline:.2f}") for baseline in BASELINES],
            "episodes": [f"{count}" for count in EPISODES],
        },
        "start": START,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".shade", "cx"), (".shade", "cy"), (".plain", "visibility")]
PARTS += [(".mean", "d"), (".now", "d"), (".says", "text")]


def frame(lake: Lake, each: np.ndarray, baseline: float, count: int) -> list[Any]:
    """The values of `PARTS`, from what each episode says of the gradient, `[., 2]`."""
    steps = THETA + clouds(each, count)
    uphill = int((lake.arrives(steps) > lake.arrives(THETA)).sum())
    length = np.linalg.norm(lake.gradient(THETA))
    said = (
        f"Baseline {baseline:.2f}, {count} episodes: standard deviation"
        f" {spread(each, count):.2f}, gradient {length:.2f}; {uphill} of {DOTS} steps"
        " lead uphill."
    )
    xs, ys = place(steps)
    x, y = place(THETA + each.mean(0))
    return [
        xs.tolist(),
        ys.tolist(),
        ["visible" if count == other else "hidden" for other in EPISODES],
        f"M{x - 7} {y}h14M{x} {y - 7}v14",
        f"M{across(baseline)} {BOTTOM - LOW}V{BOTTOM}",
        signed(said),
    ]


def clouds(each: np.ndarray, count: int) -> np.ndarray:
    """Estimates from so many episodes each, `[DOTS, 2]`."""
    return each.reshape(DOTS, -1, 2)[:, :count].mean(1)


def spread(each: np.ndarray, count: int) -> float:
    """The standard deviation of an estimate from so many episodes."""
    return float(np.sqrt(each.var(0).sum() / count))


def drawing(
    lake: Lake, weighed: np.ndarray, plain: np.ndarray, first: list[Any]
) -> str:
    """Axes and all parts, as the first frame has them."""
    xs, ys, visible, mean, now, _ = first
    hollow = "".join(
        f'<g class="plain" visibility="{seen}">{circles(weighed, count)}</g>'
        for count, seen in zip(EPISODES, visible, strict=True)
    )
    filled = "".join(
        f'<circle class="dot shade" cx="{x}" cy="{y}" r="3.2"/>'
        for x, y in zip(xs, ys, strict=True)
    )
    x, y = place(THETA)
    tip = place(THETA + lake.gradient(THETA))
    return (
        f'<svg x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}">{levels(lake)}'
        f'{hollow}{filled}<circle class="ink line" cx="{x}" cy="{y}" r="4"/>'
        f'<path class="red line" d="M{x} {y}L{tip[0]} {tip[1]}{head(x, y, *tip)}"/>'
        f'<path class="mean ink line" d="{mean}"/></svg>'
        f'<rect class="axis" x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}"/>'
        f"{ticks()}{lower(lake, weighed, plain)}"
        f'<path class="now axis dotted" d="{now}"/>'
    )


def circles(each: np.ndarray, count: int) -> str:
    """Hollow dots: estimates without a baseline."""
    xs, ys = place(THETA + clouds(each, count))
    return "".join(
        f'<circle class="axis" cx="{x}" cy="{y}" r="3.2"/>'
        for x, y in zip(xs, ys, strict=True)
    )


def levels(lake: Lake) -> str:
    """Lines of equal probability to arrive; along a row of the map it only rises."""
    ups = np.linspace(-1, 1, 21) + THETA[1]
    rights = np.linspace(-2.5, 2.5, 101) + THETA[0]
    found = lake.arrives(np.stack(np.meshgrid(rights, ups), -1))
    drawn = ""
    for level in LEVELS:
        at = [np.interp(level, row, rights) for row in found]
        xs, ys = place(np.stack([at, ups], -1))
        line = "L".join(f"{x} {y}" for x, y in zip(xs, ys, strict=True))
        label = np.interp(20, ys[::-1], xs[::-1])
        drawn += (
            f'<path class="axis" stroke-opacity="0.5" d="M{line}"/>'
            f'<text x="{label + 12:.0f}" y="20">{level:g}</text>'
        )
    return drawn


def lower(lake: Lake, weighed: np.ndarray, plain: np.ndarray) -> str:
    """The standard deviation for every baseline, a line for each number of episodes."""
    length = float(np.linalg.norm(lake.gradient(THETA)))
    title, level = BOTTOM - LOW - 8, up(length)
    drawn = (
        f'<text x="{LEFT}" y="{title - 18}">length of the gradient</text>'
        f'<path class="red line" d="M182 {title - 22}h24M{LEFT} {level}h{WIDE}"/>'
        f'<text x="{LEFT}" y="{title}">standard deviation with</text>'
    )
    for x, (look, count) in zip((182, 256, 334), LOOKS.items(), strict=True):
        line = "L".join(
            f"{across(b)} {up(spread(weighed - b * plain, count))}"
            for b in np.linspace(BASELINES[0], BASELINES[-1], 31).tolist()
        )
        drawn += (
            f'<path class="{look} line" d="M{line}M{x} {title - 4}h24"/>'
            f'<text x="{x + 29}" y="{title}">{count}</text>'
        )
    drawn += f'<text x="386" y="{title}">episodes</text>'
    marks = "".join(
        f'<path class="axis" d="M{across(mark)} {BOTTOM}v4"/>'
        f'<text x="{across(mark)}" y="{BOTTOM + 16}" text-anchor="middle">'
        f"{signed(f'{mark:g}')}</text>"
        for mark in (-1, -0.5, 0, 0.5, 1, 1.5, 2)
    )
    sides = "".join(
        f'<path class="axis" d="M{LEFT} {up(mark)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{up(mark) + 4}" text-anchor="end">{mark:g}</text>'
        for mark in (0.0, 0.5, 1.0)
    )
    axes = f"M{LEFT} {BOTTOM - LOW}V{BOTTOM}H{LEFT + WIDE}"
    middle = LEFT + WIDE / 2
    return (
        f'<path class="axis" d="{axes}"/>{marks}{sides}{drawn}'
        f'<text x="{middle}" y="{BOTTOM + 30}" text-anchor="middle">baseline</text>'
    )


LOOKS = {"ink": 8, "blue dashed": 32, "ink dotted": 128}


def ticks() -> str:
    """What the sides of the map count."""
    drawn = "".join(
        f'<text x="{LEFT + place(np.array([mark, 0]))[0]}" y="{TOP + HIGH + 16}"'
        f' text-anchor="middle">{mark}</text>'
        for mark in (4, 5, 6)
    )
    drawn += (
        f'<text x="{LEFT + WIDE}" y="{TOP + HIGH + 16}" text-anchor="end">'
        f'\N{GREEK SMALL LETTER THETA}\N{SUBSCRIPT ONE}</text><text x="{LEFT - 7}"'
        f' y="{TOP + 10}" text-anchor="end">'
        "\N{GREEK SMALL LETTER THETA}\N{SUBSCRIPT TWO}</text>"
    )
    return drawn + "".join(
        f'<text x="{LEFT - 7}" y="{TOP + place(np.array([0, mark]))[1] + 4}"'
        f' text-anchor="end">{mark:g}</text>'
        for mark in (1.5, 2, 2.5)
    )


def head(x: float, y: float, to_x: float, to_y: float) -> str:
    """The head of an arrow, at its tip."""
    back = np.array([x - to_x, y - to_y])
    back *= 9 / np.linalg.norm(back)
    turn = np.array([[0.87, 0.5], [-0.5, 0.87]])
    wings = [(to_x, to_y) + back @ matrix for matrix in (turn, turn.T)]
    return "".join(f"M{to_x} {to_y}L{a:.1f} {b:.1f}" for a, b in wings)


def place(theta: np.ndarray) -> np.ndarray:
    """Pixels `[2, ...]` on the map, for parameters `[..., 2]`."""
    away = (theta - THETA) * UNIT
    return np.array([WIDE / 2 + away[..., 0], HIGH / 2 - away[..., 1]]).round()


def across(baseline: float) -> float:
    """Pixels of a baseline."""
    low, high = BASELINES[0], BASELINES[-1]
    return round(LEFT + WIDE * (baseline - low) / (high - low), 1)


def signed(text: str) -> str:
    """A text whose hyphens are signs."""
    return text.replace("-", "\N{MINUS SIGN}")


def up(y: float) -> float:
    """Pixels of a height on the lower axis."""
    return round(BOTTOM - LOW * y / LARGEST, 1)
