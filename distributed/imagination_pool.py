"""The imagination actors of a run: their weights, requests and restarts."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator

from yieldrl.distributed.answers import DeadWorkerError, answer_of
from yieldrl.distributed.imagination_actor import ImaginationRolloutActor
from yieldrl.distributed.imagination_weights import ImaginationWeights
from yieldrl.distributed.lives import Lives
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations.conversion import as_array


@dataclass
class Asked:
    """A request for branches to all actors.

    Attributes:
        shares: The arguments of each actor's call.
        answers: The actor's restart count, and its future answer.
        parts: Their segments, once these have arrived.
    """

    shares: list[tuple[Any, ...]] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    parts: list[TensorDict] | None = None


class ImaginationPool:
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

    Attributes:
        lives: How often each actor was started again.
    """

    def __init__(
        self, cluster: Any, algorithm: Any, config: Any, *, ahead: int = 0
    ) -> None:
        self.cluster, self.algorithm, self.ahead = cluster, algorithm, ahead
        self._device = "cuda" if config.device.startswith("cuda") else "cpu"
        own = config.in_one_process(device=self._device)
        self.weights = ImaginationWeights(cluster, algorithm, own)
        self.lives = Lives("imagination actor", config.imagination_actors, "a segment")
        self._asked: deque[Asked] = deque()
        self.actors = [self._made(index) for index in range(len(self.lives))]

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
        while len(self._asked) > self.ahead:  # left by an interrupted call
            self._asked.popleft()
        self._asked.append(self._ask(starts, horizon, generator, version))
        if len(self._asked) <= self.ahead:
            return None
        asked = self._asked[0]
        state = self._answered(asked)
        if self.ahead == 0 and not isinstance(asked.shares[0][-1], int):
            generator.set_state(torch.tensor(state))
        self._asked.popleft()
        return asked.parts

    def state_dict(self) -> dict[str, Any]:
        """The segments that were asked for and not returned."""
        for asked in self._asked:
            self._answered(asked)
        return {
            "parts": [
                [(part.to_dict(), [*part.batch_size]) for part in asked.parts or []]
                for asked in self._asked
            ]
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the actors begin anew."""
        self.weights.begun = None
        self._asked = deque(
            Asked(parts=[TensorDict(entries, size) for entries, size in parts])
            for parts in state["parts"]
        )

    def _ask(
        self, starts: TensorDict, horizon: int, generator: Generator, version: int
    ) -> Asked:
        if self.weights.begun is None:
            begun = self.weights.begin(version)
            for actor in self.actors:
                actor.begin.remote(*begun)
        weights = self.weights.newest(version)
        count = min(len(self.actors), len(starts))
        rows = torch.arange(len(starts)).tensor_split(count)
        drawn = self._drawn(generator, count)
        asked = Asked()
        for index, own in enumerate(rows):
            part = starts[own.to(starts.device)].exclude("next_obs").to_dict()
            arrays = tree_map(as_array, part)
            asked.shares.append((*weights, arrays, horizon, drawn[index]))
            asked.answers.append(self._call(index, asked.shares[-1]))
        return asked

    def _drawn(self, generator: Generator, count: int) -> list[Any]:
        """The generator's state for the first actor, and a seed for each other one."""
        copied = Generator(generator.device)
        copied.set_state(generator.get_state())
        options = {"generator": copied, "device": copied.device}
        seeds: list[Any] = torch.randint(2**62, (count,), **options).tolist()
        if copied.device.type == self._device:
            seeds[0] = generator.get_state().numpy()
        return seeds

    def _call(self, index: int, share: tuple[Any, ...]) -> tuple[int, Any]:
        return self.lives[index], self.actors[index].imagine.remote(*share)

    def _answered(self, asked: Asked) -> Any:
        """Wait for the segments; the state of the first actor's generator."""
        if asked.parts is not None:
            return None
        found = [self._answer(index, asked) for index in range(len(asked.shares))]
        device = self.algorithm.device
        asked.parts = [
            TensorDict(tree_map(torch.tensor, arrays), size).to(device)
            for arrays, size, _ in found
        ]
        return found[0][2]

    def _answer(self, index: int, asked: Asked) -> Any:
        """The answer of an actor, or of its replacement if it has died."""
        while True:
            life, answer = asked.answers[index]
            try:
                found = answer_of(f"imagination actor {index}", answer)
            except DeadWorkerError:
                if life == self.lives[index]:
                    self._restart(index)
                asked.answers[index] = self._call(index, asked.shares[index])
            else:
                self.lives.did_work(index)
                return found

    def _made(self, index: int) -> Any:
        place = "imagination_actors", index
        return self.cluster.actor(ImaginationRolloutActor, place)

    def _restart(self, index: int) -> None:
        self.lives.begin(index)
        self.cluster.kill(self.actors[index])
        self.actors[index] = self._made(index)
        self.actors[index].begin.remote(*(self.weights.begun or ()))
