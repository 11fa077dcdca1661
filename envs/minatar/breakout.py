"""Breakout of MinAtar: bounce a ball off a paddle to break a wall."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar.base import SIZE, MinAtarVectorEnv, State, Thing, Transition

TOP, ROWS = 1, 3  # first row and height of the wall
BRICKS = ROWS * SIZE
WHOLE = 2**BRICKS - 1  # a wall is an integer with a bit per brick
BOTTOM = SIZE - 1


class BreakoutVectorEnv(MinAtarVectorEnv):
    """MinAtar's Breakout: N walls to break, a reward of 1 for each brick.

    The ball flies along diagonals and is reflected by the sides, the ceiling, bricks
    and the paddle; at the edge of the paddle it goes back the way it came. A
    broken wall is rebuilt when the ball comes down. The episode ends when the ball
    passes the paddle. Its trail shows the position one step earlier.
    """

    channels = ("paddle", "ball", "trail", "brick")
    actions = (base.NOTHING, base.LEFT, base.RIGHT)
    noise_size = 2  # sticky action, and the corner of the first ball

    def begin(self, noise: Tensor) -> State:
        left = noise[1] < 0.5
        x = torch.where(left, 0, SIZE - 1).int()
        first = self.full(noise, paddle=4, x=0, y=3, last_x=0, last_y=3, dx=1, dy=1)
        first |= self.full(noise, wall=WHOLE, struck=0)
        return {**first, "x": x, "last_x": x, "dx": torch.where(left, 1, -1).int()}

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Move the paddle, then the ball."""
        x, y, dx, dy, wall = (state[name] for name in ("x", "y", "dx", "dy", "wall"))
        paddle = (state["paddle"] + base.across(action)).clamp(0, SIZE - 1)

        new_x, new_y = x + dx, y + dy
        at_side = (new_x < 0) | (new_x >= SIZE)
        dx = torch.where(at_side, -dx, dx)
        new_x = new_x.clamp(0, SIZE - 1)
        at_ceiling = new_y < 0

        place = (new_y - TOP) * SIZE + new_x
        in_wall = (new_y >= TOP) & (new_y < TOP + ROWS)
        bit = torch.ones_like(wall) << place.clamp(0, BRICKS - 1)
        at_brick = in_wall & ((wall & bit) != 0)
        # In the step after breaking a brick, the ball passes through bricks.
        broken = at_brick & (state["struck"] == 0)
        wall = torch.where(broken, wall ^ bit, wall)

        at_bottom = new_y == BOTTOM
        wall = torch.where(at_bottom & (wall == 0), WHOLE, wall)
        met = at_bottom & (x == paddle)
        at_edge = at_bottom & (new_x == paddle) & ~met
        lost = at_bottom & ~met & ~at_edge
        bounced = broken | met | at_edge
        dy = torch.where(bounced | at_ceiling, -dy, dy)
        dx = torch.where(at_edge, -dx, dx)
        new_y = torch.where(bounced, y, new_y).clamp(min=0)
        state = {
            "paddle": paddle,
            "x": new_x,
            "y": new_y,
            "last_x": x,
            "last_y": y,
            "dx": dx,
            "dy": dy,
            "wall": wall,
            "struck": at_brick.int(),
        }
        return state, broken, lost

    def things(self, state: State) -> tuple[Thing, ...]:
        brick = self.numbers(0, BRICKS)
        there = ((state["wall"] >> brick) & 1) != 0
        column = torch.where(there, brick % SIZE, base.OUTSIDE)
        return (
            (0, BOTTOM, state["paddle"]),
            (1, state["y"], state["x"]),
            (2, state["last_y"], state["last_x"]),
            (3, TOP + brick // SIZE, column),
        )
