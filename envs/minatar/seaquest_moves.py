"""How shots, divers and enemies come and move in Seaquest."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.painting import SIZE
from yieldrl.envs.minatar.shoals import (
    BOARD,
    CELL,
    COLUMN,
    NOW,
    ahead,
    columns,
    in_lane,
    of_lane,
    oldest,
    spot,
    swim,
)

OUTSIDE = -3  # the column of what is not there: none next to it is on the board either
CREW = 6  # divers that fit in
DIVER_MOVE = 5
LANES = SIZE - 2  # rows 1 to 8, where the others swim
PHASE_BITS = 4  # of the number that says when a submarine fires

State = dict[str, Tensor]


def entrance(side: Tensor, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Column, row and heading of what comes in, int32 `[N]`, from two numbers."""
    to_right = (side < 0.5).int()
    return (SIZE - 1) * (1 - to_right), 1 + (row * LANES).int(), 2 * to_right - 1


def joined(everyone: Tensor, joins: Tensor, new: Tensor) -> Tensor:
    """A list `[A, 2, N]` with the new one `[A, N]` at its front, where it joins."""
    return torch.where(joins, torch.stack((new, everyone[:, 0]), dim=1), everyone)


def shots_move(state: State) -> tuple[State, Tensor]:
    """Each shot hits one enemy: a fish first, and the oldest first. Also how many."""
    fish, subs, (x, y, heading) = state["fish"], state["subs"], state["shots"]
    x = _on_board(x + heading)
    cell = CELL * spot(x)  # no two shots are in one
    a_fish = oldest(of_lane(y, fish) & cell)
    a_sub = torch.where(a_fish == 0, oldest(of_lane(y, subs) & cell), 0)
    hit = (a_fish | a_sub) != 0
    state = {
        **state,
        "fish": fish ^ in_lane(y, a_fish).sum(1),
        "subs": subs ^ in_lane(y, a_sub).sum(1),
        "shots": torch.stack((torch.where(hit, OUTSIDE, x), y, heading)),
    }
    return state, hit.sum(0, dtype=torch.int32)


def divers_move(state: State) -> State:
    """Divers move, and come aboard, the newest first, while there is room."""
    x, y, heading, timer = state["divers"]
    moves = timer == 0
    new_x = torch.where(moves, _on_board(x + heading), x)
    at_x, at_y, aboard = state["x"], state["y"], state["aboard"]
    met = (((x == at_x) | (new_x == at_x)) & (y == at_y)).int()
    before = torch.stack((torch.zeros_like(aboard), met[0]))
    taken = met * (before < CREW - aboard)
    new_x = torch.where(taken != 0, OUTSIDE, new_x)
    timer = torch.where(moves, DIVER_MOVE, timer - 1).clamp(min=0)
    divers = torch.stack((new_x, y, heading, timer))
    return {**state, "divers": divers, "aboard": aboard + taken.sum(0).int()}


def enemies_move(state: State) -> tuple[State, Tensor, Tensor]:
    """Enemies move, into shots too, and fire; how many, and whether we, were hit."""
    fish, subs, phases, torpedoes = (
        state[name] for name in ("fish", "subs", "phases", "torpedoes")
    )
    way, speed, at = state["way"], state["move_speed"], state["y"]
    here, (x, y, heading) = spot(state["x"]), state["shots"]

    # A shot is met by one enemy, which enters its cell: a submarine first.
    shots, ways = spot(x), of_lane(y, way)
    shots = torch.where((y == at) & (x == state["x"]), 0, shots)  # it met us instead
    sub = ahead(of_lane(y, subs) & NOW, ways) & shots
    a_fish = torch.where(sub == 0, ahead(of_lane(y, fish) & NOW, ways) & shots, 0)
    hit = (sub | a_fish) != 0

    fires = subs
    for i in range(PHASE_BITS):
        due = -((state["clock"] >> i) & 1).long()  # all bits of it set, or none
        fires = fires & ~(phases[i] ^ due)
    fired = columns(swim(fires, way, speed))
    right = torpedoes[0] | torch.where(way > 0, fired, 0)
    left = torpedoes[1] | torch.where(way > 0, 0, fired)
    torpedoes = torch.stack(((right << COLUMN) & BOARD, left >> COLUMN))
    before = of_lane(at, fish | subs | right | left)
    subs, fish = swim(subs, way, speed), swim(fish, way, speed)
    after = of_lane(at, fish | subs | torpedoes[0] | torpedoes[1])

    subs = subs ^ in_lane(y, sub << speed).sum(1)
    state = {
        **state,
        "shots": torch.stack((torch.where(hit, OUTSIDE, x), y, heading)),
        "fish": fish ^ in_lane(y, a_fish << speed).sum(1),
        "subs": subs,
        "phases": swim(phases, way, speed) & subs,
        "torpedoes": torpedoes,
    }
    caught = ((before | after) & (CELL * here)) != 0
    return state, hit.sum(0, dtype=torch.int32), caught


def _on_board(x: Tensor) -> Tensor:
    """Columns, OUTSIDE where they are not on the board."""
    return torch.where((x < 0) | (x >= SIZE), OUTSIDE, x)
