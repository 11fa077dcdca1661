"""Breakout of MinAtar: bounce a ball off a paddle to break a wall."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.base import LEFT, NOTHING, RIGHT, SIZE, MinAtarVectorEnv

TOP, ROWS = 1, 3  # where the wall begins, and how high it is
BRICKS = ROWS * SIZE
WHOLE = 2**BRICKS - 1  # a wall is a number with a bit per brick
BOTTOM = SIZE - 1


class BreakoutVectorEnv(MinAtarVectorEnv):
    """MinAtar's Breakout: N walls to break, a reward of 1 for each brick.

    The ball flies along diagonals and is reflected by the sides, the ceiling, bricks
    and the paddle; at the edge of the paddle it goes back to where it came from. A
    broken wall is built anew when the ball comes down. The episode ends when the ball
    gets past the paddle. Its trail shows where the ball was a step before.

    Arguments, sources and differences are those of `MinAtarVectorEnv`.
    """

    channels = ("paddle", "ball", "trail", "brick")
    actions = (NOTHING, LEFT, RIGHT)
    noise_size = 2  # whether the action sticks, and the corner of the first ball

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """A whole wall, and a ball that falls inwards from the left or the right."""
        zero = torch.zeros(noise.shape[1], dtype=torch.int64, device=self.device)
        left = noise[1] < 0.5
        x = torch.where(left, 0, SIZE - 1)
        return {
            "action": zero,
            "paddle": zero + 4,
            "x": x,
            "y": zero + 3,
            "last_x": x,
            "last_y": zero + 3,
            "dx": torch.where(left, 1, -1),
            "dy": zero + 1,
            "wall": zero + WHOLE,
            "struck": zero > 0,
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Move the paddle, then the ball."""
        x, y, dx, dy, wall = (state[name] for name in ("x", "y", "dx", "dy", "wall"))
        to_right = (action == RIGHT).long() - (action == LEFT).long()
        paddle = (state["paddle"] + to_right).clamp(0, SIZE - 1)

        new_x, new_y = x + dx, y + dy
        at_side = (new_x < 0) | (new_x >= SIZE)
        dx = torch.where(at_side, -dx, dx)
        new_x = new_x.clamp(0, SIZE - 1)
        at_ceiling = new_y < 0

        place = (new_y - TOP) * SIZE + new_x
        in_wall = (new_y >= TOP) & (new_y < TOP + ROWS)
        bit = torch.ones_like(wall) << place.clamp(0, BRICKS - 1)
        at_brick = in_wall & ((wall & bit) != 0)
        # In the step after it broke one, the ball flies through bricks.
        broken = at_brick & ~state["struck"]
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
            "struck": at_brick,
        }
        return state, broken.float(), lost

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """Paddle, ball, trail and bricks, bool `[N, 10, 10, 4]`."""
        board = self.paint(
            (0, torch.full_like(state["paddle"], BOTTOM), state["paddle"]),
            (1, state["y"], state["x"]),
            (2, state["last_y"], state["last_x"]),
        )
        bits = torch.arange(BRICKS, device=self.device)
        bricks = (state["wall"][:, None] >> bits) & 1
        board[:, TOP : TOP + ROWS, :, 3] = bricks.view(-1, ROWS, SIZE).bool()
        return board
