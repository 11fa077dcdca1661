"""The weights of a policy and of its world model, for actors that imagine."""

from copy import deepcopy
from typing import Any

from yieldrl.distributed.pool import pickled
from yieldrl.distributed.trainer_actor import LearnerRecipe
from yieldrl.distributed.weights import (
    Signature,
    Travelling,
    checksum,
    packed,
    tensors_of,
)
from yieldrl.foundations import Config


class ImaginationWeights:
    """Puts the weights into Ray's object store, each time that they have changed.

    Args:
        cluster: The cluster with the object store.
        algorithm: Has `model`, `world` and `counters`.
        config: The config of the actors.
    """

    def __init__(self, cluster: Any, algorithm: Any, config: Config) -> None:
        self.cluster, self.algorithm, self.config = cluster, algorithm, config
        self.begun: tuple[Any, ...] | None = None
        self._travelling: dict[str, Travelling] = {}
        self._laid: dict[str, tuple[Any, tuple[Signature, Any]]] = {}

    def begin(self, version: int) -> tuple[Any, ...]:
        """Arguments of `ImaginationRolloutActor.begin`, with all current weights.

        `version` is that of the world model.
        """
        algorithm, put = self.algorithm, self.cluster.put
        model = deepcopy(algorithm.model).to("cpu")
        recipe = LearnerRecipe(type(algorithm), model, self.config)
        world = tensors_of(algorithm.world)
        signature = Signature.of(world, version)
        self.begun = put(pickled(recipe)), signature, put(packed(world))
        parts = {"policy": algorithm.model, "world": algorithm.world}
        self._travelling = {name: Travelling(part) for name, part in parts.items()}
        self._laid.clear()
        return self.begun

    def newest(self, version: int) -> tuple[Any, ...]:
        """Both signatures, and the changed weights of policy and world model."""
        now = {"policy": self.algorithm.counters.policy_version, "world": version}
        policy, world = (self._newest(name, of) for name, of in now.items())
        return (policy[0], world[0]), policy[1], world[1]

    def _newest(self, name: str, version: int) -> tuple[Signature, Any]:
        tensors = self._travelling[name]()
        now = version, checksum(tensors)
        if name not in self._laid or self._laid[name][0] != now:
            signature = Signature.of(tensors, version)
            self._laid[name] = now, (signature, self.cluster.put(packed(tensors)))
        return self._laid[name][1]
