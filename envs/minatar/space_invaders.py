"""Space Invaders of MinAtar: shoot a fleet of aliens before it comes down."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar.base import SIZE, MinAtarVectorEnv, State, Thing, Transition

RANKS, FILES = 4, 6  # a fleet of 24 aliens
FIRST_FILE = 2  # initial column of its left side
GROUND = SIZE - 1  # the row of the cannon
COOL_DOWN = 5  # steps between shots
SHOTS = 2  # most in the air: a shot is gone after nine steps
BOMB_EVERY = 10  # steps; the previous bomb is gone by then
SLOWEST, FASTEST = 12, 6  # steps between moves of a full fleet
GONE = -1  # row of absent shots and bombs


class SpaceInvadersVectorEnv(MinAtarVectorEnv):
    """MinAtar's Space Invaders: N fleets, a reward of 1 for each alien shot.

    A fleet of aliens moves sideways, and down when one is at the edge; it is faster the
    fewer are left. Every ten steps the alien nearest to the cannon drops a bomb. After
    a fleet is destroyed, a faster one follows. The episode ends when a bomb or an alien
    hits the cannon, or when the fleet would leave the board.

    The state is the fleet's corner, a flag for each alien, two shots and one bomb.
    """

    channels = ("cannon", "alien", "alien_left", "alien_right")
    channels += ("friendly_bullet", "enemy_bullet")
    actions = (base.NOTHING, base.LEFT, base.RIGHT, base.FIRE)
    noise_size = 1  # sticky action; all else is deterministic

    def begin(self, noise: Tensor) -> State:
        return {
            **self.full(noise, cannon=5, cooling=0),
            **self.full(noise, RANKS, FILES, alive=1),
            **self.full(noise, top=0, left=FIRST_FILE, heading=-1),
            **self.full(noise, interval=SLOWEST, timer=SLOWEST),
            **self.full(noise, SHOTS, shot_row=GONE, shot_column=0),
            **self.full(noise, bomb_row=SIZE, bomb_column=0, bomb_timer=BOMB_EVERY),
        }

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Move the cannon, shots, the bomb and the fleet, drop a bomb, hit aliens."""
        fires = (action == base.FIRE) & (state["cooling"] == 0)
        cooling = torch.where(fires, COOL_DOWN, state["cooling"])
        shot_row, shot_column = self._shots(state, fires)
        cannon = (state["cannon"] + base.across(action)).clamp(0, SIZE - 1)

        bomb_row = (state["bomb_row"] + 1).clamp(max=SIZE)
        bomb_column = state["bomb_column"]
        terminated = (bomb_row == GROUND) & (bomb_column == cannon)

        fleet, hit = self._fleet_moves(state, cannon)
        terminated = terminated | hit
        alive, row, column = fleet["alive"], *self._places(fleet["top"], fleet["left"])

        drops = state["bomb_timer"] == 0
        dropped_row, dropped_column = self._bomber(alive, row, column, cannon)
        bomb_row = torch.where(drops, dropped_row, bomb_row)
        bomb_column = torch.where(drops, dropped_column, bomb_column)
        bomb_timer = torch.where(drops, BOMB_EVERY, state["bomb_timer"])

        reward, rows = torch.zeros_like(cannon), []
        for i in range(SHOTS):
            met = alive * ((row == shot_row[i]) & (column == shot_column[i])).int()
            alive, hits = alive - met, _count(met)
            rows.append(torch.where(hits != 0, GONE, shot_row[i]))
            reward = reward + hits
        state = {
            **self._next_fleet(fleet, alive),
            "cannon": cannon,
            "cooling": (cooling - 1).clamp(min=0),
            "shot_row": torch.stack(rows),
            "shot_column": shot_column,
            "bomb_row": bomb_row,
            "bomb_column": bomb_column,
            "bomb_timer": bomb_timer - 1,
        }
        return state, reward, terminated

    def _shots(self, state: State, fires: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and columns of the shots, int32 `[2, N]`, the newest first; the older
        one moves up."""
        row, column = state["shot_row"], state["shot_column"]
        new_row = torch.stack((torch.full_like(row[0], GROUND), row[0]))
        new_column = torch.stack((state["cannon"], column[0]))
        row = torch.where(fires, new_row, row)
        return (row - 1).clamp(min=GONE), torch.where(fires, new_column, column)

    def _fleet_moves(self, state: State, cannon: Tensor) -> tuple[State, Tensor]:
        """Move the fleet if due; also returns whether it hit cannon or ground."""
        names = ("alive", "top", "left", "heading", "interval")
        alive, top, left, heading, interval = (state[name] for name in names)
        row, column = self._places(top, left)
        lost = _count(alive * ((row == GROUND) & (column == cannon))) != 0
        moves = state["timer"] == 0
        wait = torch.minimum(_count(alive), interval)
        edge = (SIZE - 1) * (heading > 0).int()
        turns = moves & (_count(alive * (column == edge)) != 0)
        lost = lost | (turns & (_count(alive * (row == GROUND)) != 0))
        heading = torch.where(turns, -heading, heading)
        top = top + turns.int()
        top = torch.where(top < SIZE, top, 0)  # the package's board wraps around
        left = left + heading * (moves & ~turns).int()
        row, column = self._places(top, left)
        hit = _count(alive * ((row == GROUND) & (column == cannon))) != 0
        timer = torch.where(moves, wait, state["timer"]) - 1
        values = (alive, top, left, heading, interval, timer)
        return dict(zip((*names, "timer"), values, strict=True)), lost | (moves & hit)

    def _next_fleet(self, fleet: State, alive: Tensor) -> State:
        """The remaining fleet; a new, faster one after its last alien."""
        won = _count(alive) == 0
        interval = fleet["interval"]
        if self.difficulty_ramping:
            interval = (interval - won.int()).clamp(min=FASTEST)
        return {
            **fleet,
            "alive": torch.where(won, 1, alive),
            "top": torch.where(won, 0, fleet["top"]),
            "left": torch.where(won, FIRST_FILE, fleet["left"]),
            "interval": interval,
        }

    @staticmethod
    def _bomber(
        alive: Tensor, row: Tensor, column: Tensor, cannon: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Row and column of the lowest alien in the nearest column, the left of two."""
        away = 2 * (column - cannon).abs() + (column > cannon).int()
        nearest = torch.where(alive != 0, away * SIZE + GROUND - row, SIZE**3)
        nearest = nearest.flatten(0, 1).amin(0)
        away = nearest // SIZE
        side = 2 * (away & 1) - 1
        return GROUND - nearest % SIZE, cannon + side * (away // 2)

    def _places(self, top: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """Rows `[4, 1, N]` and columns `[1, 6, N]` of the places in the fleet."""
        row = top + self.numbers(0, RANKS)[..., None]
        row = torch.where(row < SIZE, row, row - SIZE)
        return row, (left + self.numbers(0, FILES))[None]

    def things(self, state: State) -> tuple[Thing, ...]:
        row, column = self._places(state["top"], state["left"])
        row = row.expand(-1, FILES, -1).flatten(0, 1)
        column = torch.where(state["alive"] != 0, column, base.OUTSIDE).flatten(0, 1)
        # Absent shots and bombs have an invalid row: hide them by their column.
        in_air = state["shot_row"] > GONE
        falls = state["bomb_row"] < SIZE
        shot_column = torch.where(in_air, state["shot_column"], base.OUTSIDE)
        bomb_column = torch.where(falls, state["bomb_column"], base.OUTSIDE)
        return (
            (0, GROUND, state["cannon"]),
            (1, row, column),
            (torch.where(state["heading"] < 0, 2, 3).int(), row, column),
            (4, state["shot_row"], shot_column),
            (5, state["bomb_row"], bomb_column),
        )


def _count(aliens: Tensor) -> Tensor:
    """The number of aliens, from `[4, 6, N]` to int32 `[N]`."""
    return base.total(aliens.flatten(0, 1))
