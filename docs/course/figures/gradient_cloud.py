"""Chapter 8's figure: what a baseline does to estimates of a policy's gradient.

Two advisers on the frozen lake, and a policy with two parameters: how much each of
them counts. The return and its gradient are exact. The dots are estimates from
episodes. An estimate is linear in the baseline, `sum(score G) - b sum(score)`, so that
each episode is played once for all frames.
"""

from typing import Any

import numpy as np

from yieldrl.envs import value_iteration

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import thirds, transitions


class Lake:
    """The lake, and a policy with an adviser for each of its two parameters.

    Attributes:
        advice: 1 where an adviser recommends an action, `[S, A, 2]`: the first turns
            its back on the holes, the second believes that the ice is firm.
        after: Where the ice takes one from each state and action, `[S, A, 3]`.
        reward: What that earns, `[S, A, 3]`.
        ended: Whether it ends the episode, `[S, A, 3]`.
        goes_on: 1 at the next state, all 0 at an end, `[S, A, 3, S]`.
    """

    def __init__(self) -> None:
        worlds = [transitions(is_slippery=slips) for slips in (True, False)]
        best = [value_iteration(world, 0.99)[1].round(8).argmax(1) for world in worlds]
        self.advice = np.stack([np.eye(4)[actions] for actions in best], -1)
        self.after, self.reward, self.ended = thirds(worlds[0])
        self.goes_on = np.eye(16)[self.after] * ~self.ended[..., None]

    def policy(self, theta: np.ndarray) -> np.ndarray:
        """Probabilities `[..., S, A]` for parameters `[..., 2]`."""
        weight = np.exp(np.einsum("sai,...i->...sa", self.advice, theta))
        return weight / weight.sum(-1, keepdims=True)

    def arrives(self, theta: np.ndarray) -> np.ndarray:
        """The probability to arrive, `[...]`, for parameters `[..., 2]`."""
        policy = self.policy(theta)
        chance = np.einsum("...sa,sakt->...st", policy, self.goes_on) / 3
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
        """Of so many episodes `sum(score G)` and `sum(score)`, `[count, 2]` each.

        All is earned at the end: what follows a step is the return of the episode.
        """
        first, scores = self.policy(theta)[:, :3].cumsum(1), self.scores(theta)
        state, going = np.zeros(count, int), np.ones(count, bool)
        earned, score = np.zeros((count, 1)), np.zeros((count, 2))
        while going.any():
            action = (rng.random((count, 1)) > first[state]).sum(1)
            at = state, action, rng.integers(3, size=count)
            score[going] += scores[state, action][going]
            earned[going, 0] += self.reward[at][going]
            going = going & ~self.ended[at]
            state = self.after[at]
        return score * earned, score


THETA = np.array([5.0, 2.0])
BASELINES = [0.25 * k - 1 for k in range(13)]
EPISODES = [8, 32, 128]
"""Behind each estimate."""
DOTS = 100
LOOKS = {"ink": 8, "blue dashed": 32, "ink dotted": 128}
WIDE, HIGH, LEFT = 420, 264, 40  # of the map in `gradient_cloud.svg`, in pixels
UNIT = 150  # pixels of a parameter
BASELINE, SPREAD = Scale(-1, 2, LEFT, LEFT + WIDE), Scale(0, 1, 444, 348)


def figure() -> dict[str, Any]:
    """All frames: a baseline and a number of episodes each."""
    lake = Lake()
    count, rng = DOTS * max(EPISODES), np.random.default_rng(8)
    weighed, plain = lake.parts(THETA, count, rng)
    length = np.linalg.norm(lake.gradient(THETA))

    def frame(baseline: float, count: int) -> Frame:
        each = weighed - baseline * plain
        steps = THETA + clouds(each, count)
        uphill = int((lake.arrives(steps) > lake.arrives(THETA)).sum())
        said = (
            f"Baseline {baseline:.2f}, {count} episodes: standard deviation"
            f" {spread(each, count):.2f}, gradient {length:.2f}; {uphill} of {DOTS}"
            " steps lead uphill."
        )
        xs, ys = zip(*map(place, steps), strict=True)
        x, y = place(THETA + each.mean(0))
        return {
            "shade cx": [*xs],
            "shade cy": [*ys],
            "plain visibility": svg.visible(count == other for other in EPISODES),
            "mean d": f"M{x - 7} {y}h14M{x} {y - 7}v14",
            "now d": f"M{BASELINE(baseline)} 348V444",
            "says text": svg.minus(said),
        }

    return svg.figure(
        size=(480, 480),
        svg=drawing(lake, weighed, plain),
        controls={
            "baseline": svg.labelled(BASELINES, ".2f"),
            "episodes": svg.labelled(EPISODES),
        },
        start=("0.50", "8"),
        frame=frame,
    )


def clouds(each: np.ndarray, count: int) -> np.ndarray:
    """Estimates from so many episodes each, `[DOTS, 2]`."""
    return each.reshape(DOTS, -1, 2)[:, :count].mean(1)


def spread(each: np.ndarray, count: int) -> float:
    """The standard deviation of an estimate from so many episodes."""
    return float(np.sqrt(each.var(0).sum() / count))


def drawing(lake: Lake, weighed: np.ndarray, plain: np.ndarray) -> str:
    """The map with its dots, and below it the spread with every baseline."""
    hollow = ""  # estimates without a baseline
    for count in EPISODES:
        places = map(place, THETA + clouds(weighed, count))
        dots = "".join(svg.dot("axis", *at) for at in places)
        hollow += svg.tag("g", dots, class_="plain")
    gradient = lake.gradient(THETA)
    level = SPREAD(np.linalg.norm(gradient))
    curves = svg.line("red line", f"M182 318h24M{LEFT} {level}h{WIDE}")
    baselines = np.linspace(-1, 2, 31)
    for x, (look, count) in zip((182, 256, 334), LOOKS.items(), strict=True):
        spreads = [spread(weighed - b * plain, count) for b in baselines]
        d = svg.curve(baselines, spreads, BASELINE, SPREAD)
        curves += svg.line(f"{look} line", f"{d}M{x} 336h24")
        curves += svg.label(x + 29, 340, f"{count}")
    return svg.drawn(
        "gradient_cloud",
        levels=levels(lake),
        hollow=hollow,
        dots=svg.dot("dot shade") * DOTS,
        arrow=arrow(place(THETA), place(THETA + gradient)),
        curves=curves,
    )


def levels(lake: Lake) -> str:
    """Lines of equal probability to arrive; along a row of the map it only rises."""
    ups = np.linspace(-1, 1, 21) + THETA[1]
    rights = np.linspace(-2.5, 2.5, 101) + THETA[0]
    found = lake.arrives(np.stack(np.meshgrid(rights, ups), -1))
    lines = ""
    for level in (0.3, 0.4, 0.5, 0.6, 0.7):
        at = np.stack([[np.interp(level, row, rights) for row in found], ups], -1)
        points = [*map(place, at)]
        lines += svg.line("axis", svg.joined(points), stroke_opacity=0.5)
        xs, ys = zip(*reversed(points), strict=True)
        lines += svg.label(f"{np.interp(20, ys, xs) + 12:.0f}", 20, f"{level:g}")
    return lines


def arrow(begin: tuple[int, int], tip: tuple[int, int]) -> str:
    """A line with two wings at its tip."""
    x, y = tip
    back = np.subtract(begin, tip)
    back = 9 * back / np.linalg.norm(back)
    turn = np.array([[0.87, 0.5], [-0.5, 0.87]])
    wings = [tip + back @ matrix for matrix in (turn, turn.T)]
    head = "".join(f"M{x} {y}L{a:.1f} {b:.1f}" for a, b in wings)
    return f"M{begin[0]} {begin[1]}L{x} {y}{head}"


def place(theta: Any) -> tuple[int, int]:
    """Pixels of two parameters on the map."""
    right, up = (np.asarray(theta) - THETA) * UNIT
    return round(WIDE / 2 + right), round(HIGH / 2 - up)
