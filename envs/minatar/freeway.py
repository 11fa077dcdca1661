"""Freeway of MinAtar: cross eight lanes of cars."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.base import DOWN, NOTHING, SIZE, UP, MinAtarVectorEnv

CARS = 8  # in the rows 1 to 8
COLUMN = 4  # of the chicken
HOME = SIZE - 1  # its first row
PAUSE = 3  # steps from one of its moves to the next
STEPS = 2500  # of an episode, and one more
CHOICES = 10  # five speeds, two directions


class FreewayVectorEnv(MinAtarVectorEnv):
    """MinAtar's Freeway: N roads to cross, a reward of 1 for each crossing.

    The chicken moves at every third step at most; a car sends it home. Cars leave at
    one side and come back at the other. Behind each is a trail, in the channel of the
    steps that the car waits between its moves, 1 to 5. Speeds and directions are drawn
    anew after each crossing. An episode takes 2501 steps, and ends (`terminated`).

    Arguments, sources and differences are those of `MinAtarVectorEnv`.
    """

    channels = ("chicken", "car", "speed1", "speed2", "speed3", "speed4", "speed5")
    actions = (NOTHING, UP, DOWN)
    noise_size = 1 + 2 * CARS  # the cars of a first state, and those after a crossing

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """The chicken at home, the cars at the left."""
        zero = torch.zeros(noise.shape[1], dtype=torch.int64, device=self.device)
        wait, heading = _drawn(noise[1 : 1 + CARS])
        return {
            "action": zero,
            "row": zero + HOME,
            "pause": zero + PAUSE,
            "clock": zero + STEPS,
            "car": torch.zeros_like(wait),
            "heading": heading,
            "wait": wait,
            "timer": wait,
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Move the chicken, then the cars."""
        car, heading, wait = (state[name] for name in ("car", "heading", "wait"))
        down = (action == DOWN).long() - (action == UP).long()
        walks = (down != 0) & (state["pause"] == 0)
        row = torch.where(walks, state["row"] + down, state["row"]).clamp(0, HOME)
        pause = torch.where(walks, PAUSE, state["pause"])

        crossed = row == 0
        row = torch.where(crossed, HOME, row)
        new_wait, new_heading = _drawn(noise[1 + CARS :])
        wait = torch.where(crossed, new_wait, wait)
        heading = torch.where(crossed, new_heading, heading)
        timer = torch.where(crossed, new_wait, state["timer"])

        drives = timer == 0
        before, car = car, torch.where(drives, (car + heading) % SIZE, car)
        timer = torch.where(drives, wait, timer - 1)
        # The chicken is in one lane, so that the order of the cars does not matter.
        at_column = (before == COLUMN) | (car == COLUMN)
        lanes = torch.arange(1, 1 + CARS, device=self.device)[:, None]
        hit = (at_column & (lanes == row)).any(0)
        row = torch.where(hit, HOME, row)

        clock = state["clock"] - 1
        state = {
            "row": row,
            "pause": (pause - 1).clamp(min=0),
            "clock": clock,
            "car": car,
            "heading": heading,
            "wait": wait,
            "timer": timer,
        }
        return state, crossed.float(), clock < 0

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """Chicken, cars and their trails, bool `[N, 10, 10, 7]`."""
        lanes = torch.arange(1, 1 + CARS, device=self.device)[:, None]
        behind = (state["car"] - state["heading"]) % SIZE
        return self.paint(
            (0, state["row"], torch.full_like(state["row"], COLUMN)),
            (1, lanes, state["car"]),
            (1 + state["wait"], lanes, behind),
        )


def _drawn(noise: Tensor) -> tuple[Tensor, Tensor]:
    """Waits 1 to 5 and headings -1 or 1, `[8, N]`, from one number each."""
    choice = (noise * CHOICES).long()
    return 1 + choice // 2, 2 * (choice % 2) - 1
