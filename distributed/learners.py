"""The learners of a run: the trainer calls them once for each rollout."""

import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NoReturn

from tensordict import TensorDict
from torch import Tensor

from yieldrl.core import Config, defer_keyboard_interrupt, means
from yieldrl.core.trees import map_tensors
from yieldrl.distributed.actors import (
    DeadWorkerError,
    WorkerError,
    answer_of,
)
from yieldrl.distributed.recipes import Recipe, pickled
from yieldrl.distributed.trainer_actor import (
    Learned,
    TrainerActor,
    apply_settings,
    join_states,
    settings_of,
)
from yieldrl.distributed.weights import Weights, learned

DEATH_SECONDS = 5.0
"""Seconds within which Ray notices that a process has ended."""


class LearnerError(RuntimeError):
    """A learner has failed, so that none of them can go on."""


class DeadLearnerError(LearnerError):
    """The process of a learner has ended."""


class Learners:
    """Processes that learn together from a rollout, each from its environments' part.

    The trainer's own algorithm is their mirror: it gets their weights after each
    update, and the rest of their state when `mirror` is called. Changes to it in the
    meantime (weights, learning rates, its config, numbers among its attributes, frozen
    parameters) are sent to them before the next update.

    Args:
        cluster: A `Cluster` with resources for each of its role, `learners`.
        algorithm: The trainer's.
        config: Says how many there are; they share its environments equally.
    """

    def __init__(self, cluster: Any, algorithm: Any, config: Config) -> None:
        self.cluster, self.algorithm, self.config = cluster, algorithm, config
        self.count = config.learners
        self.actors: list[Any] = []
        self._steps: deque[dict[str, float]] = deque()  # metrics not handed out yet
        self._asked: list[Any] = []  # futures of the current update
        self._theirs = 0  # checksum of the learners' weights
        self._behind = True  # whether learners need the mirror's state
        self._ended = ""  # the reason if they have ended

    @property
    def done(self) -> bool:
        """Whether the metrics of all gradient steps were handed out."""
        return not self._steps

    def step(self, rollout: TensorDict | None, *, continues: bool) -> dict[str, float]:
        """Metrics of the next gradient step on a rollout `[T, N]`.

        The first call takes all gradient steps on it.

        Args:
            rollout: A rollout with all that acting stored; None unless they are `done`.
            continues: Whether its episodes continue those of the previous rollout.

        Raises:
            LearnerError: If a learner fails. All have ended then.
        """
        if self.done:
            assert rollout is not None
            self._update(rollout, continues)
        if self.done:  # its rows only reset
            return {}
        with defer_keyboard_interrupt():
            self.algorithm.counters.learn_step += 1
            return self._steps.popleft()

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Take all gradient steps on a rollout; means of their metrics."""
        logs = [self.step(rollout, continues=True)]
        while not self.done:
            logs.append(self.step(rollout, continues=True))
        return means(logs)

    def mirror(self) -> None:
        """Copy their whole state into the trainer's algorithm."""
        if not self._behind:
            whole, states = self.algorithm.state_dict(), self._all("state_dict")
            self.algorithm.load_state_dict(join_states(whole, states))

    def state_dict(self) -> dict[str, Any]:
        """Metrics that were not handed out yet; the rest is the algorithm's."""
        return {"steps": list(self._steps)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the state that the trainer's algorithm has now."""
        self._steps, self._behind = deque(state["steps"]), True

    def _update(self, rollout: TensorDict, continues: bool) -> None:
        """Let all learn from their parts of a rollout; mirror weights and counters."""
        if not self._asked:
            self._bring_up()
            self._ask(rollout, continues)
        answers: list[Learned] = self._get(self._asked)
        with defer_keyboard_interrupt():
            self._asked = []
            first, algorithm = answers[0], self.algorithm
            assert first.weights is not None
            apply_settings(first.settings, algorithm)
            first.weights.load(algorithm.model)
            self._theirs = checksum(first.weights)
            algorithm.counters.policy_version = first.counters["policy_version"]
            self._steps.extend(first.steps)

    def _ask(self, rollout: TensorDict, continues: bool) -> None:
        size = [len(rollout), rollout.shape[1] // self.count]
        parts = [part.to_dict() for part in rollout.chunk(self.count, dim=1)]
        arrays = [map_tensors(lambda x: x.cpu().numpy(), part) for part in parts]
        now = asdict(self.algorithm.counters), settings_of(self.algorithm), continues
        with defer_keyboard_interrupt():  # requests must be completed
            self._asked = [
                actor.update.remote(part, size, *now)
                for actor, part in zip(self.actors, arrays, strict=True)
            ]

    def _bring_up(self) -> None:
        """Start the learners, and send them what was changed here."""
        if self._ended:
            raise LearnerError(f"{self._ended}: go on from the newest checkpoint")
        if not self.actors:
            self._start()
        elif self.algorithm.config is not self.config:
            self.config = self.algorithm.config
            self._all("configure", pickled(self._own_config()))
        if self._behind:
            state = map_tensors(Tensor.cpu, self.algorithm.state_dict())
            self._all("load", self.cluster.put(state))
            self._behind = False
            return
        version = self.algorithm.counters.policy_version
        weights = Weights.of(learned(self.algorithm.model), version)
        if checksum(weights) != self._theirs:
            self._all("load_weights", self.cluster.put(weights))

    def _start(self) -> None:
        self.config = self.algorithm.config
        recipe = pickled((Recipe.of(self.algorithm), self._own_config()))
        for rank in range(self.count):
            args = rank, self.count, recipe
            self.actors.append(self.cluster.actor(TrainerActor, "learners", *args))
        [address] = self._get([self.actors[0].address.remote()])
        self._all("begin", address)

    def _own_config(self) -> Config:
        """The config of one learner, with its share of the environments."""
        return self.config.in_one_process(num_envs=self.config.num_envs // self.count)

    def _all(self, method: str, *args: Any) -> list[Any]:
        """The answers of all learners to a call."""
        return self._get([getattr(one, method).remote(*args) for one in self.actors])

    def _get(self, asked: Sequence[Any]) -> list[Any]:
        """All answers; if one learner fails all end, as the others would wait for it.

        Raises:
            LearnerError: If one fails.
        """
        ray, waiting = self.cluster.ray, [*asked]
        errors: list[WorkerError] = []
        while waiting and not errors:
            ready, waiting = ray.wait(waiting)
            errors = _errors(asked, ready)
        if errors:
            # A death causes errors of others: lost connections are noticed sooner.
            ready, _ = ray.wait(asked, num_returns=len(asked), timeout=DEATH_SECONDS)
            errors += _errors(asked, ready)
            deaths = [error for error in errors if isinstance(error, DeadWorkerError)]
            self._end((deaths or errors)[0])
        return ray.get([*asked])

    def _end(self, error: WorkerError) -> NoReturn:
        """End all learners, as one of them has failed; raise its error."""
        with defer_keyboard_interrupt():
            self._asked, self._ended = [], str(error)
            for actor in self.actors:
                self.cluster.kill(actor)
        dead = isinstance(error, DeadWorkerError)
        raise (DeadLearnerError if dead else LearnerError)(self._ended) from error


def checksum(weights: Weights) -> int:
    """A number that changes with any bit of the weights or of their names."""
    total = 0
    for name, array in weights.arrays.items():
        total = zlib.crc32(array.tobytes(), zlib.crc32(name.encode(), total))
    return total


def _errors(asked: Sequence[Any], ready: Sequence[Any]) -> list[WorkerError]:
    """The errors of answers that are there."""
    errors = []
    for answer in ready:
        try:
            answer_of(f"learner {asked.index(answer)}", answer)
        except WorkerError as error:
            errors.append(error)
    return errors
