"""Evaluations that actors share, with the numbers of an evaluation in process."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import Env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors.evaluation import OBJECTS, Evaluation, Evaluator, evaluate
from yieldrl.core import Config, derive_seed, seed_everything
from yieldrl.distributed.actors import ActorPool
from yieldrl.distributed.recipes import Recipe, never_hanging, pickled, wrapped
from yieldrl.distributed.weights import AgentCopy, Store, Stored
from yieldrl.distributed.workers import WorkerPool
from yieldrl.envs.arrays import tree_map
from yieldrl.envs.make import makes_batches, most_eval_envs
from yieldrl.envs.names import resolve


@dataclass
class EnvShare:
    """Environments that one actor plays in: all of a task, or some of them."""

    source: Any  # that makes them, as of `yieldrl.envs.make`
    config: Config  # of one process, with the number of these environments
    trainer_class: Any  # its `wrap_envs` wraps them
    as_it_is: bool = False  # use an environment object itself
    first: int = 0  # index of the first one, in the task
    total: int = 0  # how many the task has in all; 0 if these are all

    def make(self) -> VectorEnv[Any, Any, Any]:
        """The environments, in a process of their own, which they may end."""
        seed_everything(derive_seed(self.config.seed, f"evaluation {self.first}"))
        return never_hanging(self._make, self.config.env_timeout)

    def _make(self) -> VectorEnv[Any, Any, Any]:
        make = environments.make if self.as_it_is else environments.make_eval
        made = make(self.source, self.config)
        return wrapped(made, self.config, self.trainer_class)


class EvalActor:
    """Plays shares of evaluations, with a copy of the policy of its own."""

    def __init__(self) -> None:
        torch.set_num_threads(1)  # actors share the cores
        self._copy = AgentCopy()
        self._envs: dict[bytes, VectorEnv[Any, Any, Any]] = {}  # by share

    def play(
        self, pickled_share: bytes, sent: Stored, episodes: int, seed: int
    ) -> Evaluation:
        """Play whole episodes.

        Args:
            pickled_share: An `EnvShare`.
            sent: The agent that plays.
            episodes: How many to play in the share's environments.
            seed: Seed of the first environment of the task.

        Raises:
            SignatureError: If the weights are not this model's.
        """
        share: EnvShare = pickle.loads(pickled_share)
        agent = self._copy.fetch(sent)
        if pickled_share not in self._envs:
            self._envs[pickled_share] = share.make()
        envs = self._envs[pickled_share]
        acting = _ActingForSome(agent, share, envs.num_envs)
        return evaluate(acting, envs, episodes, seed + share.first)


class _ActingForSome:
    """An agent that acts for some environments, in a batch of the size of all.

    Matrix products round differently in a smaller batch. The other rows are copies.
    """

    def __init__(self, agent: Any, share: EnvShare, count: int) -> None:
        self._agent, self.has_memory = agent, agent.has_memory
        self._own = slice(share.first, share.first + count)
        self._rows = np.zeros(share.total or count, np.int64)
        self._rows[self._own] = np.arange(count)

    def predict(self, obs: Any) -> Any:
        return self._agent.predict(tree_map(self._fill, obs))[self._own]

    def begin_episode(self, where: Any = None) -> None:
        self._agent.begin_episode(None if where is None else self._fill(where))

    def _fill(self, rows: Any) -> Any:
        return rows[self._rows]


class RemoteEvaluator(Evaluator):
    """Lets evaluation actors play, and joins their results.

    Environment `i` of a task has its seed and its number of episodes in any actor, and
    the policy acts in a batch of the size of all, so the numbers are those of an
    evaluation in process. Tasks are shared first, then the environments of each. An
    actor that dies is started again, and its episodes are played again.

    Args:
        args: Arguments of `Evaluator`, as are `options`.
        pool: The run's rollout workers, whose cluster has places for the actors.
        trainer_class: Its `wrap_envs` wraps the environments.
        options: See `args`.

    Attributes:
        actors: The `ActorPool` of those that play.
    """

    def __init__(
        self, *args: Any, pool: WorkerPool, trainer_class: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._cluster, self._trainer_class = pool.cluster, trainer_class
        parts = "eval_actors", EvalActor, self._config.eval_actors, "an evaluation"
        self.actors = ActorPool(self._cluster, *parts)
        self._agent: Any = None  # the agent that was stored

    def play(self, agent: Any, episodes: int, seed: int) -> Evaluation:
        """Play so many episodes of each task.

        Raises:
            ValueError: If `episodes` is less than 1.
            WorkerError: If an environment or the policy fails in an actor, or one dies
                again and again.
        """
        if episodes < 1:
            raise ValueError(f"episodes = {episodes}: play at least one")
        count = self.actors.count
        if self._agent is not agent:
            own = self._config.in_one_process(device="cpu")
            self._agent, recipe = agent, Recipe.of_agent(agent, own)
            self._store = Store(self._cluster, agent.model, recipe)
        sent = self._store.put(agent.policy_version, again=True)
        calls = []
        for number, (task, share, some) in enumerate(self._shares(episodes)):
            call = self.actors.ask(number % count, "play", share, sent, some, seed)
            calls.append((task, call))
        parts = [self.actors.result(call).of_task(task) for task, call in calls]
        return Evaluation.joined(parts)

    def _shares(self, episodes: int) -> Iterator[tuple[str, bytes, int]]:
        """Task, pickled `EnvShare` and number of episodes of all shares to play."""
        most = max(1, self.actors.count // len(self.sources))
        for task, source in self.sources.items():
            total = min(self._config.eval_episodes, most_eval_envs(source))
            as_it_is = self._as_it_is and isinstance(source, OBJECTS)
            divided = not as_it_is and most > 1 and _divides(source)
            for some in np.array_split(range(total), most if divided else 1):
                if len(some) == 0:
                    continue
                config = self._config.in_one_process(
                    device="cpu", eval_episodes=len(some)
                )
                parts = source, config, self._trainer_class, as_it_is
                whole = 0 if len(some) == total else total
                count = sum(episodes // total + (i < episodes % total) for i in some)
                if count:
                    share = EnvShare(*parts, int(some[0]), whole)
                    yield task, pickled(share), count if whole else episodes


def _divides(source: Any) -> bool:
    """Whether environments of a source can be shared: those of a batch that draw from
    one generator cannot, as the random numbers of each depend on the others."""
    source = resolve(source) if isinstance(source, str) else source
    if isinstance(source, VectorEnv):
        return isinstance(source, SyncVectorEnv | AsyncVectorEnv)
    return isinstance(source, Env) or makes_batches(source) is None
