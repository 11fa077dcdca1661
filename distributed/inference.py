"""Inference actors choose the actions of many rollout workers, in batches."""

import asyncio
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from yieldrl.core import Config, Counters, derive_seed, seed_everything, spaces
from yieldrl.core.conversion import as_array
from yieldrl.distributed.actors import ActorPool, DeadWorkerError, answer_of
from yieldrl.distributed.weights import StoredVersion, Weights
from yieldrl.envs.arrays import tree_map

BATCH_SECONDS = 0.01
"""Seconds that observations wait for those of other workers."""


@dataclass
class Question:
    """Observations `[n, ...]` of a worker that wait for actions."""

    obs: Any
    num_rows: int
    sample_step: int
    answer: asyncio.Future[Any]


class InferenceActor:
    """Acts for many rollout workers with one copy of the policy.

    Observations wait until `size` rows are there, or for `seconds`; then the
    policy acts once for all of them. Weights are replaced between two batches.

    Args:
        config: The agent's config: its seed, and rows of all its workers as `num_envs`.
        size: Rows at which a batch is complete.
        begin: Arguments of `begin`, if it is to begin at once.
    """

    def __init__(self, config: Config, size: int, *begin: Any) -> None:
        torch.set_num_threads(1)  # Ray gives it one core
        self.config, self.size, self.seconds = config, size, BATCH_SECONDS
        self._waiting: list[Question] = []
        self._timer: asyncio.TimerHandle | None = None
        if begin:
            self.begin(*begin)

    def begin(self, recipe: bytes, state: Mapping[str, Any] | None = None) -> None:
        """Make an agent from a pickled `Recipe`; or go on from a state."""
        seed_everything(self.config.seed)
        self.agent = pickle.loads(recipe).make(self.config)
        if state is not None:
            self.agent.load_state_dict(state)
        self._loaded = -1  # version of the weights

    def load(self, weights: Weights) -> None:
        """Act with these weights from the next batch on.

        Raises:
            SignatureError: If they are not this model's.
        """
        weights.load(self.agent.model)
        version = weights.version
        self._loaded = self.agent.counters.policy_version = version

    async def act(
        self,
        obs: Any,
        num_rows: int,
        sample_step: int,
        weights: StoredVersion | None = None,
    ) -> tuple[Any, int]:
        """Actions for arrays `[n, ...]`, and rows of the batch that they were in.

        The answer has `action` and `extras`, arrays `[n, ...]`. Among these is always
        the `policy_version [n]` of the weights that chose the actions.

        Args:
            obs: Observations of a worker.
            num_rows: Their number `n`.
            sample_step: Steps of all environments of all workers before.
            weights: Weights to act with, if this actor has older ones.
        """
        if weights is not None and weights.version > self._loaded:
            fetched = await weights.refs[0]
            if weights.version > self._loaded:  # no other question has brought them
                self.load(fetched)
        loop = asyncio.get_running_loop()
        question = Question(obs, num_rows, sample_step, loop.create_future())
        self._waiting.append(question)
        if sum(each.num_rows for each in self._waiting) >= self.size:
            self._answer()
        elif self._timer is None:
            self._timer = loop.call_later(self.seconds, self._answer)
        return await question.answer

    def state_dict(self) -> dict[str, Any]:
        """The state of the agent, without weights."""
        state = self.agent.state_dict()
        del state["algorithm"]  # it gets the learner's weights
        return state

    def _answer(self) -> None:
        """Act for all waiting requests."""
        if self._timer is not None:
            self._timer.cancel()
        waiting, self._waiting, self._timer = self._waiting, [], None
        try:
            answers = self._act(waiting)
        except Exception as error:
            for question in waiting:
                if not question.answer.done():
                    question.answer.set_exception(error)
            return
        rows = sum(each.num_rows for each in waiting)
        for question, answer in zip(waiting, answers, strict=True):
            if not question.answer.done():  # its worker may have died
                question.answer.set_result((answer, rows))

    def _act(self, waiting: Sequence[Question]) -> list[Any]:
        """The agent's actions for each request."""
        agent = self.agent
        agent.counters.sample_step = min(each.sample_step for each in waiting)
        parts = [question.obs for question in waiting]
        obs = parts[0]
        if len(parts) > 1:
            obs = tree_map(lambda *arrays: np.concatenate(arrays), *parts)
        action, extras = agent.sample(obs)
        sizes = [question.num_rows for question in waiting]
        versions = np.full(sum(sizes), agent.policy_version)
        extras = {"policy_version": versions, **extras}
        arrays = tree_map(as_array, {"action": action, "extras": extras})
        ends = np.cumsum(sizes)
        bounds = zip(ends - sizes, ends, strict=True)
        return [tree_map(lambda x, a=a, b=b: x[a:b], arrays) for a, b in bounds]


class RemoteAgent:
    """Acts by asking an inference actor, in place of a copy of the policy.

    Args:
        num_envs: Environments of its worker.
    """

    has_memory, device = False, torch.device("cpu")

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.counters = num_envs, Counters()
        self._actor: Any = None
        self._weights: StoredVersion | None = None  # for the next question
        self._answers: list[tuple[int, int, float]] = []

    def ask(self, actor: Any, weights: StoredVersion) -> None:
        """Ask this actor from now on; it gets these weights with the first question."""
        self._actor, self._answers, self._weights = actor, [], weights
        self.counters.policy_version = weights.version

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """Actions and extras from the inference actor; see `InferenceActor.act`.

        Raises:
            WorkerError: If the actor has died, or the policy fails.
        """
        began, arrays = time.perf_counter(), tree_map(as_array, obs)
        step = self.counters.sample_step
        question = arrays, self.num_envs, step, self._weights
        asked = self._actor.act.remote(*question)
        answer, rows = answer_of("its inference actor", asked)
        self._weights = None
        action, extras = answer["action"], answer["extras"]
        milliseconds = 1000 * (time.perf_counter() - began)
        self._answers.append((int(extras["policy_version"].min()), rows, milliseconds))
        tensors = spaces.holds_tensors(obs)
        return torch.from_numpy(np.array(action)) if tensors else action, extras

    def report(self) -> tuple[int, dict[str, float]]:
        """Since `ask`: the oldest version that acted; and metrics: the mean rows of a
        batch, and the milliseconds until its answer."""
        versions, rows, times = zip(*self._answers, strict=True)
        means = {"inference_batch": np.mean(rows), "inference_ms": np.mean(times)}
        return min(versions), {name: float(mean) for name, mean in means.items()}

    def count_steps(self, steps: int) -> None:
        """Count environment steps."""
        self.counters.sample_step += steps

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Do nothing: the agent has no memory."""

    def state_dict(self) -> dict[str, Any]:
        """The counters; random numbers are the inference actor's."""
        return {"algorithm": None, **asdict(self.counters)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.counters.restore(state)


class InferencePool(ActorPool):
    """Inference actors; worker `i` of a run asks number `i % count`.

    Args:
        cluster: Has a place for each.
        config: Says how many there are, and how many rollout workers.
        worker: The config of one worker.
    """

    def __init__(self, cluster: Any, config: Config, worker: Config) -> None:
        self.config, self.worker = config, worker
        parts = cluster, "inference_actors", InferenceActor, config.inference_actors
        super().__init__(*parts, "a finished segment", self._arguments)

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

    def actor_of(self, worker: int) -> Any:
        """The actor for a worker to ask; None if workers have the policy."""
        return self.actors[worker % self.count] if self.count else None

    def replace_dead(self, worker: int, asked: Any, error: BaseException) -> bool:
        """Whether a worker's error is the death of the actor that it `asked`, which is
        then replaced.

        Raises:
            WorkerError: If it died too often in a row.
        """
        if not isinstance(getattr(error.__cause__, "cause", None), DeadWorkerError):
            return False
        self.replace(worker % self.count, asked)
        return True

    def _arguments(self, index: int, life: int) -> tuple[Any, ...]:
        workers = len(range(index, self.config.rollout_workers, self.count))
        seed = self.worker.seed
        if index or life:  # the first has the seed of a run without actors
            seed = derive_seed(seed, f"inference actor {index}, {life}")
        device = "cuda" if self.config.device.startswith("cuda") else "cpu"
        rows = workers * self.worker.num_envs
        parts = {"num_envs": rows, "seed": seed, "device": device}
        return replace(self.worker, **parts), rows
