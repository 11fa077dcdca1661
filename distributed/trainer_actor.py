"""One of the processes that learn together, each from its share of every rollout."""

import os
import pickle
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.distributed.engines import make_engine
from yieldrl.distributed.settings import apply, settings_of
from yieldrl.distributed.shares import share_of
from yieldrl.distributed.weights import (
    Signature,
    learned,
    load,
    packed,
    tensors_of,
    write,
)
from yieldrl.envs.arrays import as_tensors
from yieldrl.foundations import Config, ranks, seed_everything
from yieldrl.foundations.trees import map_tensors


@dataclass
class LearnerRecipe:
    """A recipe for a learner.

    Attributes:
        algorithm_class: Called with a model and a config.
        model: On the CPU.
        config: The config, with the number of environments of one share.
    """

    algorithm_class: Any
    model: Any
    config: Config


@dataclass
class Learned:
    """The result of an update by all learners.

    Attributes:
        steps: Metrics of every gradient step, means over all learners.
        counters: Counters of the algorithm, by name.
        settings: See `settings_of`.
        signature: Signature of the new weights; None except from the first learner.
        weights: The new weights, `packed`.
    """

    steps: list[dict[str, float]]
    counters: dict[str, int]
    settings: dict[str, Any]
    signature: Signature | None = None
    weights: Any = None


class TrainerActor:
    """A rank of the learner, with its own model and optimizer.

    Args:
        rank: Number of this learner.
        count: Number of learners.
        recipe: A `LearnerRecipe`, pickled.
    """

    def __init__(self, rank: int, count: int, recipe: bytes) -> None:
        self.rank, self.count = rank, count
        self._recipe = recipe
        self._engine: Any = None
        self.algorithm: Any = None

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
        seed_everything(ranks().derive_seed(config.seed, "learner"))
        self.algorithm = recipe.algorithm_class(recipe.model, config)
        if self.count > 1:
            self._engine = make_engine(config, self.algorithm)

    def load(self, state: Mapping[str, Any], counters: Mapping[str, int]) -> None:
        """Load the trainer's algorithm, with this learner's rows of environments."""
        share = share_of(as_tensors(state), self.state_dict(), self.rank)
        (self._engine or self.algorithm).load_state_dict(share)
        self.count_as(counters)

    def load_weights(self, signature: Signature, weights: Mapping[str, Any]) -> None:
        """Load weights that the user changed."""
        model = self.algorithm.model
        if self._engine is None:
            load(model, weights, signature)
            return
        state = self._engine.state_dict()
        write(tensors_of(model) | state["model"], weights, signature)
        self._engine.load_state_dict(state)

    def configure(self, config: bytes) -> None:
        """Use another config, pickled, from now on."""
        self.algorithm.config = pickle.loads(config)

    def count_as(self, counters: Mapping[str, int]) -> None:
        """Set the counters to those of the trainer."""
        for name, count in counters.items():
            setattr(self.algorithm.counters, name, count)

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
        self.count_as(counters)
        apply(settings, algorithm)
        data = TensorDict(as_tensors(rollout), size).to(algorithm.device)
        if not continues:
            algorithm.forget_episodes()
        minibatches, logs = algorithm.begin(data)
        algorithm.begin_update(data)
        steps = []
        while not minibatches.exhausted:
            step = algorithm.learn_from(minibatches, algorithm.train_step)
            steps.append({k: float(x) for k, x in {**logs, **step}.items()})
            logs = {}
        now = asdict(algorithm.counters)
        found = Learned(steps, now, settings_of(algorithm))
        with algorithm.runtime.gathered():
            if self.rank == 0:
                tensors = learned(algorithm.model)
                found.signature = Signature.of(tensors, now["policy_version"])
                found.weights = packed(tensors)
        return found

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's state, on the CPU."""
        state = (self._engine or self.algorithm).state_dict()
        return map_tensors(lambda x: x.cpu(), state)
