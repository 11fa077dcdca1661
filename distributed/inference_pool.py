"""The inference actors of a run, and their restarts."""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.inference import InferenceActor
from yieldrl.distributed.lives import Lives
from yieldrl.distributed.remote_agent import DeadInferenceError
from yieldrl.distributed.weight_group import WeightSender
from yieldrl.distributed.weights import Signature, SignatureError
from yieldrl.foundations import Config, derive_seed

log = logging.getLogger("yieldrl.distributed")

SECONDS = 60.0
"""Seconds that an actor may take to answer with its state."""


class InferencePool:
    """Inference actors; worker `i` of a run asks number `i % count`.

    Args:
        cluster: Has a place for each.
        config: Says how many there are, and how many rollout workers.
        own: The config of one worker.

    Attributes:
        lives: How often each was started again.
    """

    def __init__(self, cluster: Cluster, config: Config, own: Config) -> None:
        self.cluster, self.config, self.own = cluster, config, own
        self.count = config.inference_actors
        self.lives = Lives("inference actor", self.count, "a finished segment")
        self._sent: list[int | None] = [None] * self.count
        self._ready: list[Any] = [None] * self.count  # answers to the latest request
        self._begun_at = [*self._ready]  # answers to `begin`
        self._sender: WeightSender | None = None
        self._asked = [0] * config.rollout_workers  # restart counts, by worker
        self._begun: Any = None
        self.actors = [self._made(index) for index in range(self.count)]

    def check(self, agent: Any) -> None:
        """Refuse an agent that would act differently than in a worker.

        Raises:
            ValueError: If it has a memory of its episodes; the actors are ended.
        """
        if self.count and agent.has_memory:
            self.cluster.close()
            raise self.config.error(
                "inference_actors",
                f"{type(agent).__module__}.{type(agent).__qualname__} remembers the"
                " episodes that it is in, and whom workers ask keeps no memory of"
                " theirs: choose 0, and each worker has a copy of the policy",
            )

    def begin(self, recipe: Any, states: Sequence[Any] | None = None) -> None:
        """Give every actor its agent, or let it go on from a state."""
        self._begun = recipe
        states = [None] * self.count if states is None else states
        for index, state in enumerate(states):
            self._begin(index, state)

    def has(self, worker: int, version: int) -> bool:
        """Whether the actor that a worker asks has been sent this version."""
        return self.count > 0 and self._sent[worker % self.count] == version

    def broadcast(self, signature: Signature, tensors: Mapping[str, Tensor]) -> None:
        """Send weights to all actors over a group, if the config says so.

        If an actor has died, this version goes through the object store instead.

        Raises:
            SignatureError: If an actor has other tensors.
        """
        if self.config.weight_transfer == "store":
            return
        if self._sender is None:
            self._sender = WeightSender(self.cluster.ray.util.get_node_ip_address())
        members = tuple(self.lives)
        alive = self._sender.knows(members) or self._ask_all("statistics", self._ready)
        if alive is not True and None in alive:
            return
        for index, seat in enumerate(self._sender.seats(members)):
            receive = self.actors[index].receive
            self._ready[index] = receive.remote(seat, signature, self._begun_at[index])
        try:
            self._sender.send(tensors, signature)
            self._sent = [signature.version] * self.count
        except SignatureError:
            raise
        except RuntimeError as error:
            log.warning("the weights go through the object store: %s", error)
            self._ready = [*self._begun_at]

    def close(self) -> None:
        """Leave the process group."""
        self._sender = None

    def asked_by(self, worker: int, weights: tuple[Any, Any]) -> tuple[Any, list[Any]]:
        """The actor for a worker to ask, once the answers in the list are there.

        That is the answer of the actor when it has these weights, a signature and
        arrays. Segments that other workers are collecting go on with them.
        """
        index, (signature, arrays) = worker % self.count, weights
        if self._sent[index] != signature.version:
            load, before = self.actors[index].load, self._ready[index]
            self._ready[index] = load.remote(signature, arrays, before)
            self._sent[index] = signature.version
        self._asked[worker] = self.lives[index]
        return self.actors[index], [self._ready[index]]

    def answered(self, worker: int) -> None:
        """Note that a worker's actor works, which resets its count of deaths."""
        if self.count:
            self.lives.did_work(worker % self.count)

    def restarted(self, worker: int, error: BaseException) -> bool:
        """Whether a worker's error is the death of its actor, which is then replaced.

        Raises:
            WorkerError: If it died too often in a row.
        """
        if not isinstance(getattr(error.__cause__, "cause", None), DeadInferenceError):
            return False
        index = worker % self.count
        if self._asked[worker] == self.lives[index]:  # not restarted yet
            self._restart(index)
        return True

    def _restart(self, index: int) -> None:
        self.lives.begin(index)
        self.cluster.kill(self.actors[index])
        self.actors[index] = self._made(index)
        self._begin(index, None)

    def state_dict(self) -> list[Any]:
        """The state of each actor's agent; None for one that has died."""
        return self._ask_all("state_dict", self._ready)

    def statistics(self) -> dict[str, Any]:
        """Mean rows of a batch, and milliseconds that they waited, of each actor."""
        if self.count == 0:
            return {}
        found = [each or {} for each in self._ask_all("statistics", self._ready)]
        names = "batches", "inference_batch", "inference_actor_ms"
        of_all = {name: [each.get(name, 0) for each in found] for name in names}
        groups = 0 if self._sender is None else self._sender.number
        return {**of_all, "inference_lives": self.lives, "weight_groups": groups}

    def _begin(self, index: int, state: Any) -> None:
        begun = self.actors[index].begin.remote(self._begun, state)
        self._begun_at[index] = self._ready[index] = begun
        self._sent[index] = None

    def _ask_all(self, method: str, ready: Sequence[Any]) -> list[Any]:
        ray, found = self.cluster.ray, []
        pairs = zip(self.actors, ready, strict=True)
        asked = [getattr(actor, method).remote(before) for actor, before in pairs]
        for index, answer in enumerate(asked):
            try:
                found.append(ray.get(answer, timeout=SECONDS))
            except ray.exceptions.RayActorError:
                found.append(None)  # the next request restarts it
            except ray.exceptions.GetTimeoutError:
                said = f"inference actor {index} has not answered for {SECONDS:g} s"
                raise TimeoutError(said) from None
        return found

    def _made(self, index: int) -> Any:
        own, life = self.own, self.lives[index]
        workers = len(range(index, self.config.rollout_workers, self.count))
        seed = own.seed
        if index or life:  # the first has the seed of a run without actors
            seed = derive_seed(seed, f"inference actor {index}, {life}")
        device = "cuda" if self.config.device.startswith("cuda") else "cpu"
        rows = workers * own.num_envs
        parts = {"num_envs": rows, "seed": seed, "device": device}
        config = dataclasses.replace(own, **parts)
        place = "inference_actors", index
        return self.cluster.actor(InferenceActor, place, config, rows)
