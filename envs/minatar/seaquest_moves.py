"""How shots, divers and enemies come and move in Seaquest."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.minatar.painting import SIZE
from yieldrl.envs.minatar.shoals import (
    BOARD,
    NOW,
    ahead,
    cells,
    columns,
    count,
    fly,
    in_lane,
    launch,
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


def entrance(side: Tensor, lane: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Column, row and heading of what comes in from the left (0) or the right (1)."""
    return (SIZE - 1) * side, 1 + lane, 1 - 2 * side


def joined(everyone: Tensor, joins: Tensor, new: Tensor) -> Tensor:
    """A list `[A, 2, N]` with the new one `[A, N]` at its front, where it joins."""
    return torch.where(joins, torch.stack((new, everyone[:, 0]), dim=1), everyone)


def shots_move(state: State) -> tuple[State, Tensor]:
    """Each shot hits one enemy: a fish first, and the oldest first. Also how many."""
    shots, fish, subs = fly(state["shots"]), state["fish"], state["subs"]
    lanes = shots[1:]
    at = cells(columns(lanes))  # no two shots are in one
    a_fish = oldest(fish & at)
    at = at & ~cells(columns(a_fish))
    a_sub = oldest(subs & at)
    hit = columns(a_fish | a_sub)
    state = {
        **state,
        "fish": fish ^ a_fish,
        "subs": subs ^ a_sub,
        "shots": torch.cat((shots[:1], lanes & ~cells(hit))),
    }
    return state, count(hit)


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
    fish, subs, phases = (state[name] for name in ("fish", "subs", "phases"))
    shots, way, speed = state["shots"], state["way"], state["move_speed"]
    here = in_lane(state["y"], spot(state["x"]))

    # A shot is met by one enemy, which enters its cell: a submarine first.
    seen = columns(shots[1:]) & ~here  # at our place it met us instead
    sub = ahead(subs & NOW, way) & seen
    a_fish = ahead(fish & NOW, way) & seen & ~sub
    hit = sub | a_fish

    due = torch.full_like(phases[0], BOARD)
    for i in range(PHASE_BITS):
        now = -((state["clock"] >> i) & 1).long()  # all bits of it set, or none
        due = due & ~(phases[i] ^ now)
    fires = subs & torch.where(way > 0, due[0], due[1])
    fired = launch(columns(swim(fires, way, speed)), way)
    torpedoes = state["torpedoes"] | fired
    before = fish | subs | torpedoes
    subs, fish = swim(subs, way, speed), swim(fish, way, speed)
    torpedoes = fly(torpedoes)
    after = fish | subs | torpedoes
    # To the right, to the left; made on the device, as a copy from the host would wait.
    ways = 1 - 2 * torch.arange(2, dtype=torch.int32, device=way.device)[:, None]
    state = {
        **state,
        "shots": torch.cat((shots[:1], shots[1:] & ~cells(hit))),
        "fish": fish ^ a_fish << speed,
        "subs": subs ^ sub << speed,
        "phases": swim(phases, ways, speed),
        "torpedoes": torpedoes,
    }
    caught = ((before | after) & cells(here) != 0).any(0)
    return state, count(hit), caught


def _on_board(x: Tensor) -> Tensor:
    """Columns, OUTSIDE where they are not on the board."""
    return torch.where((x < 0) | (x >= SIZE), OUTSIDE, x)
