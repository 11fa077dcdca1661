"""Asterix of MinAtar: fetch gold and keep away from enemies."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.base import (
    DOWN,
    LEFT,
    NOTHING,
    RIGHT,
    SIZE,
    UP,
    MinAtarVectorEnv,
)

ROWS = 8  # 1 to 8, with one thing each at most
OUTSIDE = -2  # the column of what is not there, of which the trail is not seen either
SPAWN, MOVE = 10, 5  # steps from one spawn, or move, of things to the next, at first
RAMP = 100


class AsterixVectorEnv(MinAtarVectorEnv):
    """MinAtar's Asterix: N fields, a reward of 1 for each piece of gold.

    Enemies and gold come in from the sides and go out at the other, one per row, with a
    trail behind them. Touching an enemy ends the episode. About every hundred steps
    they come more often, and every other time also move faster.

    Arguments, sources and differences are those of `MinAtarVectorEnv`.
    """

    channels = ("player", "enemy", "trail", "gold")
    actions = (NOTHING, LEFT, UP, RIGHT, DOWN)
    noise_size = 4  # whether the action sticks; a spawn's direction, kind and row

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """The player alone, in the middle."""
        zero = torch.zeros(noise.shape[1], dtype=torch.int64, device=self.device)
        none = torch.zeros_like(zero.expand(ROWS, -1))
        return {
            "action": zero,
            "x": zero + 5,
            "y": zero + 5,
            "thing": none + OUTSIDE,
            "heading": none + 1,
            "gold": none > 0,
            "spawn_speed": zero + SPAWN,
            "spawn_timer": zero + SPAWN,
            "move_speed": zero + MOVE,
            "move_timer": zero + MOVE,
            "ramp_timer": zero + RAMP,
            "ramps": zero,
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Something comes in, the player moves, then all things do."""
        thing, heading, gold = (state[name] for name in ("thing", "heading", "gold"))
        spawn_timer, move_timer = state["spawn_timer"], state["move_timer"]

        spawns = spawn_timer == 0
        free = thing == OUTSIDE
        chosen = (noise[3] * free.sum(0)).long()  # which of the free rows
        new = spawns & free & (free.cumsum(0) == chosen + 1)
        to_right = noise[1] < 0.5
        thing = torch.where(new, torch.where(to_right, 0, SIZE - 1), thing)
        heading = torch.where(new, torch.where(to_right, 1, -1), heading)
        gold = torch.where(new, noise[2] < 1 / 3, gold)
        spawn_timer = torch.where(spawns, state["spawn_speed"], spawn_timer)

        right = (action == RIGHT).long() - (action == LEFT).long()
        down = (action == DOWN).long() - (action == UP).long()
        x = (state["x"] + right).clamp(0, SIZE - 1)
        y = (state["y"] + down).clamp(1, ROWS)

        here = torch.arange(1, 1 + ROWS, device=self.device)[:, None] == y
        met = here & (thing == x)
        fetched, caught = met & gold, met & ~gold
        thing = torch.where(fetched, OUTSIDE, thing)
        moves = move_timer == 0
        moved = thing + heading
        left = (moved < 0) | (moved >= SIZE)  # which keeps what is not there outside
        moved = torch.where(left, OUTSIDE, moved)
        thing = torch.where(moves, moved, thing)
        move_timer = torch.where(moves, state["move_speed"], move_timer)
        met = here & (thing == x) & moves
        thing = torch.where(met & gold, OUTSIDE, thing)
        reward = (fetched | (met & gold)).sum(0)
        terminated = (caught | (met & ~gold)).any(0)

        state = {
            "x": x,
            "y": y,
            "thing": thing,
            "heading": heading,
            "gold": gold,
            "spawn_timer": spawn_timer - 1,
            "move_timer": move_timer - 1,
            **self._ramped(state),
        }
        return state, reward.float(), terminated

    def _ramped(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Speeds and timer of the difficulty after a step."""
        names = ("spawn_speed", "move_speed", "ramp_timer", "ramps")
        spawn, move, timer, ramps = (state[name] for name in names)
        if self.difficulty_ramping:
            running = (spawn > 1) | (move > 1)
            now = running & (timer < 0)
            move = (move - (now & (ramps % 2 == 1)).long()).clamp(min=1)
            spawn = (spawn - now.long()).clamp(min=1)
            timer = torch.where(now, RAMP, timer - running.long())
            ramps = ramps + now.long()
        return dict(zip(names, (spawn, move, timer, ramps), strict=True))

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """Player, enemies, trails and gold, bool `[N, 10, 10, 4]`."""
        rows = torch.arange(1, 1 + ROWS, device=self.device)[:, None]
        behind = state["thing"] - state["heading"]
        return self.paint(
            (0, state["y"], state["x"]),
            (torch.where(state["gold"], 3, 1), rows, state["thing"]),
            (2, rows, behind),
        )
