"""Processes that learn together: the trainer calls them once for each rollout."""

import logging
import os
import pickle
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.core import (
    Config,
    defer_keyboard_interrupt,
    keep_freed_memory,
    means,
    ranks,
    seed_everything,
)
from yieldrl.core.trees import PLAIN, map_tensors
from yieldrl.distributed import references
from yieldrl.distributed.actors import (
    WAIT_SECONDS,
    DeadWorkerError,
    WorkerError,
    answer_of,
)
from yieldrl.distributed.engines import make_engine
from yieldrl.distributed.recipes import Recipe, pickled
from yieldrl.distributed.weights import Weights, learned
from yieldrl.envs.arrays import as_tensors

log = logging.getLogger("yieldrl.distributed")

DEATH_SECONDS = 5.0
"""Seconds within which Ray notices that a process has ended."""


class LearnerError(RuntimeError):
    """A learner has failed, so that none of them can go on."""


class DeadLearnerError(LearnerError):
    """The process of a learner has ended."""


@dataclass
class Orders:
    """The state of the trainer's algorithm that learners need for the next update."""

    continues: bool  # whether episodes continue those of the previous rollout
    counters: dict[str, int]  # by name
    settings: dict[str, Any]  # see `settings_of`
    config: bytes | None = None  # another one, pickled
    state: Any = None  # the parts of its state that learners have otherwise


@dataclass
class Learned:
    """The result of an update by all learners."""

    steps: list[dict[str, float]]  # metrics of every gradient step, over all learners
    settings: dict[str, Any]  # see `settings_of`
    weights: Weights | None = None  # the new ones; from the first learner alone


class TrainerActor:
    """A rank of the learner, with its own model and optimizer.

    Args:
        rank: Number of this learner.
        count: Number of learners.
        recipe: The algorithm's `Recipe`, pickled.
    """

    def __init__(self, rank: int, count: int, recipe: bytes) -> None:
        self.rank, self.count, self._recipe = rank, count, recipe
        self.algorithm: Any = None
        self.taken: Any = None  # the observations that it has taken
        self._whole: Any = None  # what saves and loads it: its engine, if it has one

    def address(self) -> tuple[str, int]:
        """The address of this learner: its host, and a free port."""
        import ray

        with socket.socket() as free:
            free.bind(("", 0))
            return ray.util.get_node_ip_address(), free.getsockname()[1]

    def begin(self, address: tuple[str, int]) -> None:
        """Join the others, and make the algorithm."""
        host, port = address
        os.environ |= {"RANK": str(self.rank), "WORLD_SIZE": str(self.count)}
        os.environ |= {"MASTER_ADDR": host, "MASTER_PORT": str(port)}
        os.environ["LOCAL_RANK"] = "0"  # index among the visible GPUs
        recipe = pickle.loads(self._recipe)
        config = recipe.config
        torch.set_num_threads(config.threads or 1)
        keep_freed_memory()
        seed_everything(ranks().derive_seed(config.seed, "learner"))
        self.algorithm = self._whole = recipe.make()
        layout = references.stored_layout(self.algorithm)
        self.taken = references.TakenRows(layout)
        if self.count > 1:
            self._whole = make_engine(config, self.algorithm)

    def take(self, *args: Any) -> set[int]:
        """Take observations from where workers put them; see `TakenRows`."""
        return self.taken.take(*args)

    def rows(self, tickets: np.ndarray) -> dict[str, Any]:
        """The observations of tickets `[T, n]`, as arrays."""
        rows = self.taken.rows(torch.from_numpy(np.array(tickets)))
        return map_tensors(Tensor.numpy, rows.to_dict())

    def update(self, rollout: Mapping[str, Any], orders: Orders) -> Learned:
        """Learn from this learner's share of a rollout, together with the others.

        Args:
            rollout: Entries `[T, n, ...]` as arrays, nested or not; with tickets, or
                with observations.
            orders: What to take over from the trainer's algorithm before.
        """
        algorithm = self.algorithm
        self._follow(orders)
        size = rollout["reward"].shape
        data = TensorDict(as_tensors(rollout), size)
        if "ticket" in rollout:
            data.update(self.taken.learn_from(data.pop("ticket")))
        data = data.to(algorithm.device)
        if not orders.continues:
            algorithm.forget_episodes()
        minibatches, logs = algorithm.begin(data)
        steps = []
        for step in algorithm.update(minibatches):
            steps.append({k: float(x) for k, x in {**logs, **step}.items()})
            logs = {}
        result = Learned(steps, settings_of(algorithm))
        with algorithm.runtime.gathered():
            if self.rank == 0:
                version = algorithm.counters.policy_version
                result.weights = Weights.of(learned(algorithm.model), version)
        return result

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's state, on the CPU."""
        return map_tensors(Tensor.cpu, self._whole.state_dict())

    def _follow(self, orders: Orders) -> None:
        algorithm = self.algorithm
        if orders.config is not None:
            algorithm.config = pickle.loads(orders.config)
        if orders.state is not None:
            own = self.state_dict()
            state = {**own, **share_of(orders.state, own, self.rank)}
            self._whole.load_state_dict(state)
        algorithm.counters.restore(orders.counters)
        apply_settings(orders.settings, algorithm)


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

    Attributes:
        tickets: Lets them take observations.
    """

    def __init__(self, cluster: Any, algorithm: Any, config: Config) -> None:
        self.cluster, self.algorithm, self.config = cluster, algorithm, config
        self.count = config.learners
        self.actors: list[Any] = []
        self.tickets = references.Tickets(self)
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

    def ask_each(self, method: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers of all to calls with arguments of their own, or LearnerError."""
        self._start()
        pairs = zip(self.actors, args, strict=True)
        return self._get([getattr(one, method).remote(*each) for one, each in pairs])

    def mirror(self) -> None:
        """Copy their whole state into the trainer's algorithm."""
        if not self._behind:
            whole = self.algorithm.state_dict()
            states = self.ask_each("state_dict", [()] * self.count)
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
            self._ask(rollout, continues)
        answers: list[Learned] = self._get(self._asked)
        with defer_keyboard_interrupt():
            self._asked = []
            first, algorithm = answers[0], self.algorithm
            assert first.weights is not None
            apply_settings(first.settings, algorithm)
            first.weights.load(algorithm.model)
            self._theirs = first.weights.checksum()
            algorithm.counters.policy_version = first.weights.version
            self._steps.extend(first.steps)

    def _ask(self, rollout: TensorDict, continues: bool) -> None:
        """Start the learners, and ask them to learn as the algorithm is now."""
        self._start()
        algorithm = self.algorithm
        orders = Orders(continues, asdict(algorithm.counters), settings_of(algorithm))
        if algorithm.config is not self.config:
            self.config = algorithm.config
            orders.config = pickled(self._own_config())
        if self._behind:
            orders.state = algorithm.state_dict()
        elif Weights.of(learned(algorithm.model), 0).checksum() != self._theirs:
            orders.state = {"model": algorithm.model.state_dict()}
        orders.state = map_tensors(Tensor.cpu, orders.state)
        sent = self.cluster.put(orders)
        arrays = references.shares(rollout, self.count)
        with defer_keyboard_interrupt():  # requests must be completed
            pairs = zip(self.actors, arrays, strict=True)
            self._asked = [actor.update.remote(part, sent) for actor, part in pairs]
            self._behind = False

    def _start(self) -> None:
        """Start them, if that was not done; LearnerError if they have ended."""
        if self._ended:
            raise LearnerError(f"{self._ended}: go on from the newest checkpoint")
        if self.actors:
            return
        self.config = self.algorithm.config
        recipe = pickled(Recipe.of(self.algorithm, self._own_config()))
        for rank in range(self.count):
            args = rank, self.count, recipe
            self.actors.append(self.cluster.actor(TrainerActor, "learners", *args))
        [address] = self._get([self.actors[0].address.remote()])
        self.ask_each("begin", [(address,)] * self.count)

    def _own_config(self) -> Config:
        """The config of one learner, with its share of the environments."""
        return self.config.in_one_process(num_envs=self.config.num_envs // self.count)

    def _get(self, asked: Sequence[Any]) -> list[Any]:
        """All answers; if one learner fails all end, as the others would wait for it.

        Raises:
            LearnerError: If one fails.
        """
        ray, waiting = self.cluster.ray, [*asked]
        error: WorkerError | None = None
        while waiting and error is None:
            ready, waiting = ray.wait(waiting, timeout=WAIT_SECONDS)
            error = _error(asked, ready)
            if not ready:
                counts = len(waiting), len(asked), WAIT_SECONDS
                log.warning("%d of %d learners have not answered for %g s", *counts)
        if error is None:
            return ray.get([*asked])
        # A death causes errors of others: lost connections are noticed sooner.
        ready, _ = ray.wait(asked, num_returns=len(asked), timeout=DEATH_SECONDS)
        error = _error(asked, ready) or error
        with defer_keyboard_interrupt():
            self._asked, self._ended = [], str(error)
            for actor in self.actors:
                self.cluster.kill(actor)
        dead = isinstance(error, DeadWorkerError)
        raise (DeadLearnerError if dead else LearnerError)(self._ended) from error


def _error(asked: Sequence[Any], ready: Sequence[Any]) -> WorkerError | None:
    """A death among the answers that are there, or else another error."""
    found = None
    for answer in ready:
        try:
            answer_of(f"learner {asked.index(answer)}", answer)
        except DeadWorkerError as death:
            return death
        except WorkerError as error:
            found = found or error
    return found


def settings_of(algorithm: Any) -> dict[str, Any]:
    """The settings that a program may change between two updates: numbers and strings
    of an algorithm, the options of its optimizers, and which parameters are trained."""
    attributes = vars(algorithm).items()
    optimizers = {k: v for k, v in attributes if isinstance(v, Optimizer)}
    return {
        "plain": {k: v for k, v in attributes if isinstance(v, PLAIN)},
        "groups": {k: v.state_dict()["param_groups"] for k, v in optimizers.items()},
        "trained": {k: p.requires_grad for k, p in algorithm.model.named_parameters()},
    }


def apply_settings(settings: Mapping[str, Any], algorithm: Any) -> None:
    """Give an algorithm the settings of another one."""
    for name, value in settings["plain"].items():
        setattr(algorithm, name, value)
    for name, groups in settings["groups"].items():
        pairs = zip(getattr(algorithm, name).param_groups, groups, strict=True)
        for group, options in pairs:
            group.update(options, params=group["params"])
    for name, parameter in algorithm.model.named_parameters():
        if parameter.requires_grad != settings["trained"][name]:
            parameter.requires_grad_(not parameter.requires_grad)


def join_states(whole: Any, states: Sequence[Any]) -> Any:
    """One state from those of all learners.

    Tensors of other shapes than in `whole` are of the learners' own environments: they
    are put together along the first axis. All else is the first learner's.

    >>> join_states({"carry": torch.zeros(2)}, [{"carry": torch.ones(1)}] * 2)
    {'carry': tensor([1., 1.])}
    """
    first = states[0]
    if isinstance(first, Mapping):
        wholes = whole if isinstance(whole, Mapping) else {}
        return {
            name: join_states(wholes.get(name), [state[name] for state in states])
            for name in first
        }
    parted = isinstance(whole, Tensor) and isinstance(first, Tensor)
    return torch.cat([*states]) if parted and whole.shape != first.shape else first


def share_of(state: Any, own: Any, rank: int) -> Any:
    """A learner's share of a state: its rows, where its `own` has fewer."""
    if isinstance(state, Mapping):
        owns = own if isinstance(own, Mapping) else {}
        return {k: share_of(value, owns.get(k), rank) for k, value in state.items()}
    both = isinstance(state, Tensor) and isinstance(own, Tensor)
    if both and own.ndim > 0 and len(own) < len(state):
        return state.narrow(0, rank * len(own), len(own))
    return state
