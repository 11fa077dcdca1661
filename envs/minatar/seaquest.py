"""Seaquest of MinAtar: rescue divers, shoot fish and submarines, mind the oxygen."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar.base import SIZE, MinAtarVectorEnv, State, Thing, Transition

OUTSIDE = -3  # column of what is absent; its trail is outside too
LANES = 8  # rows 1 to 8 of the board, with swimmers
FLOOR = SIZE - 1  # the row of the gauges
OXYGEN = 200
CREW = 6  # most divers aboard
SPAWN = 20  # initial steps between enemies
RAMPS = SPAWN - 1  # rises of the difficulty, each one step less
MOVE, FASTEST_MOVE = 5, 2  # steps that an enemy waits between moves
RELOAD = 10  # steps that a submarine waits between torpedoes
COOL_DOWN = 5  # steps between shots of the player
DIVER_SPAWN, DIVER_MOVE = 30, 5

# Lists of what swims, with the newest first. What falls off the end is long gone:
ENEMIES = 40  # at most one comes in each step, and leaves with its torpedo within 40
SHOTS = 2  # one in 5 steps, for at most 10
DIVERS = 2  # one in 30 steps, for 60


class SeaquestVectorEnv(MinAtarVectorEnv):
    """MinAtar's Seaquest: N seas, a reward of 1 for each enemy shot.

    Fish and submarines cross the sea, and submarines fire torpedoes. The player takes
    up to six divers aboard. Surfacing uses up one diver, refills the oxygen, and makes
    enemies come more often, and every second time also move faster; with all six aboard
    it pays a reward of up to 10, one for each cell of the oxygen gauge. The episode
    ends when something hits the player, the oxygen runs out, or the player surfaces
    without a diver.

    As in the package, a full rescue leaves the number of divers at -1: because it is
    not 0, the player may surface without a diver afterwards. All in a row swim the same
    way: enemies of the other direction enter only when they are gone.
    """

    channels = ("sub_front", "sub_back", "friendly_bullet", "trail", "enemy_bullet")
    channels += ("enemy_fish", "enemy_sub", "oxygen_guage", "diver_guage", "diver")
    actions = (base.NOTHING, base.LEFT, base.UP, base.RIGHT, base.DOWN, base.FIRE)
    noise_size = 2  # sticky action; kind, side and row of new things

    def begin(self, noise: Tensor) -> State:
        enemy = {"enemy_x": OUTSIDE, "enemy_y": 0, "enemy_heading": 0, "enemy_wait": 0}
        diver = {"diver_x": OUTSIDE, "diver_y": 0, "diver_heading": 0, "diver_wait": 0}
        return {
            **self.full(noise, x=5, y=0, heading=-1),
            **self.full(noise, cooling=0, oxygen=OXYGEN, aboard=0),
            # Whether it is still surfaced; number of rises of the difficulty.
            **self.full(noise, surfaced=1, ramps=0),
            **self.full(noise, spawn_timer=SPAWN, diver_timer=DIVER_SPAWN),
            **self.full(noise, SHOTS, shot_x=OUTSIDE, shot_y=0, shot_heading=0),
            **self.full(noise, DIVERS, **diver),
            # Of each enemy also its torpedo, which flies in the same row.
            **self.full(noise, ENEMIES, **enemy),
            **self.full(noise, ENEMIES, is_sub=0, reload=0, torpedo_x=OUTSIDE),
        }

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Spawn enemies and divers; move the player, then shots, divers, enemies."""
        side, kind, lane, *of_diver = base.choices(noise[1], 2, 3, LANES, 2, LANES)
        state = _enemy_comes(state, side, 1 + lane, (kind == 0).int())
        state = _diver_comes(state, of_diver[0], 1 + of_diver[1])
        state = _steered(state, action)
        state, shot = _shots_move(state)
        state, met, caught = _enemies_move(_divers_move(state))

        oxygen, aboard, below = state["oxygen"], state["aboard"], state["y"] > 0
        surfaces = ~below & (state["surfaced"] == 0)
        drowned = (oxygen <= 0) | (surfaces & (aboard == 0))
        surfaces = surfaces & (aboard != 0)
        full = surfaces & (aboard == CREW)
        bonus = torch.where(full, _tenths(oxygen), 0)
        ramps, surfaced = state["ramps"], state["surfaced"]
        if self.difficulty_ramping:
            ramps = (ramps + surfaces.int()).clamp(max=RAMPS)
        state = {
            **state,
            "ramps": ramps,
            "aboard": torch.where(full, 0, aboard) - surfaces.int(),
            "oxygen": torch.where(surfaces, OXYGEN, oxygen - below.int()),
            "surfaced": torch.where(below, 0, torch.where(surfaces, 1, surfaced)),
            "cooling": (state["cooling"] - 1).clamp(min=0),
            "spawn_timer": (state["spawn_timer"] - 1).clamp(min=0),
            "diver_timer": (state["diver_timer"] - 1).clamp(min=0),
        }
        return state, shot + met + bonus, caught | drowned

    def things(self, state: State) -> tuple[Thing, ...]:
        x, y = state["x"], state["y"]
        enemy_x, enemy_y = state["enemy_x"], state["enemy_y"]
        diver_x, diver_y = state["diver_x"], state["diver_y"]
        column, seat = self.numbers(0, SIZE), FLOOR - state["aboard"]
        air = _tenths(state["oxygen"].clamp(min=0))
        seats = (column >= seat) & (column < FLOOR)
        return (
            (0, y, x),
            (1, y, x - state["heading"]),
            (2, state["shot_y"], state["shot_x"]),
            (3, enemy_y, enemy_x - state["enemy_heading"]),
            (3, diver_y, diver_x - state["diver_heading"]),
            (4, enemy_y, state["torpedo_x"]),
            (5 + state["is_sub"], enemy_y, enemy_x),
            (7, FLOOR, torch.where(column < air, column, OUTSIDE)),
            (8, FLOOR, torch.where(seats, column, OUTSIDE)),
            (9, diver_y, diver_x),
        )


def _added(state: State, comes: Tensor, **values: Tensor | int) -> State:
    """The state with these values first in their lists `[K, N]`, where something
    `comes`, bool `[N]`."""
    lists = {}
    for name, value in values.items():
        old = state[name]
        is_number = not isinstance(value, Tensor)
        new = torch.full_like(old[0], value) if is_number else value.to(old.dtype)
        longer = torch.cat((new.expand(1, old.shape[1]), old[:-1]))
        lists[name] = torch.where(comes, longer, old)
    return {**state, **lists}


def _swims_in(
    state: State, kind: str, comes: Tensor, side: Tensor, row: Tensor, **more: Any
) -> State:
    """Add an enemy or a diver at one side of a row, 0 left, where it `comes`."""
    place = {"x": (SIZE - 1) * side, "y": row, "heading": 1 - 2 * side}
    place = {f"{kind}_{name}": value for name, value in place.items()}
    return _added(state, comes, **place, **more)


def _enemy_comes(state: State, side: Tensor, row: Tensor, is_sub: Tensor) -> State:
    """Add an enemy when due, unless others swim towards it in its row."""
    due, heading = state["spawn_timer"] == 0, 1 - 2 * side
    in_row = (state["enemy_x"] != OUTSIDE) & (state["enemy_y"] == row)
    against = (in_row & (state["enemy_heading"] != heading)).any(0)
    its = {"is_sub": is_sub, "reload": RELOAD, "torpedo_x": OUTSIDE}
    its["enemy_wait"] = _move_wait(state["ramps"])
    state = _swims_in(state, "enemy", due & ~against, side, row, **its)
    next_due = (SPAWN - state["ramps"]).clamp(min=1)
    return {**state, "spawn_timer": torch.where(due, next_due, state["spawn_timer"])}


def _diver_comes(state: State, side: Tensor, row: Tensor) -> State:
    """Add a diver when due."""
    due = state["diver_timer"] == 0
    state = _swims_in(state, "diver", due, side, row, diver_wait=DIVER_MOVE)
    return {**state, "diver_timer": torch.where(due, DIVER_SPAWN, state["diver_timer"])}


def _steered(state: State, action: Tensor) -> State:
    """Let the player fire or move."""
    right, down = base.across(action), base.down(action)
    fires = (action == base.FIRE) & (state["cooling"] == 0)
    x, y, heading = state["x"], state["y"], state["heading"]
    state = _added(state, fires, shot_x=x, shot_y=y, shot_heading=heading)
    return {
        **state,
        "cooling": torch.where(fires, COOL_DOWN, state["cooling"]),
        "x": (x + right).clamp(0, SIZE - 1),
        "y": (y + down).clamp(0, FLOOR - 1),
        "heading": torch.where(right == 0, heading, right),
    }


def _shots_move(state: State) -> tuple[State, Tensor]:
    """Move shots; each hits one enemy, fish first, oldest first; the number of hits."""
    shot_x = _moved(state["shot_x"], state["shot_heading"])
    enemy_x, is_sub = state["enemy_x"], state["is_sub"]
    age = torch.arange(ENEMIES, dtype=torch.int32, device=enemy_x.device)[:, None]
    rank = (2 - is_sub.int()) * ENEMIES + age
    hits, columns = torch.zeros_like(state["x"]), []
    for x, y in zip(shot_x, state["shot_y"], strict=True):
        there = (enemy_x == x) & (state["enemy_y"] == y) & (x != OUTSIDE)
        ranks = torch.where(there, rank, -1)
        hit = there & (ranks == ranks.amax(0))
        enemy_x = torch.where(hit, OUTSIDE, enemy_x)
        columns.append(torch.where(hit.any(0), OUTSIDE, x))
        hits = hits + hit.any(0)
    return {**state, "shot_x": torch.stack(columns), "enemy_x": enemy_x}, hits


def _divers_move(state: State) -> State:
    """Move divers, and take them aboard, newest first, while there is room."""
    x, wait, aboard = state["diver_x"], state["diver_wait"], state["aboard"]
    moved = torch.where(wait == 0, _moved(x, state["diver_heading"]), x)
    near = ((x == state["x"]) | (moved == state["x"])) & (
        state["diver_y"] == state["y"]
    )
    columns = []
    for column, met in zip(moved, near, strict=True):
        taken = met & (aboard < CREW)
        columns.append(torch.where(taken, OUTSIDE, column))
        aboard = aboard + taken
    return {
        **state,
        "diver_x": torch.stack(columns),
        "diver_wait": torch.where(wait == 0, DIVER_MOVE, wait - 1),
        "aboard": aboard,
    }


def _enemies_move(state: State) -> tuple[State, Tensor, Tensor]:
    """Move enemies, also into shots, and torpedoes; the number of enemies hit, and
    whether the player is."""
    x, heading, wait = state["enemy_x"], state["enemy_heading"], state["enemy_wait"]
    moves = wait == 0
    moved = torch.where(moves, _moved(x, heading), x)
    fires = (state["is_sub"] != 0) & (x != OUTSIDE) & (state["reload"] == 0)
    torpedo_x = torch.where(fires, moved, state["torpedo_x"])
    next_x = _moved(torpedo_x, heading)
    at_player = [column == state["x"] for column in (x, moved, torpedo_x, next_x)]
    here = state["enemy_y"] == state["y"]
    caught = (here & torch.stack(at_player).any(0)).any(0)

    # One enemy that enters its cell meets a shot: a submarine first.
    enters = moves & ~(here & (moved == state["x"]))
    hits, shot_x = torch.zeros_like(state["x"]), []
    for column, row in zip(state["shot_x"], state["shot_y"], strict=True):
        meets = enters & (moved == column) & (state["enemy_y"] == row)
        meets = meets & (column != OUTSIDE)
        subs = meets & (state["is_sub"] != 0)
        hit = torch.where(subs.any(0), subs, meets)
        moved = torch.where(hit, OUTSIDE, moved)
        shot_x.append(torch.where(hit.any(0), OUTSIDE, column))
        hits = hits + hit.any(0)
    state = {
        **state,
        "shot_x": torch.stack(shot_x),
        "enemy_x": moved,
        "enemy_wait": torch.where(moves, _move_wait(state["ramps"]), wait - 1),
        "reload": torch.where(state["reload"] == 0, RELOAD, state["reload"] - 1),
        "torpedo_x": next_x,
    }
    return state, hits, caught


def _moved(x: Tensor, heading: Tensor) -> Tensor:
    """Columns after a move, `OUTSIDE` beyond the board."""
    moved = x + heading
    on_board = (x != OUTSIDE) & (moved >= 0) & (moved < SIZE)
    return torch.where(on_board, moved, OUTSIDE)


def _move_wait(ramps: Tensor) -> Tensor:
    """Steps that an enemy waits: one less for every second rise of the difficulty."""
    return (MOVE - (ramps >> 1)).clamp(min=FASTEST_MOVE)


def _tenths(oxygen: Tensor) -> Tensor:
    """Tenths of the oxygen that are left, rounded down."""
    return (oxygen / (OXYGEN // SIZE)).floor().int()
