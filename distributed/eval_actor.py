"""An actor that plays episodes of evaluations, with the numbers of a single process."""

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors.evaluation import Evaluation, evaluate
from yieldrl.collectors.pace import Pace
from yieldrl.distributed.recipes import wrapped
from yieldrl.distributed.weights import Signature, load
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations import Config, derive_seed, seed_everything


@dataclass
class Share:
    """Environments that one actor plays in: all of a task, or some of them.

    Attributes:
        source: The source that makes them, as of `yieldrl.envs.make`.
        config: The config of one process, with the number of these environments.
        trainer_class: Its `wrap_envs` wraps them.
        as_it_is: Use an environment object itself.
        first: Index of the first one, in the task.
        total: How many the task has in all; 0 if these are all.
    """

    source: Any
    config: Config
    trainer_class: Any
    as_it_is: bool
    first: int = 0
    total: int = 0

    def make(self) -> VectorEnv[Any, Any, Any] | None:
        """The environments; None if these cannot be separated from the task's others.

        Those of a batch that draw from one generator cannot: the random numbers of each
        depend on the others.
        """
        seed_everything(derive_seed(self.config.seed, f"evaluation {self.first}"))
        make = environments.make if self.as_it_is else environments.make_eval
        made = make(self.source, self.config)
        if self.total and not isinstance(made, SyncVectorEnv | AsyncVectorEnv):
            made.close()
            return None
        return wrapped(made, self.config, self.trainer_class)


class EvalActor:
    """Plays shares of evaluations with a copy of the policy of its own.

    Args:
        agent: The agent to act with until `play` or `take` gets another one.
    """

    def __init__(self, agent: Any = None) -> None:
        torch.set_num_threads(1)  # actors share the cores
        self._agent: Any = agent
        self._recipe = b""  # the agent's recipe
        self._shares: dict[bytes, tuple[Share, Any]] = {}

    def play(
        self,
        share: bytes,
        agent: bytes,
        signature: Signature,
        weights: Mapping[str, Any],
        episodes: int,
        seed: int,
    ) -> Evaluation | None:
        """Play whole episodes; None if the share has to be the whole task.

        Args:
            share: A `Share`, pickled.
            agent: An `AgentRecipe`, pickled.
            signature: Signature of the weights.
            weights: Learned tensors, `packed`.
            episodes: How many to play in the share's environments.
            seed: Seed of the first environment of the task.

        Raises:
            SignatureError: If the weights are not this model's.
        """
        if share not in self._shares:
            own: Share = pickle.loads(share)
            self._shares[share] = own, own.make()
        own, envs = self._shares[share]
        if envs is None:
            return None
        if self._recipe != agent:
            self._agent = pickle.loads(agent).make(own.config)
            self._recipe = agent
        load(self._agent.model, weights, signature)
        acts = _AmongOthers(self._agent, own, envs.num_envs)
        return evaluate(acts, envs, episodes, seed + own.first)

    def take(self, agent: bytes, config: Config) -> None:
        """Act with this agent from now on: an `AgentRecipe`, pickled, with weights."""
        self._agent = pickle.loads(agent).make(config)

    def play_one(self, share: bytes, seed: int) -> tuple[Evaluation, float]:
        """Play one episode of a task that is not shared; and how long that took, in s.

        Environments of another task are closed first: some take much memory.
        """
        began = time.monotonic()
        result = evaluate(self._agent, self._alone(share), 1, seed)
        return result, time.monotonic() - began

    def pace(self, share: bytes, seed: int) -> Pace:
        """The longest time of an episode of such a task."""
        return Pace.of(self._agent, lambda: self._alone(share), seed)

    def close(self) -> None:
        """Close all environments."""
        for _, envs in self._shares.values():
            if envs is not None:
                envs.close()
        self._shares.clear()

    def _alone(self, share: bytes) -> VectorEnv[Any, Any, Any]:
        if share not in self._shares:
            self.close()
            own: Share = pickle.loads(share)
            self._shares[share] = own, own.make()
        envs = self._shares[share][1]
        assert envs is not None
        return envs


class _AmongOthers:
    """An agent that acts for some environments, in a batch of the size of all.

    Matrix products round differently in a smaller batch. The other rows are copies.
    """

    def __init__(self, agent: Any, share: Share, count: int) -> None:
        self._agent, self.has_memory = agent, agent.has_memory
        self._own = slice(share.first, share.first + count)
        self._rows = np.zeros(share.total or count, np.int64)
        self._rows[self._own] = np.arange(count)

    def predict(self, obs: Any) -> Any:
        return self._agent.predict(tree_map(self._filled, obs))[self._own]

    def begin_episode(self, where: Any = None) -> None:
        self._agent.begin_episode(None if where is None else self._filled(where))

    def _filled(self, rows: Any) -> Any:
        return rows[self._rows]
