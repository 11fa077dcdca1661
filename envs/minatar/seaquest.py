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
    State,
    Transition,
)
from yieldrl.envs.minatar.numbers import choices
from yieldrl.envs.minatar.painting import SIZE, settled, unpack
from yieldrl.envs.minatar.seaquest_board import FLOOR, OXYGEN, tenths, words
from yieldrl.envs.minatar.seaquest_fleet import LANES, count, in_row, launch, place
from yieldrl.envs.minatar.seaquest_moves import (
    CREW,
    DIVER_SPAWN,
    DIVERS,
    FASTEST_SPAWN,
    PHASE_BITS,
    RELOAD,
    SPAWN,
    diver_comes,
    divers_move,
    enemies_move,
    enemy_comes,
    shots_move,
)

COOL_DOWN = 5  # steps from one shot to the next


class SeaquestVectorEnv(MinAtarVectorEnv):
    """MinAtar's Seaquest: N seas, a reward of 1 for each enemy shot.

    Fish and submarines cross the sea, and submarines fire torpedoes. Divers can be
    taken aboard, up to six. Coming up takes at least one of them, fills the oxygen and
    makes the enemies come more often, and every other time also move faster; with all
    six aboard it pays a reward of up to 10, one for each cell of the oxygen gauge.
    The episode ends when something hits the submarine, the oxygen runs out, or when one
    comes up without a diver.

    As in the package, a full rescue leaves the number of divers at -1: not being 0,
    it lets one come up without a diver afterwards.

    Enemies are bits, see `seaquest_fleet`. All in a row swim the same way: no other one
    comes in before they are gone.

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

    def begin(self, noise: Tensor) -> State:
        """An empty sea, and the submarine at its surface with full tanks."""
        empty = self.full(noise, 0, LANES).long()
        return {
            "x": self.full(noise, 5),
            "y": self.full(noise, 0),
            "heading": self.full(noise, -1),
            "cooling": self.full(noise, 0),
            "oxygen": self.full(noise, OXYGEN),
            "aboard": self.full(noise, 0),
            "up": self.full(noise, 1),  # whether it came up and did not dive since
            "ramps": self.full(noise, 0),  # how often it became harder
            "spawn_timer": self.full(noise, SPAWN),
            "diver_timer": self.full(noise, DIVER_SPAWN),
            "clock": self.full(noise, 0),  # modulo RELOAD
            # The row of each, below 0 if it swims to the left, 0 for none.
            "divers": self.full(noise, 0, DIVERS),
            "ways": empty[0],  # a bit for each lane in which one swims to the left
            "fish": empty,
            "subs": empty,
            "phases": empty[0].expand(2, PHASE_BITS, -1),  # see `enemy_comes`
            "torpedoes": empty,
            "shots": empty,
            "high_shots": empty[0],  # at the surface
        }

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Enemies and divers come in; the player moves, then shots, divers, enemies."""
        side, kind, lane, *rest = choices(noise[1], 2, 3, LANES, 2, LANES)
        state = enemy_comes(state, side, lane, kind == 0)
        state = self._steered(diver_comes(state, *rest), action)
        state, shot = shots_move(state)
        state, met, touched = enemies_move(divers_move(state))
        hits = count(settled(shot | met))  # no two of them are of one shot
        caught = settled(touched).sum(0) != 0

        oxygen, aboard, below = state["oxygen"], state["aboard"], state["y"] > 0
        surfaces = ~below & (state["up"] == 0)
        drowned = (oxygen <= 0) | (surfaces & (aboard == 0))
        surfaces = surfaces & (aboard != 0)
        full = surfaces & (aboard == CREW)
        bonus = torch.where(full, tenths(oxygen), 0)
        clock, ramps = state["clock"] + 1, state["ramps"]
        if self.difficulty_ramping:
            ramps = (ramps + surfaces.int()).clamp(max=SPAWN - FASTEST_SPAWN)
        state = {
            **state,
            "ramps": ramps,
            "aboard": torch.where(full, 0, aboard) - surfaces.int(),
            "oxygen": torch.where(surfaces, OXYGEN, oxygen - below.int()),
            "up": torch.where(below, 0, torch.where(surfaces, 1, state["up"])),
            "cooling": (state["cooling"] - 1).clamp(min=0),
            "spawn_timer": (state["spawn_timer"] - 1).clamp(min=0),
            "diver_timer": (state["diver_timer"] - 1).clamp(min=0),
            "clock": torch.where(clock == RELOAD, 0, clock),
        }
        return state, hits + bonus, caught | drowned

    def _steered(self, state: State, action: Tensor) -> State:
        """The submarine fires or moves."""
        right = (action == RIGHT).int() - (action == LEFT).int()
        down = (action == DOWN).int() - (action == UP).int()
        fires = (action == FIRE) & (state["cooling"] == 0)
        x, y, heading = state["x"], state["y"], state["heading"]
        shot = launch(place(x), -(heading < 0).long())
        shot = torch.where(fires, shot, 0)
        return {
            **state,
            "shots": state["shots"] | in_row(y, shot),
            "high_shots": state["high_shots"] | torch.where(y == 0, shot, 0),
            "cooling": torch.where(fires, COOL_DOWN, state["cooling"]),
            "x": (x + right).clamp(0, SIZE - 1),
            "y": (y + down).clamp(0, FLOOR - 1),
            "heading": torch.where(right == 0, heading, right),
        }

    def observe(self, state: State) -> Tensor:
        """The sea and its gauges, bool `[N, 10, 10, 10]`."""
        return unpack(words(state), len(self.channels))
