"""A Ray cluster, started or joined, and the placement of actors on it."""

import importlib
import logging
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from yieldrl.distributed.answers import full_store_said
from yieldrl.foundations import Config

PLACING_SECONDS = 30.0
"""Seconds that the cluster may take to place actors that its resources allow."""


class Cluster:
    """Ray for one run: it places actors, and ends what it started.

    Ray is started by this process if `address` is empty and none runs yet; its worker
    processes, ports and shared memory end with `close`, or with the program. A Ray that
    was started elsewhere is joined, and only the actors are ended.

    Args:
        address: Address of a running cluster, as `ray.init` takes it (`auto`,
            `host:port`, `ray://host:port`).
        places: What each actor of a role needs, such as `{"learner": [{"CPU": 1}]}`.

    Raises:
        ImportError: If Ray is not installed.
        RuntimeError: If the cluster lacks resources; the message names them.
    """

    def __init__(
        self, address: str, places: Mapping[str, Sequence[Mapping[str, float]]]
    ) -> None:
        self.ray = import_ray()
        self.places = {
            role: [dict(one) for one in needed] for role, needed in places.items()
        }
        self.resources = [one for needed in self.places.values() for one in needed]
        self.actors: list[Any] = []
        self._groups: list[Any] = []
        begun = not self.ray.is_initialized()
        if begun:
            self._begin(address)
        parts = self.ray, self.actors, self._groups, begun
        self._end = weakref.finalize(self, _end, *parts)
        try:
            self._place()
        except BaseException:
            self.close()
            raise

    def actor(
        self, kind: type, place: tuple[str, int] | None = None, *args: Any
    ) -> Any:
        """A new actor of a class, constructed with `args`.

        It has the resources of the place (role, number); without one, it has none.
        """
        if place is None:
            made = self.ray.remote(kind).options(num_cpus=0).remote(*args)
            self.actors.append(made)
            return made
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        role, number = place
        before = [*self.places][: [*self.places].index(role)]
        strategy = strategies.PlacementGroupSchedulingStrategy(
            placement_group=self._groups[0],
            placement_group_bundle_index=number
            + sum(len(self.places[other]) for other in before),
        )
        needed = self.places[role][number]
        options = {
            "num_cpus": needed.get("CPU", 0),
            "num_gpus": needed.get("GPU", 0),
            "resources": {k: v for k, v in needed.items() if k not in ("CPU", "GPU")},
            "scheduling_strategy": strategy,
        }
        made = self.ray.remote(kind).options(**options).remote(*args)
        self.actors.append(made)
        return made

    def put(self, value: Any) -> Any:
        """Put a value into the object store, where all actors can read it.

        Raises:
            StoreFullError: If there is no room for it.
        """
        with full_store_said():
            return self.ray.put(value)

    def kill(self, actor: Any) -> None:
        """End an actor at once; safe for one that has ended already."""
        self.ray.kill(actor)
        self.actors[:] = [other for other in self.actors if other is not actor]

    def close(self) -> None:
        """End all actors, and Ray if it was started here. Safe to call twice."""
        self._end()

    def _begin(self, address: str) -> None:
        """Start Ray, or join the one at the address."""
        quiet = {"include_dashboard": False, "logging_level": logging.ERROR}
        if address:
            self.ray.init(address=address, logging_level=logging.ERROR)
            return
        needed = sum(each.get("CPU", 0) for each in self.resources)
        # Workers that wait need no core of their own: here all have a place.
        cores = max(os.cpu_count() or 1, int(needed + 1))
        self.ray.init(num_cpus=cores, log_to_driver=False, **quiet)

    def _place(self) -> None:
        """Reserve the resources of each actor."""
        available = self.ray.cluster_resources()
        for name in dict.fromkeys(name for each in self.resources for name in each):
            needed = sum(each.get(name, 0) for each in self.resources)
            if needed > (there := available.get(name, 0)):
                raise RuntimeError(
                    f"{self._roles()} need {needed:g} {name} of the Ray cluster, which"
                    f" has {there:g} in all: ask for fewer, or add machines to the"
                    " cluster"
                )
        util = importlib.import_module("ray.util")
        group = util.placement_group(self.resources, strategy="PACK")
        self._groups.append(group)
        if not group.wait(PLACING_SECONDS):
            free = self.ray.available_resources()
            raise RuntimeError(
                f"the Ray cluster has found no place for {self._roles()} in"
                f" {PLACING_SECONDS:g} s; free are {free}: wait for other jobs, or"
                " ask for fewer"
            )

    def _roles(self) -> str:
        """The number of actors of each role, by the names of config fields."""
        counts = {role: len(needed) for role, needed in self.places.items()}
        said = [f"{role} = {count}" for role, count in counts.items() if count]
        return ", ".join(said)


def places(config: Config) -> dict[str, list[dict[str, float]]]:
    """The resources of a run's actors, by the config field that counts them.

    Learners, and actors for inference and imagination, take a GPU each if the config's
    `device` names one.
    """
    gpus = 1.0 if config.device.startswith("cuda") else 0.0
    heavy = {"CPU": 1.0, "GPU": gpus} if gpus else {"CPU": 1.0}
    needed = {
        "rollout_workers": {"CPU": 1.0},
        "inference_actors": heavy,
        "learners": heavy,
        "imagination_actors": heavy,
        "eval_actors": {"CPU": 1.0},
    }
    return {role: [one] * getattr(config, role, 0) for role, one in needed.items()}


def import_ray() -> Any:
    """The package `ray`; ImportError that says how to install it, if missing."""
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise ImportError(
            "collection='ray' needs Ray: pip install 'yieldrl[ray]'", name="ray"
        ) from error


def _end(ray: Any, actors: list[Any], groups: list[Any], begun: bool) -> None:
    """End actors and their placement groups; and Ray, if it was started here."""
    if not ray.is_initialized():
        return
    for actor in actors:
        ray.kill(actor)
    actors.clear()
    if begun:
        ray.shutdown()
        return
    util = importlib.import_module("ray.util")
    for group in groups:
        util.remove_placement_group(group)
