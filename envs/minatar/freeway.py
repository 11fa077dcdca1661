"""Freeway of MinAtar: cross eight lanes of cars."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar.base import SIZE, MinAtarVectorEnv, State, Thing, Transition

CARS = 8  # in the rows 1 to 8
COLUMN = 4  # column of the chicken
HOME = SIZE - 1  # first row of the chicken
PAUSE = 3  # steps between moves of the chicken
STEPS = 2500  # limit of an episode, which has one step more
CHOICES = 10  # five speeds, two directions
TOGETHER = 4  # cars per random number, whose 24 bits are enough
NUMBERS = CARS // TOGETHER  # random numbers for all cars


class FreewayVectorEnv(MinAtarVectorEnv):
    """MinAtar's Freeway: N roads to cross, a reward of 1 for each crossing.

    The chicken moves at most every third step; a car sends it home. Cars leave at one
    side and return at the other. Behind each is a trail, in the channel for the number
    of steps that the car waits between moves, 1 to 5. Speeds and directions are drawn
    again after each crossing. An episode takes 2501 steps, and ends (`terminated`).
    """

    channels = ("chicken", "car", "speed1", "speed2", "speed3", "speed4", "speed5")
    actions = (base.NOTHING, base.UP, base.DOWN)
    # Sticky action; the cars of a first state, and those after a crossing.
    noise_size = 1 + 2 * NUMBERS

    def begin(self, noise: Tensor) -> State:
        wait, heading = _drawn(noise[1 : 1 + NUMBERS])
        chicken = self.full(noise, row=HOME, pause=PAUSE, clock=STEPS)
        cars = {"heading": heading, "wait": wait, "timer": wait}
        return {**chicken, **self.full(noise, CARS, car=0), **cars}

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Move the chicken, then the cars."""
        car, heading, wait = (state[name] for name in ("car", "heading", "wait"))
        down = base.down(action)
        walks = (down != 0) & (state["pause"] == 0)
        row = torch.where(walks, state["row"] + down, state["row"]).clamp(0, HOME)
        pause = torch.where(walks, PAUSE, state["pause"])

        crossed = row == 0
        row = torch.where(crossed, HOME, row)
        new_wait, new_heading = _drawn(noise[1 + NUMBERS :])
        wait = torch.where(crossed, new_wait, wait)
        heading = torch.where(crossed, new_heading, heading)
        timer = torch.where(crossed, new_wait, state["timer"])

        drives = timer == 0
        before, car = car, torch.where(drives, _around(car + heading), car)
        timer = torch.where(drives, wait, timer - 1)
        # The chicken is in one lane, so the order of the cars does not matter.
        at_column = (before == COLUMN) | (car == COLUMN)
        lanes = self.numbers(1, 1 + CARS)
        hit = (at_column & (lanes == row)).any(0)
        row = torch.where(hit, HOME, row)

        pause, clock = (pause - 1).clamp(min=0), state["clock"] - 1
        chicken = {"row": row, "pause": pause, "clock": clock}
        cars = {"car": car, "heading": heading, "wait": wait, "timer": timer}
        return {**chicken, **cars}, crossed, clock < 0

    def things(self, state: State) -> tuple[Thing, ...]:
        lanes = self.numbers(1, 1 + CARS)
        behind = _around(state["car"] - state["heading"])
        return (
            (0, state["row"], torch.full_like(state["row"], COLUMN)),
            (1, lanes, state["car"]),
            (1 + state["wait"], lanes, behind),
        )


def _drawn(noise: Tensor) -> tuple[Tensor, Tensor]:
    """Waits 1 to 5 and headings -1 or 1, `[8, N]`, from the digits of two numbers."""
    choice = torch.cat(base.choices(noise, *[CHOICES] * TOGETHER))
    return 1 + (choice >> 1), 2 * (choice & 1) - 1


def _around(column: Tensor) -> Tensor:
    """Columns that wrap around to the other side of the board."""
    column = torch.where(column < 0, SIZE - 1, column)
    return torch.where(column >= SIZE, 0, column)
