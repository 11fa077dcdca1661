"""Inference actors choose the actions of many rollout workers, in batches."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from yieldrl.core import Config, Counters, derive_seed, seed_everything, spaces
from yieldrl.core.conversion import as_array
from yieldrl.distributed.actors import ActorPool, DeadWorkerError, answer_of
from yieldrl.distributed.weights import AgentCopy, Stored
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

    Observations wait until `size` rows are there, or for `seconds`; then the policy
    acts once for all of them. Weights are replaced between two batches.

    Args:
        seed: Seed of the agent.
        size: Rows of all its workers, at which a batch is complete.
        device: Where the agent acts.
    """

    def __init__(self, seed: int, size: int, device: str) -> None:
        torch.set_num_threads(1)  # Ray gives it one core
        seed_everything(seed)
        self.size, self.seconds = size, BATCH_SECONDS
        self.copy = AgentCopy(seed=seed, num_envs=size, device=device)
        self._waiting: list[Question] = []

    async def act(
        self, obs: Any, sample_step: int, sent: Stored | None = None
    ) -> tuple[Any, int]:
        """Actions for arrays `[n, ...]`, and rows of the batch that they were in.

        The answer has `action` and `extras`, arrays `[n, ...]`. Among these is always
        the `policy_version [n]` of the weights that chose the actions.

        Args:
            obs: Observations of a worker.
            sample_step: Steps of all environments of all workers before.
            sent: The agent to act with, if this actor has an older one.

        Raises:
            SignatureError: If its weights do not fit this actor's model.
        """
        if sent is not None:
            await self._take(sent)
        answer = asyncio.get_running_loop().create_future()
        question = Question(obs, spaces.batch_size(obs), sample_step, answer)
        self._waiting.append(question)
        if sum(each.num_rows for each in self._waiting) < self.size:
            await asyncio.wait([answer], timeout=self.seconds)
        if not answer.done():
            self._answer()
        return await answer

    async def state_dict(self, sent: Stored) -> dict[str, Any]:
        """The state of the agent, without weights."""
        await self._take(sent)
        state = self.copy.agent.state_dict()
        del state["algorithm"]  # it gets the learner's weights
        return state

    async def load_state_dict(self, sent: Stored, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        await self._take(sent)
        self.copy.agent.load_state_dict(state)
        self.copy.load(sent)

    async def _take(self, sent: Stored) -> None:
        """Act with what was sent, unless it is older, from the next batch on."""
        if not self.copy.is_newer(sent):
            return
        fetched = [await reference for reference in self.copy.lacks(sent)]
        if self.copy.is_newer(sent):  # no other question has brought it meanwhile
            self.copy.load(sent, *fetched)

    def _answer(self) -> None:
        """Act for all waiting requests."""
        waiting, self._waiting = self._waiting, []
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
        agent = self.copy.agent
        agent.counters.sample_step = min(each.sample_step for each in waiting)
        parts = [question.obs for question in waiting]
        obs = parts[0]
        if len(parts) > 1:
            obs = tree_map(lambda *arrays: np.concatenate(arrays), *parts)
        action, extras = agent.sample(obs)
        arrays = tree_map(as_array, {"action": action, "extras": extras})
        sizes = [question.num_rows for question in waiting]
        ends = np.cumsum(sizes)
        bounds = zip(ends - sizes, ends, strict=True)
        return [tree_map(lambda x, a=a, b=b: x[a:b], arrays) for a, b in bounds]


class RemoteAgent:
    """Acts by asking an inference actor, in place of a copy of the policy."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._actor: Any = None
        self._sent: Stored | None = None  # for the next question
        self._answers: list[tuple[int, int, float]] = []

    def ask(self, sent: Stored) -> None:
        """Ask an agent's actor from now on, which gets it with the first question."""
        self._actor, self._sent, self._answers = sent.actor, sent, []
        self.counters.policy_version = sent.version

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """Actions and extras from the inference actor; see `InferenceActor.act`.

        Raises:
            WorkerError: If the actor has died, or the policy fails.
        """
        began, arrays = time.perf_counter(), tree_map(as_array, obs)
        asked = self._actor.act.remote(arrays, self.sample_step, self._sent)
        answer, rows = answer_of("its inference actor", asked)
        self._sent = None
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

    @property
    def sample_step(self) -> int:
        """Environment steps of all workers."""
        return self.counters.sample_step

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
        super().__init__(*parts, "a finished segment", self._arguments_of)

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

    def _arguments_of(self, index: int, life: int) -> tuple[Any, ...]:
        workers = len(range(index, self.config.rollout_workers, self.count))
        seed = self.worker.seed
        if index or life:  # the first has the seed of a run without actors
            seed = derive_seed(seed, f"inference actor {index}, {life}")
        device = "cuda" if self.config.device.startswith("cuda") else "cpu"
        return seed, workers * self.worker.num_envs, device
