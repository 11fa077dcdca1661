"""Asterix of MinAtar: fetch gold and keep away from enemies."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar.base import SIZE, MinAtarVectorEnv, State, Thing, Transition

ROWS = 8  # 1 to 8, with at most one thing each
OUTSIDE = -2  # column of absent things, whose trail is outside too
SPAWN, MOVE = 10, 5  # initial steps between spawns, and between moves
RAMP = 100


class AsterixVectorEnv(MinAtarVectorEnv):
    """MinAtar's Asterix: N fields, a reward of 1 for each piece of gold.

    Enemies and gold enter at one side and leave at the other, one per row, with a
    trail behind them. Touching an enemy ends the episode. About every hundred steps
    they come more often, and every second time they also move faster.
    """

    channels = ("player", "enemy", "trail", "gold")
    actions = (base.NOTHING, base.LEFT, base.UP, base.RIGHT, base.DOWN)
    noise_size = 2  # sticky action; a spawn's direction, kind and row

    def begin(self, noise: Tensor) -> State:
        return {
            **self.full(noise, x=5, y=5),
            **self.full(noise, ROWS, thing=OUTSIDE, heading=1, gold=0),
            **self.full(noise, spawn_speed=SPAWN, spawn_timer=SPAWN),
            **self.full(noise, move_speed=MOVE, move_timer=MOVE),
            **self.full(noise, ramp_timer=RAMP, ramps=0),
        }

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Spawn a thing, move the player, then move all things."""
        spawns, move_timer = state["spawn_timer"] == 0, state["move_timer"]
        thing, heading, gold = self._spawn(state, noise[1], spawns)
        spawn_timer = torch.where(spawns, state["spawn_speed"], state["spawn_timer"])

        x = (state["x"] + base.across(action)).clamp(0, SIZE - 1)
        y = (state["y"] + base.down(action)).clamp(1, ROWS)

        # Only the thing in the player's row can be met, once or twice.
        here = self.numbers(1, 1 + ROWS) == y
        facts = thing, heading, gold
        column, way, is_gold = (base.total(here * fact) for fact in facts)
        moves = move_timer == 0
        met = column == x
        fetched = met & (is_gold != 0)
        meets = moves & ~fetched & (column + way == x)
        fetches = meets & (is_gold != 0)
        terminated = (met | meets) & (is_gold == 0)

        moved = torch.where(moves & (thing != OUTSIDE), thing + heading, thing)
        gone = (moved < 0) | (moved >= SIZE) | (here & (fetched | fetches))
        move_timer = torch.where(moves, state["move_speed"], move_timer)
        thing = torch.where(gone, OUTSIDE, moved)
        timers = {"spawn_timer": spawn_timer - 1, "move_timer": move_timer - 1}
        things = {"x": x, "y": y, "thing": thing, "heading": heading, "gold": gold}
        state = {**things, **timers, **self._ramped(state)}
        return state, fetched.int() + fetches.int(), terminated

    def _spawn(self, state: State, noise: Tensor, spawns: Tensor) -> tuple[Tensor, ...]:
        """Columns, headings and gold flags of all things, with a new one where due."""
        thing, heading, gold = (state[name] for name in ("thing", "heading", "gold"))
        free = (thing == OUTSIDE).int()
        from_right, kind, place = base.choices(noise, 2, 3, base.total(free))
        new = self.numbers(1, 1 + ROWS) == self._free_row(free, place) * spawns
        return (
            torch.where(new, (SIZE - 1) * from_right, thing),
            torch.where(new, 1 - 2 * from_right, heading),
            torch.where(new, (kind == 0).int(), gold),
        )

    def _free_row(self, free: Tensor, place: Tensor) -> Tensor:
        """The row of the `place`-th free row, int32 `[N]`; 0 if there is none."""
        rows = self.numbers(1, 1 + ROWS)
        above = (free * (rows > rows.T).int()[..., None]).sum(1, dtype=torch.int32)
        return base.total(rows * free * (above == place))

    def _ramped(self, state: State) -> State:
        """Speeds and timer of the difficulty after a step."""
        names = ("spawn_speed", "move_speed", "ramp_timer", "ramps")
        spawn, move, timer, ramps = (state[name] for name in names)
        if self.difficulty_ramping:
            running = (spawn > 1) | (move > 1)
            now = running & (timer < 0)
            move = (move - (now & (ramps & 1 == 1)).int()).clamp(min=1)
            spawn = (spawn - now.int()).clamp(min=1)
            timer = torch.where(now, RAMP, timer - running.int())
            ramps = ramps + now.int()
        return dict(zip(names, (spawn, move, timer, ramps), strict=True))

    def things(self, state: State) -> tuple[Thing, ...]:
        rows = self.numbers(1, 1 + ROWS)
        return (
            (0, state["y"], state["x"]),
            (1 + 2 * state["gold"], rows, state["thing"]),
            (2, rows, state["thing"] - state["heading"]),
        )
