"""Seaquest of MinAtar: rescue divers, shoot fish and submarines, mind the oxygen."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.base import (
    DOWN,
    FIRE,
    LEFT,
    NOTHING,
    RIGHT,
    SIZE,
    UP,
    MinAtarVectorEnv,
)

OUTSIDE = -3  # the column of what is not there, of which the trail is not seen either
FLOOR = SIZE - 1  # the row of the gauges
OXYGEN = 200
CREW = 6  # divers that fit in
COOL_DOWN = 5  # steps from one shot to the next
SPAWN, FASTEST_SPAWN = 20, 1  # steps from one enemy to the next, at first and at last
MOVE, FASTEST_MOVE = 5, 2  # steps that an enemy waits between its moves
DIVER_SPAWN, DIVER_MOVE = 30, 5
RELOAD = 10  # steps that a submarine waits between its torpedoes

# Nothing is ever lost for want of room. The first in a list is the newest.
SHOTS = 2  # a shot is gone after 10 steps
DIVERS = 2  # a diver is gone after 60
ENEMIES = 30  # an enemy is gone after 10 moves, and the fastest come at every step


class SeaquestVectorEnv(MinAtarVectorEnv):
    """MinAtar's Seaquest: N seas, a reward of 1 for each enemy shot.

    Fish and submarines cross the sea, and submarines fire torpedoes. Divers can be
    taken aboard, up to six. Coming up takes at least one of them, fills the oxygen and
    makes the enemies come more often, and every other time also move faster; with all
    six aboard it is worth a reward of up to 10, one for each cell of the oxygen gauge.
    The episode ends when something hits the submarine, the oxygen runs out, or when one
    comes up without a diver.

    As in the package, a full rescue leaves the number of divers at -1: not being 0,
    it lets one come up without a diver afterwards.

    Arguments, sources and differences are those of `MinAtarVectorEnv`.
    """

    channels = (
        "sub_front",
        "sub_back",
        "friendly_bullet",
        "trail",
        "enemy_bullet",
        "enemy_fish",
        "enemy_sub",
        "oxygen_guage",
        "diver_guage",
        "diver",
    )
    actions = (NOTHING, LEFT, UP, RIGHT, DOWN, FIRE)
    noise_size = 6  # whether the action sticks, 3 for an enemy, 2 for a diver

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """An empty sea, and the submarine at its surface with full tanks."""
        n = noise.shape[1]
        zero = torch.zeros(n, dtype=torch.int64, device=self.device)

        def nobody(facts: int, count: int) -> Tensor:
            size = (facts, count, n)
            none = torch.full(size, OUTSIDE, dtype=torch.int8, device=self.device)
            none[2] = 1  # a heading
            return none

        return {
            "action": zero,
            "x": zero + 5,
            "y": zero,
            "heading": zero - 1,
            "cooling": zero,
            "oxygen": zero + OXYGEN,
            "aboard": zero,
            "up": zero == 0,  # whether it came up and did not dive since
            "spawn_speed": zero + SPAWN,
            "spawn_timer": zero + SPAWN,
            "diver_timer": zero + DIVER_SPAWN,
            "move_speed": zero + MOVE,
            "ramps": zero,
            "shots": nobody(3, SHOTS),  # x, y, heading
            "divers": nobody(4, DIVERS),  # x, y, heading, timer
            # x, y, heading, timer, is a submarine, its next torpedo, x of the last one
            "enemies": nobody(7, ENEMIES),
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Enemies and divers come in; the player moves, then shots, divers, enemies."""
        speed = state["move_speed"]
        enemies, spawn_timer = self._enemy_comes(state, noise[1:4])
        divers, diver_timer = self._diver_comes(state, noise[4:6])

        right = (action == RIGHT).long() - (action == LEFT).long()
        down = (action == DOWN).long() - (action == UP).long()
        fires = (action == FIRE) & (state["cooling"] == 0)
        muzzle = torch.stack((state["x"], state["y"], state["heading"])).to(torch.int8)
        shots = _joined(state["shots"], fires, muzzle)
        cooling = torch.where(fires, COOL_DOWN, state["cooling"])
        x = (state["x"] + right).clamp(0, SIZE - 1)
        y = (state["y"] + down).clamp(0, FLOOR - 1)
        heading = torch.where(right == 0, state["heading"], right)
        at_x, at_y = x.to(torch.int8), y.to(torch.int8)

        shots, enemies, hits = self._shots_move(shots, enemies)
        divers, rescued = self._divers_move(divers, at_x, at_y, state["aboard"])
        aboard = state["aboard"] + rescued
        shots, enemies, run_into, caught = self._enemies_move(
            shots, enemies, at_x, at_y, speed
        )

        oxygen, below = state["oxygen"], y > 0
        surfaces = ~below & ~state["up"]
        drowned = (oxygen <= 0) | (surfaces & (aboard == 0))
        surfaces = surfaces & (aboard != 0)
        full = surfaces & (aboard == CREW)
        bonus = torch.where(full, oxygen * SIZE // OXYGEN, 0)
        aboard = torch.where(full, 0, aboard) - surfaces.long()
        oxygen = torch.where(surfaces, OXYGEN, oxygen - below.long())
        state = {
            "x": x,
            "y": y,
            "heading": heading,
            "cooling": (cooling - 1).clamp(min=0),
            "oxygen": oxygen,
            "aboard": aboard,
            "up": ~below & (state["up"] | surfaces),
            "spawn_timer": (spawn_timer - 1).clamp(min=0),
            "diver_timer": (diver_timer - 1).clamp(min=0),
            "shots": shots,
            "divers": divers,
            "enemies": enemies,
            **self._ramped(state, surfaces),
        }
        return state, (hits + run_into + bonus).float(), caught | drowned

    def _enemy_comes(
        self, state: dict[str, Tensor], noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """An enemy comes in, unless others come towards it in its row."""
        due = state["spawn_timer"] == 0
        start, row, heading = _entrance(noise[0], noise[2])
        others, rows, headings, *_ = state["enemies"].unbind()
        towards = (others >= 0) & (rows == row) & (headings != heading)
        timer = state["move_speed"].to(torch.int8)
        sub = (noise[1] < 1 / 3).to(torch.int8)
        new = torch.stack(
            (
                start,
                row,
                heading,
                timer,
                sub,
                torch.full_like(start, RELOAD),
                torch.full_like(start, OUTSIDE),
            )
        )
        enemies = _joined(state["enemies"], due & ~towards.any(0), new)
        return enemies, torch.where(due, state["spawn_speed"], state["spawn_timer"])

    def _diver_comes(
        self, state: dict[str, Tensor], noise: Tensor
    ) -> tuple[Tensor, Tensor]:
        """A diver comes in."""
        due = state["diver_timer"] == 0
        start, row, heading = _entrance(noise[0], noise[1])
        timer = torch.full_like(start, DIVER_MOVE)
        new = torch.stack((start, row, heading, timer))
        divers = _joined(state["divers"], due, new)
        return divers, torch.where(due, DIVER_SPAWN, state["diver_timer"])

    def _shots_move(
        self, shots: Tensor, enemies: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each shot moves, and hits one enemy: a fish first, and the oldest first."""
        x, y, heading = shots.unbind()
        x = _on_board(x + heading)
        enemy_x, enemy_y, _, _, sub, *_ = enemies.unbind()
        oldest = torch.arange(1, 1 + ENEMIES, dtype=torch.int8, device=self.device)
        order = oldest[:, None] + ENEMIES * (1 - sub)
        hit, spent = _hits(x, y, enemy_x, enemy_y, enemy_x >= 0, order)
        shots = torch.stack((x.masked_fill(spent, OUTSIDE), y, heading))
        rest = enemy_x.masked_fill(hit, OUTSIDE)[None]
        return shots, torch.cat((rest, enemies[1:])), hit.sum(0)

    def _divers_move(
        self, divers: Tensor, x: Tensor, y: Tensor, aboard: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Divers move, and come aboard, the newest first, while there is room."""
        diver_x, diver_y, heading, timer = divers.unbind()
        moves = timer == 0
        new_x = torch.where(moves, _on_board(diver_x + heading), diver_x)
        met = ((diver_x == x) | (new_x == x)) & (diver_y == y)
        taken = met & (met.cumsum(0) <= CREW - aboard)
        new_x = new_x.masked_fill(taken, OUTSIDE)
        timer = torch.where(moves, DIVER_MOVE, timer - 1).clamp(min=0)
        return torch.stack((new_x, diver_y, heading, timer)), taken.sum(0)

    def _enemies_move(
        self, shots: Tensor, enemies: Tensor, at_x: Tensor, at_y: Tensor, speed: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Enemies move, into shots too, and fire; also who hit the player."""
        x, y, heading, timer, sub, reload, torpedo = enemies.unbind()
        alive, level = x >= 0, y == at_y
        met = level & (x == at_x)
        moves = alive & (timer == 0)
        timer = torch.where(moves, speed.to(torch.int8), timer - alive.to(torch.int8))
        x = torch.where(moves, x + heading, x)
        met = met | (level & (x == at_x))

        fires = alive & (sub == 1) & (reload == 0)
        reload = torch.where(fires, RELOAD, (reload - 1).clamp(min=0))
        torpedo = torch.where(fires, x, torpedo)
        met = met | (level & (torpedo == at_x))
        torpedo = _on_board(torpedo + heading)
        met = met | (level & (torpedo == at_x))

        # A shot is met by one enemy: a submarine first, and the newest first.
        x = _on_board(x)
        shot_x, shot_y, shot_heading = shots.unbind()
        may = moves & (x >= 0) & ~(level & (x == at_x))
        newest = torch.arange(ENEMIES, 0, -1, dtype=torch.int8, device=self.device)
        order = newest[:, None] + ENEMIES * sub
        hit, spent = _hits(shot_x, shot_y, x, y, may, order)
        shots = torch.stack((shot_x.masked_fill(spent, OUTSIDE), shot_y, shot_heading))
        x = x.masked_fill(hit, OUTSIDE)
        enemies = torch.stack((x, y, heading, timer, sub, reload, torpedo))
        return shots, enemies, hit.sum(0), met.any(0)

    def _ramped(self, state: dict[str, Tensor], now: Tensor) -> dict[str, Tensor]:
        """Speeds of the enemies after a step, harder where one came up `now`."""
        names = ("spawn_speed", "move_speed", "ramps")
        spawn, move, ramps = (state[name] for name in names)
        if self.difficulty_ramping:
            now = now & ((spawn > FASTEST_SPAWN) | (move > FASTEST_MOVE))
            faster = now & (ramps % 2 == 1)
            move = (move - faster.long()).clamp(min=FASTEST_MOVE)
            spawn = (spawn - now.long()).clamp(min=FASTEST_SPAWN)
            ramps = ramps + now.long()
        return dict(zip(names, (spawn, move, ramps), strict=True))

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """The sea and its gauges, bool `[N, 10, 10, 10]`."""
        names = ("x", "y", "heading", "shots", "divers", "enemies")
        # The number of a cell and channel takes 16 bits.
        x, y, heading, shots, divers, enemies = (
            state[name].to(torch.int16) for name in names
        )
        shot_x, shot_y, _ = shots.unbind()
        diver_x, diver_y, diver_heading, _ = divers.unbind()
        enemy_x, enemy_y, enemy_heading, _, sub, _, torpedo = enemies.unbind()
        columns = torch.arange(SIZE, dtype=torch.int16, device=self.device)[:, None]
        filled = columns < state["oxygen"].clamp(min=0) * SIZE // OXYGEN
        seats = (columns >= FLOOR - state["aboard"]) & (columns < FLOOR)
        return self.paint(
            (0, y, x),
            (1, y, x - heading),
            (2, shot_y, shot_x),
            (3, enemy_y, enemy_x - enemy_heading),
            (3, diver_y, diver_x - diver_heading),
            (4, enemy_y, torpedo),
            (5 + sub, enemy_y, enemy_x),
            (7, FLOOR, torch.where(filled, columns, OUTSIDE)),
            (8, FLOOR, torch.where(seats, columns, OUTSIDE)),
            (9, diver_y, diver_x),
        )


def _entrance(side: Tensor, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Column, row and heading of what comes in, int8 `[N]`, from two numbers."""
    zero = torch.zeros_like(side, dtype=torch.int8)
    to_right = side < 0.5
    start = torch.where(to_right, zero, zero + SIZE - 1)
    heading = torch.where(to_right, zero + 1, zero - 1)
    return start, 1 + (row * (FLOOR - 1)).to(torch.int8), heading


def _joined(everyone: Tensor, joins: Tensor, new: Tensor) -> Tensor:
    """A list `[A, K, N]` with the new one `[A, N]` at its front, where it joins."""
    return torch.where(
        joins, torch.cat((new[:, None], everyone[:, :-1]), dim=1), everyone
    )


def _on_board(x: Tensor) -> Tensor:
    """Columns, OUTSIDE where they are not on the board."""
    return x.masked_fill((x < 0) | (x >= SIZE), OUTSIDE)


def _hits(
    shot_x: Tensor, shot_y: Tensor, x: Tensor, y: Tensor, may: Tensor, order: Tensor
) -> tuple[Tensor, Tensor]:
    """Enemies `[K, N]` that are hit, and the shots `[2, N]` that hit them.

    Of the enemies that `may` be hit, a shot takes the one in its cell of the highest
    `order`, above 0. No two shots are ever in one cell.
    """
    met = may & (x == shot_x[:, None]) & (y == shot_y[:, None])
    rank = torch.where(met, order, 0)
    first = met & (rank == rank.amax(1, keepdim=True))
    return first.any(0), met.any(1)
