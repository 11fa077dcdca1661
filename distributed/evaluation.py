"""Evaluations that actors share, with the numbers of an evaluation in process."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from yieldrl.collectors.evaluation import OBJECTS, Evaluation, Evaluator
from yieldrl.distributed.answers import DeadWorkerError, answer_of
from yieldrl.distributed.eval_actor import EvalActor, Share
from yieldrl.distributed.lives import Lives
from yieldrl.distributed.pool import WorkerPool, pickled
from yieldrl.distributed.recipes import AgentRecipe
from yieldrl.distributed.weights import Signature, learned, packed
from yieldrl.envs.evaluation import most_eval_envs


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
        lives: How often each actor was started again.
    """

    def __init__(
        self, *args: Any, pool: WorkerPool, trainer_class: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.count = count = self._config.eval_actors
        self._cluster, self._trainer_class = pool.cluster, trainer_class
        self.lives = Lives("eval actor", count, "an evaluation")
        self.actors = [self._new(index) for index in range(count)]
        self._sent_agent: Any = None
        self._recipe: Any = None  # the agent's recipe, in Ray's object store
        self._undivided: set[str] = set()  # tasks for one actor only

    def play(self, agent: Any, episodes: int, seed: int) -> Evaluation:
        """Play so many episodes of each task.

        Raises:
            ValueError: If `episodes` is less than 1.
            WorkerError: If an environment or the policy fails in an actor, or one dies
                again and again.
        """
        if episodes < 1:
            raise ValueError(f"episodes = {episodes}: play at least one")
        how = *self._sent(agent), seed
        while True:
            shares = list(self._shares(episodes))
            asked = [self._ask(i, share, how) for i, (_, *share) in enumerate(shares)]
            parts = []
            for (task, *share), ask in zip(shares, asked, strict=True):
                parts.append((task, self._answer(ask, share, how)))
            undivided = {task for task, part in parts if part is None}
            if not undivided:
                return Evaluation.joined([part.of_task(task) for task, part in parts])
            self._undivided |= undivided

    def _shares(self, episodes: int) -> Iterator[tuple[str, bytes, int]]:
        """Task, `Share` and number of episodes of all shares to play."""
        most = max(1, self.count // len(self.sources))
        for task, source in self.sources.items():
            total = min(self._config.eval_episodes, most_eval_envs(source))
            own = self._as_it_is and isinstance(source, OBJECTS)
            divided = not own and task not in self._undivided and most > 1
            for some in np.array_split(range(total), most if divided else 1):
                if len(some) == 0:
                    continue
                config = self._config.in_one_process(
                    device="cpu", eval_episodes=len(some)
                )
                parts = source, config, self._trainer_class, own
                whole = 0 if len(some) == total else total
                count = sum(episodes // total + (i < episodes % total) for i in some)
                if count:
                    share = Share(*parts, int(some[0]), whole)
                    yield task, pickled(share), count if whole else episodes

    def _sent(self, agent: Any) -> tuple[Any, Signature, Any]:
        """The agent's recipe, and its current weights, in Ray's object store."""
        put = self._cluster.ray.put
        if self._sent_agent is not agent:
            kinds = type(agent), type(agent.algorithm)
            recipe = AgentRecipe(*kinds, deepcopy(agent.model).to("cpu"))
            self._recipe, self._sent_agent = put(pickled(recipe)), agent
        tensors = learned(agent.model)
        signature = Signature.of(tensors, agent.policy_version)
        return self._recipe, signature, put(packed(tensors))

    def _ask(self, number: int, share: Any, how: Any) -> tuple[int, int, Any]:
        """Ask for a share: the actor, its restart count, and the future answer."""
        index = number % self.count
        (recipe, episodes), (*parts, seed) = share, how
        play = self.actors[index].play
        return index, self.lives[index], play.remote(recipe, *parts, episodes, seed)

    def _answer(self, asked: tuple[int, int, Any], share: Any, how: Any) -> Any:
        """The result of a share, from another actor if the first one died."""
        while True:
            index, life, answer = asked
            try:
                found = answer_of(f"eval actor {index}", answer)
            except DeadWorkerError:
                if life == self.lives[index]:
                    self._restart(index)
                asked = self._ask(index, share, how)
            else:
                self.lives.did_work(index)
                return found

    def _new(self, index: int) -> Any:
        return self._cluster.actor(EvalActor, ("eval_actors", index))

    def _restart(self, index: int) -> None:
        self.lives.begin(index)
        self._cluster.kill(self.actors[index])
        self.actors[index] = self._new(index)
