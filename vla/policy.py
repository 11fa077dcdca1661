"""A vision-language-action model as a policy like any other."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import gymnasium
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs, Policy
from yieldrl.vla import model_calls
from yieldrl.vla.actions import action_layout
from yieldrl.vla.config import vla_config_of
from yieldrl.vla.latents import latents_of
from yieldrl.vla.observations import ObservationReader, vla_space
from yieldrl.vla.parameter_groups import FrozenInEval

Answer = tuple[Tensor, Tensor, Tensor]


class VLAPolicy(FrozenInEval, Policy):
    """Makes a `Policy` of any model that follows `VLAModelInterface`.

    A model that follows `OnePassVLA` is called once for action, log-probability and
    value; others method by method.

    Args:
        observation_space: Space of one observation.
        action_space: Of one action, or of a chunk of them (`[L, D]`; `[L]` choices).
        model: The model, an `nn.Module`.
        observation_keys: See `VLAConfig.observation_keys`.
        instruction: What to do, in words, where observations hold no sentence.
        log_prob_per: `token` gives log-probabilities and entropies `[B, L, D]` (for
            models without tokens `[B]`), `chunk` sums `[B]`, as PPO takes them.
        chunk_length: `L`; by default the model's `chunk_length`, and without one the
            first of two axes of the action space.
        centre_crop: See `VLAConfig.centre_crop`.

    Raises:
        TypeError: If the model lacks a method, or is no `nn.Module`.
        ValueError: If there is nothing to read, or chunks have another length.
    """

    wraps_model: ClassVar[bool] = True  # see `inner_model`

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        model: nn.Module,
        *,
        observation_keys: Mapping[str, str] | None = None,
        instruction: str = "",
        log_prob_per: Literal["token", "chunk"] = "token",
        chunk_length: int | None = None,
        centre_crop: float = 1.0,
    ) -> None:
        super().__init__(observation_space, action_space)
        model_calls.check_model(model)
        self.model: Any = model
        keys = observation_keys or {}
        read = observation_space, keys, instruction, centre_crop
        self.reader = ObservationReader(*read)
        length = chunk_length or getattr(model, "chunk_length", None)
        self.layout = action_layout(action_space, length)
        self.log_prob_per = log_prob_per

    @classmethod
    def from_config(
        cls,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Any,
        *,
        vla_config: Mapping[str, Any] | None = None,
        action_dim: int | None = None,
    ) -> Self:
        """The policy that a config describes, with its model loaded; or ValueError.

        Args:
            observation_space: As of the class.
            action_space: As of the class.
            config: A `VLAConfig`, or any algorithm's config, which says the seed.
            vla_config: Fields of `VLAConfig` by name, which take precedence. With the
                config of another algorithm `log_prob_per` is `chunk` by default.
            action_dim: Numbers of an action, `D`, to be checked.
        """
        from yieldrl.vla.loading import load_vla_model

        own = vla_config_of(config, vla_config or {})
        layout = action_layout(action_space, own.chunk_length)
        if action_dim not in (None, layout.size):
            raise ValueError(
                f"action_dim = {action_dim}: an action of {action_space} has"
                f" {layout.size}; leave action_dim out, or take another environment"
            )
        read = vla_space(observation_space, own.observation_keys, own.instruction)
        seed = getattr(config, "seed", 1)
        model = load_vla_model(own, read, action_space, seed=seed)
        return cls(observation_space, action_space, model, **own.policy_options())

    def forward(self, obs: Any, deterministic: bool = False) -> Answer:
        """Act: `action [B, ...]`, `log_prob [B, L, D]` or `[B]`, and `value [B]`."""
        return self._act(obs, deterministic)

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: `action [B, ...]`, its `log_prob` and `value`.

        Both are kept, as computing them again would take as long as acting. A model
        that takes no `generator` has it as PyTorch's global one.
        """
        action, log_prob, value = self._act(obs, generator=generator)
        return action, {"log_prob": log_prob, "value": value}

    def evaluate_actions(self, obs: Any, action: Tensor) -> Answer:
        """`log_prob` and `entropy` of actions, in one shape, and `value [B]`."""
        log_prob, entropy, values = self.evaluate_each(obs, action)
        return log_prob, entropy, values[:, 0]

    def evaluate_each(self, obs: Any, action: Tensor) -> Answer:
        """As `evaluate_actions`, with a value per action of the chunk, `[B, L]`, if the
        model has these, else `[B, 1]`."""
        observations, chunks = self.reader(obs), self.layout.inside(action)
        output = model_calls.evaluate(self.model, self.layout, observations, chunks)
        log_prob, entropy = self._per(output.log_prob), self._per(output.entropy)
        return log_prob, entropy, output.value.reshape(len(chunks), -1)

    def get_value(self, obs: Any) -> Tensor:
        """The state's `value [B]` alone."""
        return model_calls.value(self.model, self.reader(obs))

    def latents(self, obs: Any) -> TensorDict:
        """Latents, which other methods accept for observations; see `latents_of`."""
        return latents_of(self.model, self.reader(obs))

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """`V(s)`, `[B]`."""
        return self.get_value(obs)

    def update_normalization(self, data: TensorDict) -> None:
        """Let the model fit statistics that are unknown; known ones do not change."""
        fit = getattr(self.model, "update_normalization", None)
        if fit is None:
            return
        proprio, action = self.reader.proprio(data["obs"]), data.get("action", None)
        rows = data.get("valid", ...)
        fit(
            None if proprio is None else proprio[rows],
            None if action is None else action[rows].reshape(-1, self.layout.size),
        )

    def metrics(self) -> Logs:
        return getattr(self.model, "metrics", dict)()

    def concerns(self) -> list[str]:
        return model_calls.concerns(self.model)

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Trained parameters, in groups that may have their own learning rates.

        `adapters` are low-rank ones (`lora_` in their names), `value` is what lies in
        an attribute of the model whose name begins with `value` or `critic`, `policy`
        is everything else. Every trainable parameter is in exactly one.
        """
        groups: dict[str, list[nn.Parameter]]
        groups = {"policy": [], "value": [], "adapters": []}
        for name, parameter in self.model.named_parameters():
            if "lora_" in name:
                group = "adapters"
            else:
                group = "value" if name.startswith(("value", "critic")) else "policy"
            if parameter.requires_grad:
                groups[group].append(parameter)
        return groups

    def _act(
        self,
        obs: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> Answer:
        parts = self.model, self.layout, self.reader(obs)
        output = model_calls.act(*parts, deterministic, generator)
        action = self.layout.outside(output.action)
        value = output.value.reshape(len(action), -1)[:, 0]
        return action, self._per(output.log_prob), value

    def _per(self, of_tokens: Tensor) -> Tensor:
        """Numbers of tokens, or their sum over a chunk, as `log_prob_per` says."""
        whole = self.log_prob_per == "chunk" and of_tokens.ndim > 1
        return of_tokens.flatten(1).sum(1) if whole else of_tokens
