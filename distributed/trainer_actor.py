"""One of the processes that learn together, each from its share of every rollout."""

import os
import pickle
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.core import ranks, seed_everything
from yieldrl.core.trees import map_tensors
from yieldrl.distributed.engines import make_engine
from yieldrl.distributed.weights import Weights, learned, tensors_of
from yieldrl.envs.arrays import as_tensors

PLAIN = (bool, int, float, str, type(None))


@dataclass
class Learned:
    """The result of an update by all learners."""

    steps: list[dict[str, float]]  # metrics of every gradient step, over all learners
    counters: dict[str, int]  # of the algorithm, by name
    settings: dict[str, Any]  # see `settings_of`
    weights: Weights | None = None  # the new ones; from the first learner alone


class TrainerActor:
    """A rank of the learner, with its own model and optimizer.

    Args:
        rank: Number of this learner.
        count: Number of learners.
        recipe: The algorithm's `Recipe` and its config, pickled.
    """

    def __init__(self, rank: int, count: int, recipe: bytes) -> None:
        self.rank, self.count = rank, count
        self._recipe = recipe
        self.algorithm: Any = None
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
        recipe, config = pickle.loads(self._recipe)
        torch.set_num_threads(config.threads or 1)
        seed_everything(ranks().derive_seed(config.seed, "learner"))
        self.algorithm = self._whole = recipe.make(config)
        if self.count > 1:
            self._whole = make_engine(config, self.algorithm)

    def load(self, state: Mapping[str, Any]) -> None:
        """Load the trainer's algorithm, with this learner's rows of environments."""
        share = share_of(as_tensors(state), self.state_dict(), self.rank)
        self._whole.load_state_dict(share)

    def load_weights(self, weights: Weights) -> None:
        """Load weights that the user changed."""
        state = self._whole.state_dict()
        weights.copy_to(tensors_of(self.algorithm.model) | state["model"])
        self._whole.load_state_dict(state)

    def configure(self, config: bytes) -> None:
        """Use another config, pickled, from now on."""
        self.algorithm.config = pickle.loads(config)

    def update(
        self,
        rollout: Mapping[str, Any],
        size: list[int],
        counters: Mapping[str, int],
        settings: Mapping[str, Any],
        continues: bool,
    ) -> Learned:
        """Learn from this learner's share of a rollout, together with the others.

        Args:
            rollout: Entries `[T, n, ...]` as arrays, nested or not.
            size: `[T, n]`.
            counters: Counters of the trainer, by name.
            settings: Settings of the trainer's algorithm.
            continues: Whether episodes continue those of the previous rollout.
        """
        algorithm = self.algorithm
        algorithm.counters.restore(counters)
        apply_settings(settings, algorithm)
        data = TensorDict(as_tensors(rollout), size).to(algorithm.device)
        if not continues:
            algorithm.forget_episodes()
        minibatches, logs = algorithm.begin(data)
        steps = []
        for step in algorithm.update(minibatches):
            steps.append({k: float(x) for k, x in {**logs, **step}.items()})
            logs = {}
        now = asdict(algorithm.counters)
        result = Learned(steps, now, settings_of(algorithm))
        with algorithm.runtime.gathered():
            if self.rank == 0:
                tensors = learned(algorithm.model)
                result.weights = Weights.of(tensors, now["policy_version"])
        return result

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's state, on the CPU."""
        return map_tensors(lambda x: x.cpu(), self._whole.state_dict())


def settings_of(algorithm: Any) -> dict[str, Any]:
    """What a program may change of an algorithm between two updates: its numbers and
    strings, the options of its optimizers, and which parameters are trained."""
    attributes = vars(algorithm)
    optimizers = {k: v for k, v in attributes.items() if isinstance(v, Optimizer)}
    return {
        "plain": {k: v for k, v in attributes.items() if isinstance(v, PLAIN)},
        "groups": {
            name: [
                {key: value for key, value in group.items() if key != "params"}
                for group in optimizer.param_groups
            ]
            for name, optimizer in optimizers.items()
        },
        "trained": {k: p.requires_grad for k, p in algorithm.model.named_parameters()},
    }


def apply_settings(settings: Mapping[str, Any], algorithm: Any) -> None:
    """Give an algorithm the settings of another one.

    Raises:
        ValueError: If its optimizers have other groups, or its model other parameters.
    """
    for name, value in settings["plain"].items():
        setattr(algorithm, name, value)
    for name, groups in settings["groups"].items():
        optimizer = getattr(algorithm, name)
        for group, options in zip(optimizer.param_groups, groups, strict=True):
            group.update(options)
    parameters = dict(algorithm.model.named_parameters())
    if parameters.keys() != settings["trained"].keys():
        name = min(parameters.keys() ^ settings["trained"].keys())
        raise ValueError(
            f"the models of learners differ in {name}: make the trainer with the model"
            " that is to be trained"
        )
    for name, trained in settings["trained"].items():
        if parameters[name].requires_grad != trained:
            parameters[name].requires_grad_(trained)


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
