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
from yieldrl.vla.backends import check_options
from yieldrl.vla.backends.cameras import has_images, unit_images
from yieldrl.vla.backends.chunk import ChunkVLA, Look
from yieldrl.vla.backends.custom import find_class
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import existing, model_folder, read_json

OPTIONS = ("frozen", "normalized")
"""Options in `model_config` for this backend."""


class LeRobotVLA(ChunkVLA):
    """A Gaussian around the chunk that a policy of LeRobot predicts.

    LeRobot itself is not imported. A batch has `observation.images.<camera>` (float32
    in 0-1, `[B, 3, H, W]`), `observation.state` (`[B, P]`, as the environment has it)
    and `task` (a list of strings). Such policies show no hidden states: the value is
    that of a small separate network, which reads the observations itself.

    Args:
        policy: With `predict_action_chunk(batch) -> [B, l, d]`.
        observation_space: Dict of what the model reads.
        action_space: A Box, of one action or of a chunk.
        config: Its `model_config` may have `normalized`, if the policy's actions are in
            [-1, 1] and not in the environment's units; and `frozen`, to train the
            standard deviation and the value alone.

    Raises:
        TypeError: If the policy has no such method.
        ValueError: If `model_config` has another option.
    """

    untrained = (
        *("log_std", "value_encoder", "value_head"),
        *("action_statistics", "proprio_statistics"),
    )

    def __init__(
        self,
        policy: nn.Module,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        check_options(config.model_config, OPTIONS, "a policy of LeRobot")
        _check_policy(type(policy))
        self.policy: Any = policy
        self.normalized = config.model_config.get("normalized", False)
        self.frozen = config.model_config.get("frozen", False)
        policy.requires_grad_(not self.frozen)
        self.value_encoder = make_encoder(observation_space)
        self.value_head = MLP([self.value_encoder.size, 256, 1], last_gain=1.0)

    def look(self, observations: Any) -> Look:
        batch = self._batch(observations)
        if self.frozen or not torch.is_grad_enabled():
            with torch.no_grad():
                chunk = self.policy.predict_action_chunk(batch)
        else:
            chunk = self._predict_with_gradients(batch)
        mean = self.cut(chunk)
        if not self.normalized:
            mean = self.action_statistics.normalize(mean)
        return Look(mean, self.get_value(observations).squeeze(-1))

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, without a pass of the policy."""
        return self.value_head(self.value_encoder(observations))

    def _predict_with_gradients(self, batch: dict[str, Any]) -> Tensor:
        """The prediction, bypassing a `torch.no_grad` that may decorate the method."""
        method = inspect.unwrap(type(self.policy).predict_action_chunk)
        chunk = method(self.policy, batch)
        trained = any(p.requires_grad for p in self.policy.parameters())
        if trained and not chunk.requires_grad:
            raise RuntimeError(
                f"{type(self.policy).__qualname__}.predict_action_chunk computes no"
                " gradients, so it cannot be trained: choose model_config={'frozen':"
                " true}, which trains the standard deviation and the value alone"
            )
        return chunk

    def _batch(self, observations: Any) -> dict[str, Any]:
        """Observations under LeRobot's names."""
        batch: dict[str, Any] = {"task": decode(observations["language"])}
        names = observations.keys()
        if "proprio" in names:
            batch["observation.state"] = observations["proprio"].float()
        if not has_images(observations):
            return batch
        rgb = observations["rgb"]
        cameras = {"": rgb} if isinstance(rgb, Tensor) else dict(rgb.items())
        features = getattr(getattr(self.policy, "config", None), "image_features", None)
        known = list(features or [])  # the policy's own cameras, in its order
        for i, (camera, image) in enumerate(sorted(cameras.items())):
            own = f"observation.images.{camera}" if camera else "observation.image"
            if own not in known and i < len(known):
                own = known[i]
            batch[own] = unit_images(image)
        return batch


def load_policy(model_path: str, model_class: str | None) -> nn.Module:
    """A policy by the `from_pretrained` of a class; without one LeRobot finds it."""
    if model_class is not None:
        policy_class = find_class(model_class)
    else:
        folder = model_folder(model_path)
        policy_class, model_path = _class_of_folder(folder), str(folder)
    _check_policy(policy_class)
    _check_units(policy_class, Path(model_path) / "policy_postprocessor.json")
    if not callable(getattr(policy_class, "from_pretrained", None)):
        raise TypeError(
            f"{policy_class.__qualname__} has no from_pretrained(path): give it one, or"
            " take backend='class'"
        )
    return policy_class.from_pretrained(model_path)


def _check_policy(policy_class: type) -> None:
    if not callable(getattr(policy_class, "predict_action_chunk", None)):
        raise TypeError(
            f"{policy_class.__qualname__} has no predict_action_chunk(batch): take a"
            " policy that predicts chunks, or backend='class'"
        )


def _check_units(policy_class: type, processor: Path) -> None:
    """Refuse a class of LeRobot's, from 0.4 on, that leaves units to another file."""
    if policy_class.__module__.startswith("lerobot.") and processor.is_file():
        raise CheckpointError(
            f"{processor} says how actions of {policy_class.__qualname__} become those"
            " of a robot, and is not read here: name a class of your own in model_class"
            " whose predict_action_chunk calls both of LeRobot's processors"
        )


def _class_of_folder(folder: Path) -> Any:
    """The class that LeRobot has for the `type` in a folder's `config.json`."""
    remedy = "download the policy, or name its class in model_class"
    kind = read_json(existing(folder / "config.json", remedy)).get("type")
    try:
        from lerobot.policies.factory import (  # type: ignore[import-not-found]
            get_policy_class,
        )
    except ImportError as reason:
        raise ImportError(
            f"the policy {kind!r} needs LeRobot: install it in an environment of its"
            " own (pip install lerobot), or name another class in model_class"
        ) from reason
    return get_policy_class(kind)
