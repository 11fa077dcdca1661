"""Actors that imagine, with their own copies of policy and world model."""

import importlib
import pickle
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator

from yieldrl.collectors.segments import tensors_of
from yieldrl.core.conversion import as_array
from yieldrl.distributed.actors import ActorPool, Call
from yieldrl.distributed.recipes import Recipe
from yieldrl.distributed.weights import AgentCopy, Store, Stored, Weights
from yieldrl.envs.arrays import tree_map


class ImaginationRolloutActor:
    """Lets the policy act in the world model, from real transitions on.

    An algorithm for it has `model`, `world` and `imagine(starts, horizon, generator,
    model_version)`, see `yieldrl.imagination.Imagination`.

    Args:
        threads: CPU threads for PyTorch.
    """

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        self._copy = AgentCopy()
        self._world: Any = None  # the recipe that the world model was loaded from

    def imagine(
        self,
        policy: Stored,
        world: Stored,
        starts: Mapping[str, Any],
        horizon: int,
        drawn: Any,
    ) -> tuple[dict[str, Any], Any]:
        """A segment by these weights: its entries as arrays `[H, B, ...]`, and the
        state of the generator afterwards.

        Args:
            policy: The algorithm, and weights of its policy. Each step stores their
                version, and that of the world model's.
            world: The world model: all its tensors, and its newest weights.
            starts: Real transitions, arrays `[b, ...]`, nested or not.
            horizon: `H`.
            drawn: The state of the generator, or its seed.

        Raises:
            SignatureError: If weights do not fit this model.
        """
        algorithm, ray = self._copy.fetch(policy), importlib.import_module("ray")
        if world.recipe != self._world:
            pickle.loads(ray.get(world.recipe[0])).load(algorithm.world)
            self._world = world.recipe
        ray.get(world.weights[0]).load(algorithm.world)
        generator = torch.Generator(algorithm.device)
        if isinstance(drawn, int):
            generator.manual_seed(drawn)
        else:
            generator.set_state(torch.tensor(drawn))
        tensors = tree_map(torch.tensor, starts)  # on PyTorch's default device
        data = TensorDict(tensors, [len(tensors["reward"])]).to(algorithm.device)
        segment = algorithm.imagine(data, horizon, generator, world.version)
        arrays = tree_map(as_array, segment.to_dict())
        return arrays, generator.get_state().numpy()


@dataclass
class Request:
    """A request for branches to all actors."""

    calls: list[Call] = field(default_factory=list)  # of each actor
    parts: list[TensorDict] | None = None  # their segments, once these have arrived
    drawn: Any = None  # the state of the first actor's generator, after that


class ImaginationPool(ActorPool):
    """Actors that imagine an equal share of branches each, in their order.

    Each request sends the weights of policy and world model, with a signature each. The
    first actor uses the state of the caller's generator: alone it imagines what this
    process would. An actor that dies is started again, and asked again.

    Args:
        cluster: Has a place for each, `imagination_actors`.
        algorithm: See `ImaginationRolloutActor`.
        config: Says how many there are.
        ahead: Number of segments that are asked for before the first is returned, so
            that they are imagined while the program learns.
    """

    def __init__(
        self, cluster: Any, algorithm: Any, config: Any, *, ahead: int = 0
    ) -> None:
        self.algorithm, self.ahead = algorithm, ahead
        self._device = "cuda" if config.device.startswith("cuda") else "cpu"
        self._own = config.in_one_process(device=self._device)
        self._requests: deque[Request] = deque()
        self._stores: list[Store] = []  # of policy and world model
        threads = config.threads or 1
        parts = "imagination_actors", ImaginationRolloutActor, config.imagination_actors
        super().__init__(cluster, *parts, "a segment", lambda index, life: (threads,))

    def __call__(
        self, starts: TensorDict, horizon: int, generator: Generator, version: int
    ) -> list[TensorDict] | None:
        """The oldest segments `[H, b]` that were asked for, after asking for these.

        None while the first `ahead` requests are under way.

        Args:
            starts: Real transitions `[b]`.
            horizon: `H`.
            generator: What the first actor draws from.
            version: Version of the world model.

        Raises:
            WorkerError: If an actor cannot go on.
        """
        while len(self._requests) > self.ahead:  # left by an interrupted call
            self._requests.popleft()
        self._requests.append(self._request(starts, horizon, generator, version))
        if len(self._requests) <= self.ahead:
            return None
        request = self._requests[0]
        parts = self._fetch(request)
        first = request.calls[0].args[-1] if request.calls else 0
        if self.ahead == 0 and not isinstance(first, int):
            generator.set_state(torch.tensor(request.drawn))
        self._requests.popleft()
        return parts

    def state_dict(self) -> dict[str, Any]:
        """The segments that were asked for and not returned."""
        parts = [self._fetch(request) for request in self._requests]
        return {"parts": [[part.to_dict() for part in each] for each in parts]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the actors begin anew."""
        self._stores.clear()
        self._requests = deque(
            Request(parts=[_segment(entries) for entries in parts])
            for parts in state["parts"]
        )

    def _request(
        self, starts: TensorDict, horizon: int, generator: Generator, version: int
    ) -> Request:
        if not self._stores:
            self._start(version)
        versions = self.algorithm.counters.policy_version, version
        pairs = zip(self._stores, versions, strict=True)
        sent = [store.put(number, again=True) for store, number in pairs]
        count = min(self.count, len(starts))
        drawn = self._drawn(generator, count)
        request = Request()
        rows = torch.arange(len(starts)).tensor_split(count)
        for index, share in enumerate(rows):
            part = starts[share.to(starts.device)].exclude("next_obs").to_dict()
            args = *sent, tree_map(as_array, part), horizon, drawn[index]
            request.calls.append(self.ask(index, "imagine", *args))
        return request

    def _start(self, version: int) -> None:
        """Store the algorithm and its world model, with all weights as they are now."""
        algorithm = self.algorithm
        world = Weights.of(tensors_of(algorithm.world), version)
        self._stores = [
            Store(self.cluster, algorithm.model, Recipe.of(algorithm, self._own)),
            Store(self.cluster, algorithm.world, world),
        ]

    def _drawn(self, generator: Generator, count: int) -> list[Any]:
        """The generator's state for the first actor, and a seed for each other one."""
        copied = Generator(generator.device)
        copied.set_state(generator.get_state())
        options = {"generator": copied, "device": copied.device}
        seeds: list[Any] = torch.randint(2**62, (count,), **options).tolist()
        if copied.device.type == self._device:
            seeds[0] = generator.get_state().numpy()
        return seeds

    def _fetch(self, request: Request) -> list[TensorDict]:
        """Wait for the segments."""
        if request.parts is None:
            answers = [self.result(call) for call in request.calls]
            device = self.algorithm.device
            tensors = [tree_map(torch.tensor, arrays) for arrays, _ in answers]
            request.parts = [_segment(entries).to(device) for entries in tensors]
            request.drawn = answers[0][1]
        return request.parts


def _segment(entries: Mapping[str, Any]) -> TensorDict:
    """A segment `[H, B]` of its entries."""
    return TensorDict(dict(entries), entries["reward"].shape)
