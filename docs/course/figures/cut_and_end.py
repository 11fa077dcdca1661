"""Chapter 5's second figure: what is bootstrapped where an episode stops.

A candle pays 1 for every step that it burns. Either it burns down, or somebody stops
the clock while there is something left of it; then comes the next one. The critic is
exact but for one state in which nobody ever acted: about a burnt candle it says what a
network may say of what it has never seen, here the mean of its other values. Targets
are made by the library's own `gae`.
"""

from typing import Any

import torch
from torch import Tensor

from yieldrl.functional import gae

from . import drawing as svg
from .drawing import Frame, Scale

GAMMA = 0.9
BURNT, LENGTHS = 5, {"ended": 5, "cut": 9}
"""Steps of the first episode; steps that a candle burns, if nobody stops the clock."""
ROWS = 8  # that the timeline shows, of both episodes
READINGS = {
    "as it is": "terminated stops the bootstrap",
    "done = either": "both stop it",
    "only a reset": "neither stops it",
    "the next row": "V of the next row's state",
}
LEFT, WIDE = 56, 46  # of the first row's middle, and of a row, in pixels
LAST = LEFT + WIDE * BURNT  # of the first episode's last state
UP = {"ended": Scale(0, 1, 132, 117), "cut": Scale(0, 1, 296, 281)}
NAMES = {"ended": "ended", "cut": "was cut"}


def figure() -> dict[str, Any]:
    """All frames: a way to read the flags and a number of steps each."""
    return svg.figure(
        size=(480, 330),
        svg=drawing(),
        controls={
            "flags": svg.labelled(READINGS),
            "target": {"one step": 0.0, "all steps": 1.0},
        },
        start=("as it is", "one step"),
        frame=frame,
    )


class Candle:
    """Two candles after each other, of which the first ended or was cut.

    Attributes:
        value: What each row's state is worth, `[T]`.
        last: The critic's value of the first episode's last state.
        following: Its values of the states that each row led to, `[T]`.
        terminated: Where a candle burnt down, `[T]`.
        truncated: Where the clock was stopped, `[T]`.
    """

    def __init__(self, way: str) -> None:
        length = LENGTHS[way]
        left = torch.tensor([length - t % BURNT for t in range(ROWS + 1)])
        worth = (1 - GAMMA ** left.double()) / (1 - GAMMA)
        rest = (1 - GAMMA ** (length - BURNT)) / (1 - GAMMA)
        self.value = worth[:ROWS]
        self.last = rest if length > BURNT else float(worth[:BURNT].mean())
        self.following = worth[1:].clone()
        self.following[BURNT - 1] = self.last
        stops = torch.arange(ROWS) == BURNT - 1
        self.terminated = stops & (length == BURNT)
        self.truncated = stops & (length > BURNT)

    def targets(self, reading: str, gae_lambda: float) -> Tensor:
        """What each row is moved towards, `[T]`, if its flags are read like this."""
        following, ended, cut = self.following, self.terminated, self.truncated
        if reading == "done = either":
            ended = ended | cut
        if reading == "only a reset":
            ended, cut = ended & False, ended | cut
        if reading == "the next row":
            following = following.clone()
            following[:-1] = self.value[1:]
        columns = [x[:, None] for x in (self.value, following, ended, cut)]
        reward = torch.ones(ROWS, 1, dtype=torch.float64)
        advantage = gae(reward, *columns, gamma=GAMMA, gae_lambda=gae_lambda)
        return self.value + advantage[:, 0]

    def bootstrapped(self, reading: str) -> tuple[float, float] | None:
        """The value in the last target: where it is drawn, and how large it is."""
        stops = self.terminated | self.truncated & (reading == "done = either")
        if stops.any() and reading != "only a reset":
            return None
        if reading == "the next row":
            return across(BURNT), float(self.value[BURNT])
        return LAST, self.last


def frame(reading: str, gae_lambda: float) -> Frame:
    """Both candles, for one way to read the flags."""
    circles, paths, said = [], [], []
    for way, up in UP.items():
        candle = Candle(way)
        targets = candle.targets(reading, gae_lambda)
        circles += map(up, targets)
        got, right = float(targets[BURNT - 1]), float(candle.value[BURNT - 1])
        arrow = ""
        if source := candle.bootstrapped(reading):
            begin = f"M{source[0] - 6} {up(source[1])}"
            arrow = f"{begin}L{across(BURNT - 1) + 10} {up(got)}m8 -5l-8 5l8 5"
        paths.append(arrow)
        verdict = "right" if abs(got - right) < 0.005 else f"right is {right:.1f}"
        said.append(f"{got:.1f} where it {NAMES[way]} ({verdict})")
    text = f"Flags read: {READINGS[reading]}. The last target is {' and '.join(said)}."
    return {"target cy": circles, "taken d": paths, "says text": text}


def drawing() -> str:
    """Two timelines, with what the critic says of each state."""
    computed = {}
    for way, up in UP.items():
        candle = Candle(way)
        computed[f"last_{way}"] = f"M{LAST - 5} {up(candle.last) - 5}h10v10h-10z"
        computed[f"dots_{way}"] = "".join(
            svg.dot("dot", across(t), up(y), r=4) for t, y in enumerate(candle.value)
        )
    return svg.drawn("cut_and_end", **computed)


def across(row: int) -> int:
    """Pixels of a row of the buffer; between the episodes a column is left free."""
    return LEFT + WIDE * (row + (row >= BURNT))
