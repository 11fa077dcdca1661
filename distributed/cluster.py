"""A Ray cluster, started or joined, and the resources of actors on it."""

import importlib
import logging
import os
import socket
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yieldrl.core import Config

log = logging.getLogger("yieldrl.distributed")

ON_GPUS = "inference_actors", "learners", "imagination_actors", "jobs"
"""Roles whose actors take a GPU each, where the config's `device` is one."""


NO_CPU = "stats_actors", "replay_actors"
"""Roles whose actors have little to compute."""


TOKEN = Path.home() / ".ray" / "auth_token"
"""Where Ray has a token, by which a machine may join a cluster."""


class Cluster:
    """Ray for one run: it places actors, and ends what it started.

    Ray is started by this process if `address` is empty and none runs yet; its worker
    processes, ports and shared memory end with `close`, or with the program. A Ray that
    was started elsewhere is joined, and only the actors are ended.

    Args:
        address: Address of a running cluster, as `ray.init` takes it (`auto`,
            `host:port`, `ray://host:port`).
        counts: Number of actors of each role, such as `{"learners": 2}`; each takes a
            CPU.
        gpus: Whether those of the roles `ON_GPUS` take a GPU, too.

    Raises:
        ImportError: If Ray is not installed.
        ConnectionError: If there is no Ray at the address.
        RuntimeError: If Ray does not start, or the cluster lacks resources; the message
            names them.
    """

    def __init__(
        self, address: str, counts: Mapping[str, int], *, gpus: bool = False
    ) -> None:
        if address and TOKEN.is_file():  # Ray shows it for the address `auto` alone
            os.environ.setdefault("RAY_AUTH_MODE", "token")  # read at Ray's import
        try:
            self.ray: Any = importlib.import_module("ray")
        except ModuleNotFoundError as error:
            raise ImportError(
                "collection='ray' needs Ray: pip install 'yieldrl[ray]'", name="ray"
            ) from error
        self._gpus = gpus
        self._kinds: dict[type, Any] = {}  # Ray's class of each
        on_gpus = sum(counts.get(role, 0) for role in ON_GPUS)
        needed = {"CPU": sum(counts.values()), "GPU": on_gpus if gpus else 0}
        self.actors: list[Any] = []
        starts = not self.ray.is_initialized()
        if starts:
            self._start(address, needed["CPU"])
        self._end = weakref.finalize(self, _end, self.ray, self.actors, starts)
        # In use or not: others may end soon.
        total = self.ray.cluster_resources()
        roles = ", ".join(
            f"{role} = {count}" for role, count in counts.items() if count
        )
        for name, amount in needed.items():
            if amount > (has := total.get(name, 0)):
                self.close()
                raise RuntimeError(
                    f"{roles} need {amount:g} {name} of the Ray cluster, which has"
                    f" {has:g} in all: ask for fewer, or add machines to the cluster"
                )

    @classmethod
    def of(cls, config: Config) -> "Cluster":
        """The cluster for a run's actors, which config fields count."""
        roles = "rollout_workers", "eval_actors", *ON_GPUS
        counts = {role: getattr(config, role, 0) for role in roles}
        gpus = config.device.startswith("cuda")
        return cls(config.ray_address, counts, gpus=gpus)

    def actor(self, kind: type, role: str, *args: Any) -> Any:
        """A new actor of a class, constructed with `args`, with the resources of its
        role."""
        gpus = int(self._gpus and role in ON_GPUS)
        options = {"num_cpus": int(role not in NO_CPU), "num_gpus": gpus}
        if kind not in self._kinds:  # Ray pickles each that it is given
            self._kinds[kind] = self.ray.remote(kind)
        actor = self._kinds[kind].options(**options).remote(*args)
        self.actors.append(actor)
        return actor

    def put(self, value: Any) -> Any:
        """Put a value into the object store, where all actors can read it."""
        return self.ray.put(value)

    def kill(self, actor: Any) -> None:
        """End an actor at once; safe for one that has ended already."""
        self.ray.kill(actor)
        self.actors[:] = [other for other in self.actors if other is not actor]

    def close(self) -> None:
        """End all actors, and Ray if it was started here. Safe to call twice."""
        self._end()

    def _start(self, address: str, needed: int) -> None:
        """Start Ray, with so many cores, or join the one at the address."""
        options: dict[str, Any] = {"logging_level": logging.ERROR}
        if address:
            try:
                host, colon, port = address.rpartition(":")
                if colon and "://" not in address:  # Ray would wait there for minutes
                    socket.create_connection((host, int(port)), 10).close()
                self.ray.init(address=address, **options)
            except (OSError, RuntimeError, ValueError) as error:
                raise ConnectionError(
                    f"ray_address = {address!r}: no Ray could be joined there, {error}."
                    " Look whether `ray start --head` runs there and its port can be"
                    " reached, and whether ~/.ray/auth_token is the same on both sides"
                ) from error
            return
        # Workers that wait need no core of their own: here all have a place.
        cores = max(os.cpu_count() or 1, needed + 1)
        options |= {"include_dashboard": False, "log_to_driver": False}
        options |= {"address": "local", "num_cpus": cores}
        try:
            self.ray.init(**options)
        except Exception as error:  # of a plain class, if it has waited for too long
            log.warning("Ray did not start, and is tried once more: %s", error)
            self.ray.shutdown()
            try:
                self.ray.init(**options)
            except Exception as again:
                self.ray.shutdown()
                raise RuntimeError(
                    f"Ray did not start on this machine, twice: {again}. Look for a"
                    " machine that is too busy, and for too little memory or too small"
                    " a /dev/shm; Ray's logs are in /tmp/ray/session_latest/logs"
                ) from again


def _end(ray: Any, actors: list[Any], starts: bool) -> None:
    """End actors; and Ray, if it was started here."""
    if not ray.is_initialized():
        return
    for actor in actors:
        ray.kill(actor)
    actors.clear()
    if starts:
        ray.shutdown()
