"""What `HiddenParameters` is given, and whether it will do."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.tree import tree_map
from yieldrl.envs.wrappers.intervals import Intervals, overlap

SIDES = ("training", "held_out")


def check_names(world: TorchVectorEnv, ranges: dict[str, Intervals]) -> None:
    """Raise ValueError if the world lacks one, or first states are drawn with it."""
    known, name = world.parameter_names, type(world).__name__
    if not ranges:
        raise ValueError(f"ranges = {{}}: name one at least of {list(known)}")
    first = sorted(ranges.keys() & set(world.reset_parameters.values()))
    if first:
        raise ValueError(
            f"{first} say where first states are, which are drawn before the new"
            f" parameters: hide others, {name} has {list(known)}"
        )
    unknown = sorted(ranges.keys() - set(known))
    if unknown:
        raise ValueError(
            f"{name} has no parameters {unknown}: it has {list(known)} (floats that"
            " its constructor made by self.parameter)"
        )


def check_sides(
    training: dict[str, Intervals],
    held_out: dict[str, Intervals],
    side: str,
) -> None:
    """Raise ValueError if what is held out is not, or no world could have it."""
    if side not in SIDES:
        raise ValueError(f"side = {side!r}: choose one of {SIDES}")
    if side == "held_out" and not held_out:
        raise ValueError("side = 'held_out': say which intervals are, in held_out=")
    unknown = sorted(held_out.keys() - training.keys())
    if unknown:
        raise ValueError(
            f"held_out has {unknown}, ranges only {list(training)}: what is held out"
            " lies outside of a training range, so name both"
        )
    for name, row in training.items():
        if row[0][0] == row[-1][1]:
            raise ValueError(
                f"ranges[{name!r}] = {row[0]} is one number: give it to the world as a"
                " constant, or make the interval wider"
            )
        if overlap(held_out.get(name, []), row):
            raise ValueError(
                f"held_out[{name!r}] = {held_out[name]} overlaps the training range"
                f" {row}: what is held out must not be met in training"
            )
    for name, row in [*training.items(), *held_out.items()]:
        if ("mass" in name or "length" in name) and row[0][0] <= 0:
            raise ValueError(f"{name} from {row[0][0]}: masses and lengths are above 0")


def check_first_states(world: TorchVectorEnv, ranges: dict[str, Intervals]) -> None:
    """Raise ValueError if a first observation depends on what is to be hidden."""
    chance = torch.Generator(world.device).manual_seed(0)
    size = world.noise_size, world.num_envs
    like = {"dtype": world.dtype, "device": world.device}
    noise = torch.rand(size, generator=chance, **like)
    found: list[list[Tensor]] = []
    for end in (lambda row: row[0][0], lambda row: row[-1][1]):
        world.set_parameters({name: end(row) for name, row in ranges.items()})
        with torch.no_grad():
            state = world.initial_state(noise)
            leaves: list[Tensor] = []
            for tree in (state, world.observe(state)):
                tree_map(lambda x, to=leaves: to.append(x.clone()), tree)
        found.append(leaves)
    if not all(map(torch.equal, *found)):
        raise ValueError(
            f"first states of {type(world).__name__}, or what is observed of them,"
            f" depend on one of {list(ranges)}: they are drawn before the new"
            " parameters are, so hide others"
        )
