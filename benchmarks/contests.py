"""Worlds of which the speed is measured: who takes part, and what is demanded."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from .batches import Build, tensors_of
from .physics_rivals import rollout, warp
from .rivals import apiece, copies, envpool, gymnax, single, vector


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to step N environments."""

    build: Build
    package: str = ""
    """The package that it needs besides yieldrl, by the name of its import."""

    most: int | None = None
    """The largest N that it is tried with."""

    fixed: int | None = None
    """The number that it steps beside every N; None for N."""

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return not self.package or find_spec(self.package) is not None


@dataclass(frozen=True, kw_only=True)
class Demand:
    """How many times faster one side must be than others, at one N."""

    side: str
    over: tuple[str, ...]
    times: float
    num_envs: int = 1024
    threads: int = 1

    def __str__(self) -> str:
        many = "thread" if self.threads == 1 else "threads"
        return (
            f"{self.side} at N = {self.num_envs}, {self.threads} {many}, is at least"
            f" {self.times:g} times as fast as {' and '.join(self.over)}"
        )

    def judge(self, points: Sequence[dict[str, Any]], threads: int) -> dict[str, Any]:
        """Whether it holds in what was measured; None where that was not measured.

        The ratio is the median of those of the runs, first with first and so on; with
        several others, the smallest.
        """
        here = [p["sides"] for p in points if p["num_envs"] == self.num_envs]
        others = [of[side] for of in here for side in self.over if side in of]
        ratio = None
        if threads == self.threads and others and self.side in here[0]:
            own = here[0][self.side]["runs"]
            pairs = [zip(own, other["runs"], strict=True) for other in others]
            ratio = min(statistics.median(a / b for a, b in runs) for runs in pairs)
        holds = None if ratio is None else ratio >= self.times
        return {"demand": str(self), "ratio": ratio, "holds": holds}


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A world and all who step it."""

    env_id: str
    sides: Mapping[str, Side]
    demands: tuple[Demand, ...] = ()
    cuda: bool = False
    """Whether it makes sense on a GPU alone."""

    def left_out(self) -> dict[str, str]:
        """Sides that cannot take part, and why."""
        return {
            title: f"{side.package} is not installed"
            for title, side in self.sides.items()
            if not side.installed
        }


YIELDRL, COMPILED = "yieldrl", "yieldrl, compiled"
VECTOR, SYNC = "Gymnasium, NumPy batch", "Gymnasium, Sync"
# A process each: on a few cores, more of them only wait for each other.
PROCESSES = 16
SINGLE, ASYNC = "Gymnasium, single", f"Gymnasium, {PROCESSES} Async"
CORES = 2
APIECE = f"Gymnasium, {CORES} singles"  # at once, in a process each
COPIES, BARE = "minatar, N copies", "mujoco.rollout"

# Each of these costs the same per environment, however many there are: 1024 are enough
# to see that, and 65 536 copies would take a second a step.
LOOP = 1024


def _common(env_id: str, other_id: str) -> dict[str, Side]:
    """Sides of every world that Gymnasium, EnvPool and gymnax have too."""
    return {
        YIELDRL: Side(build=tensors_of(env_id)),
        COMPILED: Side(build=tensors_of(env_id, compiled=True)),
        SYNC: Side(build=vector(env_id, other_id, "sync"), most=LOOP),
        "EnvPool": Side(build=envpool(env_id, other_id), package="envpool"),
        "gymnax": Side(build=gymnax(env_id, other_id), package="gymnax"),
        "gymnax, scan": Side(
            build=gymnax(env_id, other_id, scan=True), package="gymnax"
        ),
    }


def _classic(name: str, other_id: str) -> Contest:
    env_id = f"yieldrl/{name}-v1"
    return Contest(env_id=env_id, sides=_common(env_id, other_id))


def _cartpole() -> Contest:
    env_id, other_id = "yieldrl/CartPole-v1", "CartPole-v1"
    batch = Side(build=vector(env_id, other_id, "vector_entry_point"))
    demands = (
        Demand(side=YIELDRL, over=(VECTOR,), times=0.6),
        Demand(side=COMPILED, over=(VECTOR,), times=1.2),
        Demand(side=YIELDRL, over=(SYNC,), times=50),
        Demand(side=COMPILED, over=(SYNC,), times=50),
    )
    sides = {**_common(env_id, other_id), VECTOR: batch}
    return Contest(env_id=env_id, sides=sides, demands=demands)


def _minatar(
    name: str, game: str, *, in_gymnax: bool = True, threads: int = 1
) -> Contest:
    env_id, other_id = f"yieldrl/MinAtar-{name}-v1", f"{name}-MinAtar"
    sides = {
        YIELDRL: Side(build=tensors_of(env_id)),
        COMPILED: Side(build=tensors_of(env_id, compiled=True)),
        COPIES: Side(build=copies(env_id, game), package="minatar", most=LOOP),
    }
    if in_gymnax:
        for title, scan in (("gymnax", False), ("gymnax, scan", True)):
            build = gymnax(env_id, other_id, scan=scan)
            sides[title] = Side(build=build, package="gymnax")
    demands = (Demand(side=COMPILED, over=(COPIES,), times=20, threads=threads),)
    return Contest(env_id=env_id, sides=sides, demands=demands)


def _half_cheetah() -> Contest:
    env_id, other_id = "yieldrl/HalfCheetah-v1", "HalfCheetah-v5"
    sync, processes = (vector(env_id, other_id, mode) for mode in ("sync", "async"))
    bare = rollout(env_id, "half_cheetah.xml", frame_skip=5)
    sides = {
        YIELDRL: Side(build=tensors_of(env_id, physics=True), package="mujoco"),
        BARE: Side(build=bare, package="mujoco"),
        SINGLE: Side(build=single(env_id, other_id), package="mujoco", fixed=1),
        APIECE: Side(
            build=apiece(env_id, other_id, CORES), package="mujoco", fixed=CORES
        ),
        SYNC: Side(build=sync, package="mujoco", most=LOOP),
        ASYNC: Side(build=processes, package="mujoco", fixed=PROCESSES),
        # It keeps a whole simulation for each, of which 65 536 would fill the memory.
        "EnvPool": Side(build=envpool(env_id, other_id), package="envpool", most=4096),
    }
    best = (SINGLE, SYNC, ASYNC)
    demands = (
        Demand(side=YIELDRL, over=best, times=2.5, threads=2),
        Demand(side=YIELDRL, over=(BARE,), times=0.75, threads=2),
        # What 2.5 means per core, where two are less than twice as fast as one.
        Demand(side=YIELDRL, over=(APIECE,), times=2.5 / CORES, threads=2),
    )
    return Contest(env_id=env_id, sides=sides, demands=demands)


def _humanoid() -> Contest:
    env_id, file = "yieldrl/Humanoid-v1", "humanoid.xml"
    sides = {
        YIELDRL: Side(build=tensors_of(env_id, physics=True), package="mujoco_warp"),
        "mujoco_warp, graph": Side(
            build=warp(env_id, file, 5, graph=True), package="mujoco_warp"
        ),
        "mujoco_warp, no graph": Side(
            build=warp(env_id, file, 5, graph=False), package="mujoco_warp"
        ),
    }
    return Contest(env_id=env_id, sides=sides, cuda=True)


CONTESTS: dict[str, Contest] = {
    "cartpole": _cartpole(),
    "pendulum": _classic("Pendulum", "Pendulum-v1"),
    "acrobot": _classic("Acrobot", "Acrobot-v1"),
    "mountain_car": _classic("MountainCar", "MountainCar-v0"),
    "minatar-asterix": _minatar("Asterix", "asterix"),
    "minatar-breakout": _minatar("Breakout", "breakout"),
    "minatar-freeway": _minatar("Freeway", "freeway"),
    "minatar-seaquest": _minatar(
        "Seaquest", "seaquest", in_gymnax=False, threads=CORES
    ),
    "minatar-space_invaders": _minatar("SpaceInvaders", "space_invaders"),
    "half_cheetah": _half_cheetah(),
    "humanoid": _humanoid(),
}
