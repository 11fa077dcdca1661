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
    UP,
    MinAtarVectorEnv,
    choices,
    total,
)
from yieldrl.envs.minatar.painting import SIZE, unpack
from yieldrl.envs.minatar.seaquest_board import FLOOR, OXYGEN, words
from yieldrl.envs.minatar.seaquest_moves import (
    CREW,
    DIVER_MOVE,
    LANES,
    OUTSIDE,
    PHASE_BITS,
    divers_move,
    enemies_move,
    entrance,
    joined,
    shots_move,
)
from yieldrl.envs.minatar.shoals import in_lane, launch, spot

COOL_DOWN = 5  # steps from one shot to the next
SPAWN, FASTEST_SPAWN = 20, 1  # steps from one enemy to the next, at first and at last
MOVE, FASTEST_MOVE = 5, 2  # steps that an enemy waits between its moves
DIVER_SPAWN = 30
RELOAD = 11  # steps from one torpedo of a submarine to the next

# No diver is ever lost for want of room, as one is gone after 60 steps. The first in
# the list is the newer one.
DIVERS = 2


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

    Enemies are bits, see `shoals`. All in a row swim the same way: no other one comes
    in before they are gone.

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
    noise_size = 2  # whether the action sticks; what comes in from where

    def begin(self, noise: Tensor) -> dict[str, Tensor]:
        """An empty sea, and the submarine at its surface with full tanks."""
        nobody = self.full(noise, 0, LANES).long()
        return {
            "x": self.full(noise, 5),
            "y": self.full(noise, 0),
            "heading": self.full(noise, -1),
            "cooling": self.full(noise, 0),
            "oxygen": self.full(noise, OXYGEN),
            "aboard": self.full(noise, 0),
            "up": self.full(noise, 1),  # whether it came up and did not dive since
            "spawn_speed": self.full(noise, SPAWN),
            "spawn_timer": self.full(noise, SPAWN),
            "diver_timer": self.full(noise, DIVER_SPAWN),
            "move_speed": self.full(noise, MOVE),
            "ramps": self.full(noise, 0),
            "clock": self.full(noise, 0),  # modulo RELOAD
            "divers": self.full(noise, OUTSIDE, 4, DIVERS),  # x, y, heading, timer
            "way": self.full(noise, 1, LANES),  # the heading in each lane
            "fish": nobody,
            "subs": nobody,
            "phases": nobody[:2].expand(PHASE_BITS, -1, -1),  # see `_enemy_comes`
            "torpedoes": nobody,
            "shots": self.full(noise, 0, 1 + LANES).long(),  # at the surface too
        }

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Enemies and divers come in; the player moves, then shots, divers, enemies."""
        side, kind, lane, *rest = choices(noise[1], 2, 3, LANES, 2, LANES)
        state = {**state, **self._enemy_comes(state, side, lane, kind == 0)}
        state = {**state, **self._diver_comes(state, *rest)}
        state = {**state, **self._steered(state, action)}
        state, hits = shots_move(state)
        state, run_into, caught = enemies_move(divers_move(state))

        oxygen, aboard, below = state["oxygen"], state["aboard"], state["y"] > 0
        surfaces = ~below & (state["up"] == 0)
        drowned = (oxygen <= 0) | (surfaces & (aboard == 0))
        surfaces = surfaces & (aboard != 0)
        full = surfaces & (aboard == CREW)
        bonus = torch.where(full, (oxygen * SIZE) // OXYGEN, 0)
        clock = state["clock"] + 1
        state = {
            **state,
            **self._ramped(state, surfaces),
            "aboard": torch.where(full, 0, aboard) - surfaces.int(),
            "oxygen": torch.where(surfaces, OXYGEN, oxygen - below.int()),
            "up": torch.where(below, 0, torch.where(surfaces, 1, state["up"])),
            "cooling": (state["cooling"] - 1).clamp(min=0),
            "spawn_timer": (state["spawn_timer"] - 1).clamp(min=0),
            "diver_timer": (state["diver_timer"] - 1).clamp(min=0),
            "clock": torch.where(clock == RELOAD, 0, clock),
        }
        return state, hits + run_into + bonus, caught | drowned

    def _enemy_comes(
        self, state: dict[str, Tensor], side: Tensor, lane: Tensor, is_sub: Tensor
    ) -> dict[str, Tensor]:
        """An enemy comes in, unless others come towards it in its row.

        At most one comes in each step, so of all in all rows no two that swim the same
        way are in the same place of their rows. So the phase of a submarine, the clock
        at which it fires, is kept by its place: bit by bit, for those who swim to the
        right and for those who swim to the left.
        """
        due = state["spawn_timer"] == 0
        start, row, heading = entrance(side, lane)
        fish, subs, way = state["fish"], state["subs"], state["way"]
        others = in_lane(row, fish | subs).sum(0)
        comes = due & ((others == 0) | (total(in_lane(row, way)) == heading))
        new = torch.where(comes, spot(start, state["move_speed"]), 0)
        joins = in_lane(row, new)
        sub = torch.where(is_sub, joins, 0)
        # Its next torpedo is due after RELOAD - 1 steps.
        phase = torch.where(state["clock"] == 0, RELOAD, state["clock"]) - 1
        bits = torch.arange(PHASE_BITS, dtype=torch.int32, device=self.device)
        phase = (phase >> bits[:, None, None]) & 1
        to_right = torch.where(heading > 0, new, 0)
        return {
            "fish": fish | (joins ^ sub),
            "subs": subs | sub,
            "phases": state["phases"] | torch.stack((to_right, new ^ to_right)) * phase,
            "way": torch.where(joins != 0, heading, way),
            "spawn_timer": torch.where(due, state["spawn_speed"], state["spawn_timer"]),
        }

    def _diver_comes(
        self, state: dict[str, Tensor], side: Tensor, lane: Tensor
    ) -> dict[str, Tensor]:
        """A diver comes in."""
        due = state["diver_timer"] == 0
        start, row, heading = entrance(side, lane)
        timer = torch.full_like(start, DIVER_MOVE)
        new = torch.stack((start, row, heading, timer))
        return {
            "divers": joined(state["divers"], due, new),
            "diver_timer": torch.where(due, DIVER_SPAWN, state["diver_timer"]),
        }

    def _steered(self, state: dict[str, Tensor], action: Tensor) -> dict[str, Tensor]:
        """The submarine fires or moves."""
        right = (action == RIGHT).int() - (action == LEFT).int()
        down = (action == DOWN).int() - (action == UP).int()
        fires = (action == FIRE) & (state["cooling"] == 0)
        shot = launch(spot(state["x"]), state["heading"])
        shot = in_lane(state["y"], torch.where(fires, shot, 0), first=0)
        return {
            "shots": state["shots"] | shot,
            "cooling": torch.where(fires, COOL_DOWN, state["cooling"]),
            "x": (state["x"] + right).clamp(0, SIZE - 1),
            "y": (state["y"] + down).clamp(0, FLOOR - 1),
            "heading": torch.where(right == 0, state["heading"], right),
        }

    def _ramped(self, state: dict[str, Tensor], now: Tensor) -> dict[str, Tensor]:
        """Speeds of the enemies after a step, harder where one came up `now`."""
        names = ("spawn_speed", "move_speed", "ramps")
        spawn, move, ramps = (state[name] for name in names)
        if self.difficulty_ramping:
            now = now & ((spawn > FASTEST_SPAWN) | (move > FASTEST_MOVE))
            faster = now & (ramps & 1 == 1)
            move = (move - faster.int()).clamp(min=FASTEST_MOVE)
            spawn = (spawn - now.int()).clamp(min=FASTEST_SPAWN)
            ramps = ramps + now.int()
        return dict(zip(names, (spawn, move, ramps), strict=True))

    def observe(self, state: dict[str, Tensor]) -> Tensor:
        """The sea and its gauges, bool `[N, 10, 10, 10]`."""
        return unpack(words(state), len(self.channels))
