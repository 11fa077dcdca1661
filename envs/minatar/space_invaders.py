"""Space Invaders of MinAtar: shoot a fleet of aliens before it comes down."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.base import (
    FIRE,
    LEFT,
    NOTHING,
    RIGHT,
    SIZE,
    MinAtarVectorEnv,
)

RANKS, FILES = 4, 6  # a fleet of 24 aliens
FIRST_FILE = 2  # the column of its left side at first
GROUND = SIZE - 1  # the row of the cannon
COOL_DOWN = 5  # steps from one shot to the next
SHOTS = 2  # in the air at most, because one is gone after nine steps
BOMB_EVERY = 10  # steps, after which the bomb before is gone
SLOWEST, FASTEST = 12, 6  # steps from one move of a whole fleet to the next
GONE = -1  # the row of what is not in the air


class SpaceInvadersVectorEnv(MinAtarVectorEnv):
    """MinAtar's Space Invaders: N fleets, a reward of 1 for each alien shot.

    A fleet of aliens goes sideways, and down where one is at the edge; it is the
    faster the fewer are left. Every ten steps the one nearest to the cannon drops a
    bomb. A fleet that is gone is followed by a faster one. The episode ends when a bomb
    or an alien hits the cannon, or when the fleet would leave the board.

    Aliens keep their places in the fleet, so a board is the fleet's corner, which of
    its aliens are left, two shots and one bomb.

    Arguments, sources and differences are those of `MinAtarVectorEnv`.
    """

    channels = (
        "cannon",
        "alien",
        "alien_left",
        "alien_right",
        "friendly_bullet",
        "enemy_bullet",
    )
    actions = (NOTHING, LEFT, RIGHT, FIRE)
    noise_size = 1  # whether the action sticks: all else is fixed

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """A whole fleet at the top."""
        zero = torch.zeros(noise.shape[1], dtype=torch.int64, device=self.device)
        none = torch.zeros_like(zero.expand(SHOTS, -1))
        return {
            "action": zero,
            "cannon": zero + 5,
            "cooling": zero,
            "alive": zero.expand(RANKS, FILES, -1) == 0,
            "top": zero,
            "left": zero + FIRST_FILE,
            "heading": zero - 1,
            "interval": zero + SLOWEST,
            "timer": zero + SLOWEST,
            "shot_row": none + GONE,
            "shot_column": none,
            "bomb_row": zero + SIZE,
            "bomb_column": zero,
            "bomb_timer": zero + BOMB_EVERY,
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Move the cannon, shots, the bomb and the fleet, drop a bomb, hit aliens."""
        alive, heading, interval = (state[k] for k in ("alive", "heading", "interval"))
        fires = (action == FIRE) & (state["cooling"] == 0)
        cooling = torch.where(fires, COOL_DOWN, state["cooling"])
        # The newest shot is the first; the older one moves up, or is gone by then.
        shot_row, shot_column = state["shot_row"], state["shot_column"]
        new_row = torch.stack((torch.full_like(cooling, GROUND), shot_row[0]))
        new_column = torch.stack((state["cannon"], shot_column[0]))
        shot_row = torch.where(fires, new_row, shot_row)
        shot_column = torch.where(fires, new_column, shot_column)
        shot_row = (shot_row - 1).clamp(min=GONE)
        right = (action == RIGHT).long() - (action == LEFT).long()
        cannon = (state["cannon"] + right).clamp(0, SIZE - 1)

        bomb_row = (state["bomb_row"] + 1).clamp(max=SIZE)
        bomb_column = state["bomb_column"]
        terminated = (bomb_row == GROUND) & (bomb_column == cannon)

        row, column = self._places(state["top"], state["left"])
        terminated = terminated | self._hits(alive, row, column, cannon)
        moves = state["timer"] == 0
        wait = torch.minimum(alive.sum((0, 1)), interval)
        timer = torch.where(moves, wait, state["timer"])
        edge = torch.where(heading < 0, 0, SIZE - 1)
        turns = moves & (alive & (column == edge)).any(0).any(0)
        heading = torch.where(turns, -heading, heading)
        terminated = terminated | (turns & (alive & (row == GROUND)).any(0).any(0))
        top = (state["top"] + turns.long()) % SIZE  # as the package's board wraps
        left = state["left"] + torch.where(moves & ~turns, heading, 0)
        row, column = self._places(top, left)
        terminated = terminated | (moves & self._hits(alive, row, column, cannon))

        drops = state["bomb_timer"] == 0
        # The nearest column of aliens, the left one of two; in it the lowest alien.
        away = 2 * (column - cannon).abs() + (column > cannon).long()
        rank = torch.where(alive, away * SIZE + GROUND - row, SIZE**3)
        bomber = rank.flatten(0, 1).argmin(0)
        bomber_row = (top + bomber // FILES) % SIZE
        bomber_column = left + bomber % FILES
        bomb_row = torch.where(drops, bomber_row, bomb_row)
        bomb_column = torch.where(drops, bomber_column, bomb_column)
        bomb_timer = torch.where(drops, BOMB_EVERY, state["bomb_timer"])

        hits = []
        for i in range(SHOTS):
            met = alive & (row == shot_row[i]) & (column == shot_column[i])
            alive = alive & ~met
            hits.append(met.any(0).any(0))
        hit = torch.stack(hits)
        shot_row = shot_row.masked_fill(hit, GONE)
        reward = hit.sum(0).float()

        won = ~alive.any(0).any(0)
        if self.difficulty_ramping:
            interval = (interval - won.long()).clamp(min=FASTEST)
        state = {
            "cannon": cannon,
            "cooling": (cooling - 1).clamp(min=0),
            "alive": alive | won,
            "top": torch.where(won, 0, top),
            "left": torch.where(won, FIRST_FILE, left),
            "heading": heading,
            "interval": interval,
            "timer": timer - 1,
            "shot_row": shot_row,
            "shot_column": shot_column,
            "bomb_row": bomb_row,
            "bomb_column": bomb_column,
            "bomb_timer": bomb_timer - 1,
        }
        return state, reward, terminated

    def _places(self, top: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """Rows `[4, 1, N]` and columns `[1, 6, N]` of the places in the fleet."""
        rank = torch.arange(RANKS, device=self.device)[:, None, None]
        file = torch.arange(FILES, device=self.device)[:, None]
        return (top + rank) % SIZE, (left + file)[None]

    @staticmethod
    def _hits(alive: Tensor, row: Tensor, column: Tensor, cannon: Tensor) -> Tensor:
        """Whether an alien is where the cannon is, bool `[N]`."""
        return (alive & (row == GROUND) & (column == cannon)).any(0).any(0)

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """Cannon, aliens, again by heading, shots, the bomb: bool `[N, 10, 10, 6]`."""
        row, column = self._places(state["top"], state["left"])
        column = torch.where(state["alive"], column, SIZE)
        # What is not in the air has a row outside of the board: hide it by its column.
        in_air = state["shot_row"] > GONE
        falls = state["bomb_row"] < SIZE
        return self.paint(
            (0, torch.full_like(state["cannon"], GROUND), state["cannon"]),
            (1, row, column),
            (torch.where(state["heading"] < 0, 2, 3), row, column),
            (4, state["shot_row"], torch.where(in_air, state["shot_column"], SIZE)),
            (5, state["bomb_row"], torch.where(falls, state["bomb_column"], SIZE)),
        )
