"""An actor that imagines, with its own copies of policy and world model."""

import pickle
from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.distributed.weights import Signature, load
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations.conversion import as_array


class ImaginationRolloutActor:
    """Lets the policy act in the world model, from real transitions on.

    An algorithm for it has `model`, `world` and `imagine(starts, horizon, generator,
    model_version)`, see `yieldrl.imagination.Imagination`.
    """

    def begin(
        self, recipe: bytes, signature: Signature, world: Mapping[str, Any]
    ) -> None:
        """Make the algorithm of a pickled `LearnerRecipe`; load all of its world model.

        Raises:
            SignatureError: If the `packed` weights do not fit its world model.
        """
        made_of = pickle.loads(recipe)
        torch.set_num_threads(made_of.config.threads or 1)
        self.algorithm = made_of.algorithm_class(made_of.model, made_of.config)
        load(self.algorithm.world, world, signature)

    def imagine(
        self,
        signatures: tuple[Signature, Signature],
        policy: Mapping[str, Any],
        world: Mapping[str, Any],
        starts: Mapping[str, Any],
        horizon: int,
        drawn: Any,
    ) -> tuple[dict[str, Any], list[int], Any]:
        """A segment by these weights: its entries as arrays, its size `[H, B]`, and the
        state of the generator afterwards.

        Args:
            signatures: Those of the weights; each step stores their versions.
            policy: Weights of the policy that have changed, `packed`.
            world: Weights of the world model that have changed, `packed`.
            starts: Real transitions, arrays `[b, ...]`, nested or not.
            horizon: `H`.
            drawn: The state of the generator, or its seed.

        Raises:
            SignatureError: If weights do not fit this model.
        """
        algorithm, (of_policy, of_world) = self.algorithm, signatures
        load(algorithm.model, policy, of_policy)
        load(algorithm.world, world, of_world)
        algorithm.counters.policy_version = of_policy.version
        generator = torch.Generator(algorithm.device)
        if isinstance(drawn, int):
            generator.manual_seed(drawn)
        else:
            generator.set_state(torch.tensor(drawn))
        tensors = tree_map(torch.tensor, starts)  # on PyTorch's default device
        data = TensorDict(tensors, [len(tensors["reward"])]).to(algorithm.device)
        segment = algorithm.imagine(data, horizon, generator, of_world.version)
        arrays = tree_map(as_array, segment.to_dict())
        return arrays, [*segment.batch_size], generator.get_state().numpy()
