"""Policies of LeRobot, and other classes with a `predict_action_chunk`."""

import inspect
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.text import decode
from yieldrl.networks import MLP, make_encoder
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import check_options
from yieldrl.vla.model import ChunkVLA
from yieldrl.vla.observations import has_images, unit_images


class LeRobotVLA(ChunkVLA):
    """A Gaussian around the chunk that a policy of LeRobot predicts.

    LeRobot itself is not imported. A batch has `observation.images.<camera>` (float32
    in 0-1, `[B, 3, H, W]`), `observation.state` (`[B, P]`, as the environment has it)
    and `task` (a list of strings); chunks are in the environment's units. Such policies
    show no hidden states: the value is that of a small separate network, which reads
    the observations itself.

    Args:
        policy: With `predict_action_chunk(batch) -> [B, l, d]`.
        observation_space: Dict of what the model reads.
        action_space: A Box, of one action or of a chunk.
        config: Its `model_config` may have `frozen`, to train the standard deviation
            and the value alone, and no other option.
    """

    def __init__(
        self,
        policy: nn.Module,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        check_options(config.model_config, ["frozen"], "a policy of LeRobot")
        self.backbone: Any = policy
        self.frozen = config.model_config.get("frozen", False)
        policy.requires_grad_(not self.frozen)
        self.value_encoder = make_encoder(observation_space)
        self.value_head = MLP([self.value_encoder.size, 256, 1], last_gain=1.0)

    def look(self, observations: Any) -> tuple[Tensor, Tensor]:
        batch = self._batch(observations)
        # Under a `torch.no_grad` that may decorate it is the method itself.
        predict = inspect.unwrap(type(self.backbone).predict_action_chunk)
        learns = torch.is_grad_enabled() and not self.frozen
        with torch.set_grad_enabled(learns):
            chunk = predict(self.backbone, batch)
        trained = any(p.requires_grad for p in self.backbone.parameters())
        if learns and trained and not chunk.requires_grad:
            raise RuntimeError(
                f"{type(self.backbone).__qualname__}.predict_action_chunk computes no"
                " gradients, so it cannot be trained: choose model_config={'frozen':"
                " true}, which trains the standard deviation and the value alone"
            )
        mean = self.head.statistics.normalize(self.cut(chunk))
        return mean, self.get_value(observations).squeeze(-1)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, without a pass of the policy."""
        return self.value_head(self.value_encoder(observations))

    def _batch(self, observations: Any) -> dict[str, Any]:
        """Observations under LeRobot's names."""
        batch: dict[str, Any] = {"task": decode(observations["language"])}
        if "proprio" in observations.keys():  # noqa: SIM118
            batch["observation.state"] = observations["proprio"].float()
        if not has_images(observations):
            return batch
        rgb = observations["rgb"]
        cameras = {"": rgb} if isinstance(rgb, Tensor) else dict(rgb.items())
        features = getattr(
            getattr(self.backbone, "config", None), "image_features", None
        )
        expected = list(features or [])  # the policy's own cameras, in its order
        for i, (camera, image) in enumerate(sorted(cameras.items())):
            key = f"observation.images.{camera}" if camera else "observation.image"
            if key not in expected and i < len(expected):
                key = expected[i]
            batch[key] = unit_images(image)
        return batch


def load_policy(policy_class: Any, model_path: str) -> nn.Module:
    """A policy by the `from_pretrained` of its class.

    TypeError if it has no such method or predicts no chunks, CheckpointError if it is
    LeRobot's own and leaves units to another file, as from version 0.4 on.
    """
    for method in ("predict_action_chunk", "from_pretrained"):
        if not callable(getattr(policy_class, method, None)):
            raise TypeError(
                f"{policy_class.__qualname__} has no {method}: take a policy that has"
                " it, or backend='class'"
            )
    processor = Path(model_path) / "policy_postprocessor.json"
    if policy_class.__module__.startswith("lerobot.") and processor.is_file():
        raise CheckpointError(
            f"{processor} says how actions of {policy_class.__qualname__} become those"
            " of a robot, and is not read here: name a class of your own in model_class"
            " whose predict_action_chunk calls both of LeRobot's processors"
        )
    return policy_class.from_pretrained(model_path)
