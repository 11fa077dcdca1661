"""Worlds whose speed is measured, as `worlds.yaml` lists them: sides and demands."""

import inspect
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from yieldrl.foundations.files import read_file

from .baselines import apiece, copies, envpool, gymnax, single, vector
from .batches import Build, tensors_of
from .physics_baselines import rollout, warp

COMPILED = "yieldrl, compiled"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to step N environments."""

    build: Build
    # the package that it needs besides yieldrl, by the name of its import
    package: str = ""
    most: int | None = None  # the largest N that it is tried with
    fixed: int | None = None  # the number that it steps beside every N; None for N

    @property
    def installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


@dataclass(frozen=True, kw_only=True)
class SpeedDemand:
    """How many times faster one side must be than others, at one N."""

    side: str
    over: Sequence[str]
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
        """Whether it holds; None where it was not measured. The ratio is the median of
        those of the runs, first with first and so on; with several others, the
        smallest."""
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
    """A world and all sides that step it."""

    env_id: str
    sides: Mapping[str, Side]
    demands: Sequence[SpeedDemand] = ()
    cuda: bool = False  # whether it makes sense on a GPU alone

    def left_out(self) -> dict[str, str]:
        """Sides that cannot take part, and why."""
        return {
            title: f"{side.package} is not installed"
            for title, side in self.sides.items()
            if not side.installed
        }


BUILDERS: dict[str, Callable[..., Build]] = {
    builder.__name__: builder
    for builder in (tensors_of, vector, single, apiece, envpool, copies, gymnax)
}
BUILDERS |= {"rollout": rollout, "warp": warp}


def _contest(world: dict[str, Any]) -> Contest:
    sides: dict[str, Side] = {}
    for title, fields in world["sides"].items():
        builder, rest = BUILDERS[fields["build"]], dict(fields)
        given = world | rest.pop("with", {})
        taken = inspect.signature(builder).parameters.keys() & given.keys()
        build = builder(**{name: given[name] for name in taken})
        sides[title] = Side(**rest | {"build": build})
    return Contest(
        env_id=world["env_id"],
        sides=sides,
        demands=[SpeedDemand(**fields) for fields in world.get("demands", [])],
        cuda=world.get("cuda", False),
    )


# world -> who steps it. `docs/results/worlds-WORLD.json` keeps the result.
CONTESTS = {
    name: _contest(world)
    for name, world in read_file(Path(__file__).with_name("worlds.yaml"))[
        "worlds"
    ].items()
}
