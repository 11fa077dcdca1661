"""Chapter 8's figure: what a baseline does to estimates of a policy's gradient.

Two advisers on the frozen lake, and a policy with two parameters: how much each of
them counts. The return and its gradient are exact. The dots are estimates from
episodes. An estimate is linear in the baseline, `sum(score G) - b sum(score)`, so that
each episode is played once for all frames.
"""

from typing import Any

import numpy as np
import torch

from yieldrl.envs import value_iteration
from yieldrl.functional import discounted_returns

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import transitions


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
        worlds = [transitions(is_slippery=slips) for slips in (True, False)]
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


THETA = np.array([5.0, 2.0])
BASELINES = [0.25 * k - 1 for k in range(13)]
EPISODES = [8, 32, 128]
"""Behind each estimate."""
DOTS = 100
LOOKS = {"ink": 8, "blue dashed": 32, "ink dotted": 128}
WIDE, HIGH, LEFT, TOP = 420, 264, 40, 6  # of the map, in pixels
UNIT = 150  # pixels of a parameter
NAMES = (
    "\N{GREEK SMALL LETTER THETA}\N{SUBSCRIPT ONE}",
    "\N{GREEK SMALL LETTER THETA}\N{SUBSCRIPT TWO}",
)
BASELINE, SPREAD = Scale(-1, 2, LEFT, LEFT + WIDE), Scale(0, 1, 444, 348)


def figure() -> dict[str, Any]:
    """All frames: a baseline and a number of episodes each."""
    lake, rng = Lake(), np.random.default_rng(8)
    weighed, plain = lake.parts(THETA, DOTS * max(EPISODES), rng)
    return svg.figure(
        size=(480, 480),
        svg=drawing(lake, weighed) + lower(lake, weighed, plain),
        controls={
            "baseline": svg.labelled(BASELINES, ".2f"),
            "episodes": svg.labelled(EPISODES),
        },
        start=("0.50", "8"),
        frame=lambda baseline, count: frame(
            lake, weighed - baseline * plain, baseline, count
        ),
    )


def frame(lake: Lake, each: np.ndarray, baseline: float, count: int) -> Frame:
    """One choice, from each episode's estimate of the gradient, `[., 2]`."""
    steps = THETA + clouds(each, count)
    uphill = int((lake.arrives(steps) > lake.arrives(THETA)).sum())
    length = np.linalg.norm(lake.gradient(THETA))
    said = (
        f"Baseline {baseline:.2f}, {count} episodes: standard deviation"
        f" {spread(each, count):.2f}, gradient {length:.2f}; {uphill} of {DOTS} steps"
        " lead uphill."
    )
    xs, ys = zip(*map(place, steps), strict=True)
    x, y = place(THETA + each.mean(0))
    now = BASELINE(baseline)
    return {
        "shade cx": list(xs),
        "shade cy": list(ys),
        "plain visibility": svg.visible(count == other for other in EPISODES),
        "mean d": f"M{x - 7} {y}h14M{x} {y - 7}v14",
        "now d": f"M{now} 348V444",
        "says text": svg.minus(said),
    }


def clouds(each: np.ndarray, count: int) -> np.ndarray:
    """Estimates from so many episodes each, `[DOTS, 2]`."""
    return each.reshape(DOTS, -1, 2)[:, :count].mean(1)


def spread(each: np.ndarray, count: int) -> float:
    """The standard deviation of an estimate from so many episodes."""
    return float(np.sqrt(each.var(0).sum() / count))


def drawing(lake: Lake, weighed: np.ndarray) -> str:
    """The map with its dots; hollow ones are estimates without a baseline."""
    hollow = ""
    for count in EPISODES:
        places = map(place, THETA + clouds(weighed, count))
        hollow += svg.tag(
            "g", "".join(svg.dot("axis", *at) for at in places), class_="plain"
        )
    x, y = place(THETA)
    tip = place(THETA + lake.gradient(THETA))
    arrow = f"M{x} {y}L{tip[0]} {tip[1]}{head(x, y, *tip)}"
    inside = levels(lake) + hollow + svg.dot("dot shade") * DOTS
    inside += svg.dot("ink line", x, y, r=4) + svg.line("red line", arrow)
    inside += svg.line("mean ink line")
    sides = "".join(
        svg.label(LEFT + place((mark, 0))[0], 286, f"{mark}", "middle")
        for mark in (4, 5, 6)
    )
    sides += "".join(
        svg.label(LEFT - 7, TOP + place((0, mark))[1] + 4, f"{mark:g}", "end")
        for mark in (1.5, 2, 2.5)
    )
    return svg.parts(
        svg.tag("svg", inside, x=LEFT, y=TOP, width=WIDE, height=HIGH),
        svg.box("axis", LEFT, TOP, WIDE, HIGH),
        sides,
        svg.label(LEFT + WIDE, 286, NAMES[0], "end"),
        svg.label(LEFT - 7, 16, NAMES[1], "end"),
    )


def levels(lake: Lake) -> str:
    """Lines of equal probability to arrive; along a row of the map it only rises."""
    ups = np.linspace(-1, 1, 21) + THETA[1]
    rights = np.linspace(-2.5, 2.5, 101) + THETA[0]
    found = lake.arrives(np.stack(np.meshgrid(rights, ups), -1))
    lines = ""
    for level in (0.3, 0.4, 0.5, 0.6, 0.7):
        at = np.stack([[np.interp(level, row, rights) for row in found], ups], -1)
        xs, ys = np.array([*map(place, at)]).T
        lines += svg.line(
            "axis", svg.joined(zip(xs, ys, strict=True)), stroke_opacity=0.5
        )
        top = np.interp(20, ys[::-1], xs[::-1])
        lines += svg.label(f"{top + 12:.0f}", 20, f"{level:g}")
    return lines


def lower(lake: Lake, weighed: np.ndarray, plain: np.ndarray) -> str:
    """The standard deviation for every baseline, a line for each number of episodes."""
    level = SPREAD(np.linalg.norm(lake.gradient(THETA)))
    baselines = np.linspace(-1, 2, 31)
    lines = svg.line("red line", f"M182 318h24M{LEFT} {level}h{WIDE}")
    for x, (look, count) in zip((182, 256, 334), LOOKS.items(), strict=True):
        spreads = [spread(weighed - b * plain, count) for b in baselines]
        d = svg.curve(baselines, spreads, BASELINE, SPREAD)
        lines += svg.line(f"{look} line", f"{d}M{x} 336h24") + svg.label(
            x + 29, 340, f"{count}"
        )
    return svg.parts(
        svg.x_axis(BASELINE, 444, (-1, -0.5, 0, 0.5, 1, 1.5, 2), "baseline"),
        svg.y_axis(SPREAD, LEFT, (0, 0.5, 1)),
        svg.label(LEFT, 322, "length of the gradient"),
        svg.label(LEFT, 340, "standard deviation with"),
        lines,
        svg.label(386, 340, "episodes"),
        svg.line("now axis dotted"),
    )


def head(x: float, y: float, to_x: float, to_y: float) -> str:
    """The head of an arrow, at its tip."""
    back = np.array([x - to_x, y - to_y], float)
    back *= 9 / np.linalg.norm(back)
    turn = np.array([[0.87, 0.5], [-0.5, 0.87]])
    wings = [(to_x, to_y) + back @ matrix for matrix in (turn, turn.T)]
    return "".join(f"M{to_x} {to_y}L{a:.1f} {b:.1f}" for a, b in wings)


def place(theta: Any) -> tuple[int, int]:
    """Pixels of two parameters on the map."""
    right, up = (np.asarray(theta) - THETA) * UNIT
    return round(WIDE / 2 + right), round(HIGH / 2 - up)
