"""A vision-language-action model as a policy like any other."""

import inspect
import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Literal, Self

import gymnasium
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs, Policy
from yieldrl.core import drawing_from
from yieldrl.vla.actions import action_layout
from yieldrl.vla.backends.decoder import SentenceTokenizer
from yieldrl.vla.config import vla_config_of
from yieldrl.vla.interface import VLAOutput, check_model
from yieldrl.vla.observations import (
    PROMPT,
    TOKENS,
    ObservationReader,
    is_latent,
    vla_space,
)

Answer = tuple[Tensor, Tensor, Tensor]


class VLAPolicy(Policy):
    """Makes a `Policy` of any model that follows `VLAModelInterface`.

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
        check_model(model)
        self.model: Any = model
        backbone = getattr(model, "backbone", None)
        size = getattr(backbone, "image_size", None)
        tokenizer = getattr(model, "tokenizer", getattr(backbone, "tokenizer", None))
        known = isinstance(tokenizer, SentenceTokenizer)
        self.tokenizer = tokenizer if known else None
        read = observation_space, observation_keys or {}, instruction, centre_crop
        self.reader = ObservationReader(*read, size, self.tokenizer)
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

        settings = vla_config_of(config, vla_config or {})
        layout = action_layout(action_space, settings.chunk_length)
        if action_dim not in (None, layout.size):
            raise ValueError(
                f"action_dim = {action_dim}: an action of {action_space} has"
                f" {layout.size}; leave action_dim out, or take another environment"
            )
        read = vla_space(
            observation_space, settings.observation_keys, settings.instruction
        )
        seed = getattr(config, "seed", 1)
        model = load_vla_model(settings, read, action_space, seed=seed)
        return cls(observation_space, action_space, model, **settings.policy_options())

    def forward(self, obs: Any, deterministic: bool = False) -> Answer:
        """Act: `action [B, ...]`, `log_prob [B, L, D]` or `[B]`, and `value [B]`."""
        return self._act(obs, deterministic)

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: `action [B, ...]`, its `log_prob` and `value`.

        Both are kept, as computing them again would take as long as acting. The value
        is of the weights that act: where newer ones learn, in the background or on Ray,
        algorithms take that of the learner's critic in its place. A model that takes no
        `generator` has it as PyTorch's global one.
        """
        action, log_prob, value = self._act(obs, generator=generator)
        return action, {"log_prob": log_prob, "value": value}

    def evaluate_actions(self, obs: Any, action: Tensor) -> Answer:
        """`log_prob` and `entropy` of actions, in one shape, and `value [B]`."""
        log_prob, entropy, values = self.evaluate_each(obs, action)
        return log_prob, entropy, values[:, 0]

    def evaluate_each(self, obs: Any, action: Tensor) -> Answer:
        """Evaluate as `evaluate_actions` does, with a value for each action of the
        chunk, `[B, L]`, if the model has these, else `[B, 1]`."""
        observations, chunks = self.reader(obs), self.layout.inside(action)
        output = self._evaluate(observations, chunks)
        return self._per(output.log_prob), self._per(output.entropy), output.value

    def get_value(self, obs: Any) -> Tensor:
        """The state's `value [B]` alone."""
        observations = self.reader(obs)
        value = self.model.get_value(observations)
        return _shaped("value", value, (len(observations),)).float()

    def prepare_inputs(self, data: TensorDict) -> None:
        """Make tokens of all sentences of a rollout at once, for its gradient steps.

        They lie in `obs` and `next_obs`, for a tokenizer is a program of the CPU, for
        which a GPU is waited for.
        """
        source, tokenizer, obs = self.reader.sentence, self.tokenizer, data["obs"]
        if source is None or tokenizer is None:
            return
        if {PROMPT, TOKENS[0]} & {*obs.keys()}:  # latents, or prepared already
            return
        parts = sorted({"obs", "next_obs"} & {*data.keys()})
        texts = torch.stack([source.find(data[name]) for name in parts])
        made = [
            x.unflatten(0, texts.shape[:-1]) for x in tokenizer(texts.flatten(0, -2))
        ]
        for i, name in enumerate(parts):
            tokens = {key: x[i] for key, x in zip(TOKENS, made, strict=True)}
            data[name] = data[name].copy().update(tokens)

    def latents(self, obs: Any) -> TensorDict:
        """Observations `[B, ...]` as the language model of a `VLAModel` reads them,
        which other methods accept in their place.

        Returns:
            `prompt [B, S, W]` float32, its `mask [B, S]` and `changing [B, S]`, bool:
            which positions hold images and proprioception.

        Raises:
            TypeError: If the model has no backbone with a method `embed_parts`.
        """
        if is_latent(obs):
            return obs
        embed = getattr(getattr(self.model, "backbone", None), "embed_parts", None)
        if embed is None:
            raise TypeError(
                f"{type(self.model).__qualname__} has no backbone with a method"
                " embed_parts: see yieldrl.vla.Backbone, or take a tiny model or one of"
                " OpenVLA's"
            )
        parts = embed(self.model.in_units(self.reader(obs)))
        embeddings, mask, changing = parts
        state = {PROMPT: embeddings.float(), "mask": mask, "changing": changing}
        return TensorDict(state, [len(mask)])

    def update_normalization(self, data: TensorDict) -> None:
        """Let the model fit statistics that are unknown; known ones do not change."""
        fit = getattr(self.model, "update_normalization", None)
        if fit is None or getattr(self.model, "normalization_known", False):
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
        """A warning of a `forward` that takes no `deterministic`."""
        if self._in_one_pass or self._takes("deterministic"):
            return []
        return [
            f"{type(self.model).__qualname__}.forward takes no `deterministic`, so"
            " evaluations act as training does: give it deterministic=False, for the"
            " most likely action if it is True"
        ]

    def parameter_groups(self) -> dict[str, list[nn.Parameter]]:
        """Trained parameters, in groups that may have their own learning rates.

        `adapters` are low-rank ones (`lora_` in their names), `value` is what lies in
        an attribute of the model whose name begins with `value` or `critic`, `policy`
        is everything else. Every trainable parameter is in exactly one.
        """
        groups: dict[str, list[nn.Parameter]]
        groups = {"policy": [], "value": [], "adapters": []}
        for name, parameter in self.model.named_parameters():
            group = "value" if name.startswith(("value", "critic")) else "policy"
            group = "adapters" if "lora_" in name else group
            if parameter.requires_grad:
                groups[group].append(parameter)
        return groups

    @property
    def _in_one_pass(self) -> bool:
        methods = (getattr(self.model, name, None) for name in ("act", "evaluate"))
        return all(map(callable, methods))

    def _takes(self, option: str) -> bool:
        """Whether the model's `forward` takes an argument of this name."""
        parameters = inspect.signature(self.model.forward).parameters
        return option in parameters or any(
            p.kind is p.VAR_KEYWORD for p in parameters.values()
        )

    def _act(
        self,
        obs: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> Answer:
        observations = self.reader(obs)
        options = {"deterministic": deterministic, "generator": generator}
        if self._in_one_pass:
            output = self._in_shape(self.model.act(observations, **options))
        else:
            options = {name: x for name, x in options.items() if self._takes(name)}
            draws = None if "generator" in options else generator  # else globally
            with nullcontext() if draws is None else drawing_from(draws):
                # Through a reparameterised action its log_prob's gradient cancels.
                action = self.model(observations, **options).detach()
            tokens = len(observations), self.layout.length, self.layout.size
            output = self._evaluate(observations, _shaped("action", action, tokens))
        action = self.layout.outside(output.action)
        return action, self._per(output.log_prob), output.value[:, 0]

    def _evaluate(self, observations: TensorDict, chunks: Tensor) -> VLAOutput:
        """The model's output for chunks `[B, L, D]`, in one pass if it can."""
        if self._in_one_pass:
            return self._in_shape(self.model.evaluate(observations, chunks))
        actions = chunks if self.layout.length > 1 else chunks.squeeze(1)
        log_prob, entropy = self.model.evaluate_actions(observations, actions)
        value = self.model.get_value(observations)
        return self._in_shape(VLAOutput(chunks, log_prob, entropy, value))

    def _in_shape(self, output: VLAOutput) -> VLAOutput:
        """Checked, as wrong shapes would be broadcast: log-probabilities and entropies
        `[B, L, D]` or `[B]`, values `[B, L]` or `[B, 1]`."""
        action, log_prob, entropy, value = output
        batch, length = len(action), self.layout.length
        tokens = batch, length, self.layout.size
        shapes = ((batch,), tokens) if log_prob.ndim == 1 else (tokens, (batch,))
        return VLAOutput(
            _shaped("action", action, tokens),
            _shaped("log_prob", log_prob, *shapes).float(),
            _shaped("entropy", entropy, *shapes).float(),
            _shaped("value", value, (batch, length), (batch, 1)).float(),
        )

    def _per(self, of_tokens: Tensor) -> Tensor:
        """Numbers of tokens, or their sum over a chunk, as `log_prob_per` says."""
        whole = self.log_prob_per == "chunk" and of_tokens.ndim > 1
        return of_tokens.flatten(1).sum(1) if whole else of_tokens


def _shaped(name: str, answer: Tensor, *shapes: tuple[int, ...]) -> Tensor:
    """A model's answer in the first shape that it fits; ValueError without any."""
    for shape in shapes:
        if answer.numel() == math.prod(shape):
            return answer.reshape(shape)
    raise ValueError(
        f"the model's {name} has the shape {tuple(answer.shape)} for a batch of"
        f" {shapes[0][0]}: see yieldrl.vla.VLAModelInterface for what it should be"
    )
