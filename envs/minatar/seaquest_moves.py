"""Spawns and moves of enemies, divers and shots in Seaquest."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import seaquest_fleet as fleet
from yieldrl.envs.minatar.painting import SIZE
from yieldrl.envs.minatar.seaquest_fleet import NOW, cells, columns, in_lane, place

OUTSIDE = -3  # column of absent things; its neighbours are outside too
CREW = 6  # most divers aboard
SPAWN = 20  # initial steps between enemies
RAMPS = SPAWN - 1  # rises of the difficulty, each one step less
MOVE, FASTEST_MOVE = 5, 2  # steps that an enemy waits between moves
RELOAD = 11  # steps between torpedoes of a submarine
PHASE_BITS = 4  # bits of the clock value at which a submarine fires
DIVER_SPAWN, DIVER_MOVE = 30, 5

# Two are enough: a diver is gone after 60 steps.
DIVERS = 2

State = dict[str, Tensor]


def move_speed(ramps: Tensor) -> Tensor:
    """Steps that an enemy waits: one less for every second rise of the difficulty."""
    return (MOVE - (ramps >> 1)).clamp(min=FASTEST_MOVE)


def enemy_comes(state: State, side: Tensor, lane: Tensor, is_sub: Tensor) -> State:
    """Add an enemy when due, unless others swim towards it in its row.

    At most one comes in each step, so no two that swim the same way, in all rows, have
    the same place in their rows. So the phase of a submarine, the clock at which it
    fires, is stored by place, bit by bit, for each of the two directions.
    """
    due, fish, subs = state["spawn_timer"] == 0, state["fish"], state["subs"]
    ways, clock, side = state["ways"], state["clock"], side.long()
    start = place((SIZE - 1) * side, move_speed(state["ramps"]))
    lane = lane.long()
    others = in_lane(lane, fish | subs).sum(0)
    comes = due & ((others == 0) | ((ways >> lane) & 1 == side))
    new = torch.where(comes, start, 0)
    way = (ways & ~(1 << lane)) | side << lane
    joins = in_lane(lane, new)
    sub = joins & (-is_sub.long())
    # Its next torpedo is due after RELOAD - 1 steps.
    phase = (torch.where(clock == 0, RELOAD, clock) - 1).long()
    news = torch.where(_sides(lane) == side, new, 0) & _in_bits(phase)
    next_due = (SPAWN - state["ramps"]).clamp(min=1)
    return {
        **state,
        "fish": fish | (joins ^ sub),
        "subs": subs | sub,
        "phases": state["phases"] | news,
        "ways": torch.where(comes, way, ways),
        "spawn_timer": torch.where(due, next_due, state["spawn_timer"]),
    }


def _sides(like: Tensor) -> Tensor:
    """The sides that things come from, `[2, 1, 1]`: left (0), right (1)."""
    return torch.arange(2, device=like.device)[:, None, None]


def _in_bits(phase: Tensor) -> Tensor:
    """The bits of a phase, int64, as masks `[4, N]`."""
    bits = torch.arange(PHASE_BITS, device=phase.device)[:, None]
    return -((phase >> bits) & 1)


def diver_comes(state: State, side: Tensor, lane: Tensor) -> State:
    """Add a diver when due; the newest is first in the list."""
    due, divers = state["diver_timer"] == 0, state["divers"]
    both = torch.stack(((1 + lane) * (1 - 2 * side), divers[0]))
    return {
        **state,
        "divers": torch.where(due, both, divers),
        "diver_timer": torch.where(due, DIVER_SPAWN, state["diver_timer"]),
    }


def diver_columns(divers: Tensor, timer: Tensor) -> Tensor:
    """Columns of the divers, `[2, N]`, computed from when the next one is due."""
    number = torch.arange(DIVERS, dtype=torch.int32, device=timer.device)[:, None]
    age = (1 + number) * DIVER_SPAWN - timer
    moves = (age / (DIVER_MOVE + 1)).int()
    x = torch.where(divers > 0, moves, SIZE - 1 - moves)
    return torch.where((divers != 0) & (moves < SIZE), x, OUTSIDE)


def divers_move(state: State) -> State:
    """Move divers, and take them aboard, newest first, while there is room."""
    divers, timer, aboard = state["divers"], state["diver_timer"], state["aboard"]
    near = torch.zeros_like(divers, dtype=torch.bool)
    for soon in (timer, timer - 1):
        near = near | (diver_columns(divers, soon) == state["x"])
    met = (near & (divers.abs() == state["y"])).int()
    before = torch.stack((torch.zeros_like(aboard), met[0]))
    taken = met * (before < CREW - aboard)
    return {
        **state,
        "divers": torch.where(taken != 0, 0, divers),
        "aboard": aboard + taken.sum(0).int(),
    }


def shots_move(state: State) -> tuple[State, Tensor]:
    """Move shots; each hits one enemy, fish first, oldest first; a bit per hit."""
    shots, fish, subs = fleet.fly(state["shots"]), state["fish"], state["subs"]
    at = cells(fleet.flying(shots))  # no two shots are in one column
    fish_there = fish & at
    fish_hit = columns(fish_there)
    subs_there = subs & at & ~cells(fish_hit)
    hit = fish_hit | columns(subs_there)
    state = {
        **state,
        "fish": fish ^ fleet.oldest(fish_there),
        "subs": subs ^ fleet.oldest(subs_there),
        "shots": shots & ~cells(hit),
        "high_shots": fleet.fly(state["high_shots"]),
    }
    return state, hit


def enemies_move(state: State) -> tuple[State, Tensor, Tensor]:
    """Move enemies, also into shots, and fire; bits of hits, and player hits."""
    fish, subs, shots = state["fish"], state["subs"], state["shots"]
    phases, left = state["phases"], fleet.to_left(state["ways"])
    speed = move_speed(state["ramps"]).long()
    here = fleet.in_row(state["y"], place(state["x"]))

    # One enemy that enters its cell meets a shot: a submarine first.
    seen = fleet.flying(shots) & ~here  # in the player's cell it hits the player
    sub = fleet.ahead(subs & NOW, left) & seen
    a_fish = fleet.ahead(fish & NOW, left) & seen & ~sub
    hit = sub | a_fish

    other, *more = (phases ^ _in_bits(state["clock"].long())).unbind(1)
    for bits in more:
        other = other | bits
    to_the_right, to_the_left = fleet.BOARD & ~other
    fires = subs & (to_the_right ^ (to_the_right ^ to_the_left) & left)
    moving = fires & NOW
    fired = columns(fires ^ moving) | fleet.ahead(moving, left)
    torpedoes = state["torpedoes"] | fleet.launch(fired, left)
    before = fish | subs | torpedoes
    subs, fish = fleet.swim(subs, left, speed), fleet.swim(fish, left, speed)
    torpedoes = fleet.fly(torpedoes)
    after = fish | subs | torpedoes
    state = {
        **state,
        "shots": shots & ~cells(hit),
        "fish": (fish ^ a_fish << speed),
        "subs": (subs ^ sub << speed),
        "phases": fleet.swim(phases, -_sides(left), speed),
        "torpedoes": torpedoes,
    }
    return state, hit, (before | after) & cells(here)
