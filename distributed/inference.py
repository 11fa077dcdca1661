"""Inference actors choose the actions of many rollout workers, in batches."""

import asyncio
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from yieldrl.distributed.weight_group import Seat, WeightGroup
from yieldrl.distributed.weights import Signature, load
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations import Config, seed_everything
from yieldrl.foundations.conversion import as_array

BATCH_SECONDS = 0.01
"""Seconds that observations wait for those of other workers."""


@dataclass
class Question:
    """Observations `[n, ...]` of a worker that wait for actions."""

    obs: Any
    num_rows: int
    sample_step: int
    answer: asyncio.Future[Any]
    since: float = field(default_factory=time.perf_counter)


class InferenceActor:
    """Acts for many rollout workers with one copy of the policy.

    Observations wait until `size` rows are there, or for `seconds`; then the
    policy acts once for all of them. Weights are replaced between two batches.

    Args:
        config: The agent's config: its seed, and rows of all its workers as `num_envs`.
        size: Rows at which a batch is complete.
        seconds: How long rows wait for others.
    """

    def __init__(
        self, config: Config, size: int, seconds: float = BATCH_SECONDS
    ) -> None:
        torch.set_num_threads(1)  # Ray gives it one core
        self.config, self.size, self.seconds = config, size, seconds
        self._group: WeightGroup | None = None
        self._waiting: list[Question] = []
        self._timer: asyncio.TimerHandle | None = None
        self._batches = self._rows = self._questions = 0
        self._waited = 0.0  # seconds of all questions together

    def begin(self, recipe: bytes, state: Mapping[str, Any] | None = None) -> None:
        """Make an agent from a pickled `AgentRecipe`; or go on from a state."""
        seed_everything(self.config.seed)
        self.agent = pickle.loads(recipe).make(self.config)
        if state is not None:
            self.agent.load_state_dict(state)

    def load(
        self, signature: Signature, weights: Mapping[str, Any], before: Any = None
    ) -> int:
        """Act with these weights, `packed`, from the next batch on; their version.

        Ray does not keep the order of calls of an async actor, but waits for their
        arguments, such as the answer to the call `before`.

        Raises:
            SignatureError: If they are not this model's.
        """
        load(self.agent.model, weights, signature)
        self.agent.policy_version = signature.version
        return signature.version

    def receive(self, seat: Seat, signature: Signature, before: Any = None) -> int:
        """As `load`, but from a process group, whose sender waits for all receivers."""
        if self._group is None or self._group.seat != seat:
            self._group = WeightGroup(seat)
        try:
            self._group.receive(self.agent.model, signature)
        except BaseException:
            self._group = None
            raise
        self.agent.policy_version = signature.version
        return signature.version

    async def act(self, obs: Any, num_rows: int, sample_step: int) -> tuple[Any, int]:
        """Actions for arrays `[n, ...]`, and rows of the batch that they were in.

        The answer has `action` and `extras`, arrays `[n, ...]`. Among these is always
        the `policy_version [n]` of the weights that chose the actions.
        """
        loop = asyncio.get_running_loop()
        question = Question(obs, num_rows, sample_step, loop.create_future())
        self._waiting.append(question)
        if sum(each.num_rows for each in self._waiting) >= self.size:
            self._answer()
        elif self._timer is None:
            self._timer = loop.call_later(self.seconds, self._answer)
        return await question.answer

    def statistics(self, before: Any = None) -> dict[str, Any]:
        """Of all batches: their number, mean rows, and the ms that rows waited."""
        waited = 1000 * self._waited / max(1, self._questions)
        return {
            "batches": self._batches,
            "inference_batch": self._rows / max(1, self._batches),
            "inference_actor_ms": waited,
        }

    def state_dict(self, before: Any = None) -> dict[str, Any]:
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
        now, rows = time.perf_counter(), sum(each.num_rows for each in waiting)
        self._batches, self._rows = self._batches + 1, self._rows + rows
        self._questions += len(waiting)
        for question, answer in zip(waiting, answers, strict=True):
            self._waited += now - question.since
            if not question.answer.done():  # its worker may have died
                question.answer.set_result((answer, rows))

    def _act(self, waiting: Sequence[Question]) -> list[Any]:
        """The agent's actions for each request."""
        agent = self.agent
        agent.counters.sample_step = min(each.sample_step for each in waiting)
        parts = [question.obs for question in waiting]
        obs = parts[0]
        if len(parts) > 1:
            obs = tree_map(lambda *own: np.concatenate(own), *parts)
        action, extras = agent.sample(obs)
        sizes = [question.num_rows for question in waiting]
        versions = np.full(sum(sizes), agent.policy_version)
        extras = {"policy_version": versions, **extras}
        found = tree_map(as_array, {"action": action, "extras": extras})
        ends = np.cumsum(sizes)
        bounds = zip(ends - sizes, ends, strict=True)
        return [tree_map(lambda x, a=a, b=b: x[a:b], found) for a, b in bounds]
