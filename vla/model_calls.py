"""Calls of any model that follows `VLAModelInterface`, with checked shapes."""

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.core import drawing_from, spaces
from yieldrl.vla.actions import ActionLayout
from yieldrl.vla.interface import VLAOutput


def check_model(model: Any) -> None:
    """Refuse a model, or a class, that does not follow `VLAModelInterface`."""
    kind = model if isinstance(model, type) else type(model)
    name = kind.__qualname__
    if not issubclass(kind, nn.Module):
        raise TypeError(f"{name} is no torch.nn.Module: derive it from that")
    methods = "get_value", "evaluate_actions"
    lacking = [m for m in methods if not callable(getattr(model, m, None))]
    if kind.forward is nn.Module.forward:  # not overridden
        lacking.append("forward")
    if lacking:
        raise TypeError(
            f"{name} lacks {', '.join(lacking)}: a model has what"
            " yieldrl.vla.VLAModelInterface describes"
        )


def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function can be called with an argument of this name."""
    known = inspect.signature(function).parameters
    return argument in known or any(p.kind is p.VAR_KEYWORD for p in known.values())


def concerns(model: Any) -> list[str]:
    """Warnings, in sentences: of a `forward` that takes no `deterministic`."""
    if _in_one_pass(model) or takes(model.forward, "deterministic"):
        return []
    return [
        f"{type(model).__qualname__}.forward takes no `deterministic`: where it draws"
        " its actions, evaluations act at random, and where it does not, training never"
        " explores. Give it deterministic=False, for the most likely action if it is"
        " True"
    ]


def act(
    model: Any,
    layout: ActionLayout,
    observations: Any,
    deterministic: bool,
    generator: torch.Generator | None,
) -> VLAOutput:
    """A model's actions; `log_prob` and `entropy` are `[B]` for models that know only
    whole chunks."""
    batch = spaces.batch_size(observations)
    if _in_one_pass(model):
        output = model.act(observations, deterministic, generator)
        return _in_shape(output, layout, batch)
    options = {"deterministic": deterministic, "generator": generator}
    options = {k: x for k, x in options.items() if takes(model.forward, k)}
    draws = None if "generator" in options else generator  # globally, unless told
    with nullcontext() if draws is None else drawing_from(draws):
        # Through a reparameterised action its log-probability's gradient cancels.
        action = model(observations, **options).detach()
    return evaluate(model, layout, observations, _chunks(action, layout, batch))


def evaluate(
    model: Any, layout: ActionLayout, observations: Any, chunks: Tensor
) -> VLAOutput:
    """Evaluate chunks `[B, L, D]`; the shapes are those of `act`."""
    if _in_one_pass(model):
        output = model.evaluate(observations, chunks)
    else:
        actions = chunks if layout.length > 1 else chunks.squeeze(1)
        log_prob, entropy = model.evaluate_actions(observations, actions)
        values = model.get_value(observations)
        output = VLAOutput(chunks, log_prob, entropy, values)
    return _in_shape(output, layout, len(chunks))


def value(model: Any, observations: Any) -> Tensor:
    """The states' values `[B]`."""
    values = model.get_value(observations)
    return _per_state("value", values, spaces.batch_size(observations))


def _in_shape(output: VLAOutput, layout: ActionLayout, batch: int) -> VLAOutput:
    """The output in the shapes of `act`, checked, as wrong ones would be broadcast."""
    action, log_prob, entropy, values = output
    action = _chunks(action, layout, batch)
    log_prob = _per_token("log_prob", log_prob, layout, batch)
    entropy = _per_token("entropy", entropy, layout, batch)
    if values.shape == (batch, layout.length):
        return VLAOutput(action, log_prob, entropy, values.float())
    return VLAOutput(action, log_prob, entropy, _per_state("value", values, batch))


def _per_token(name: str, answer: Tensor, layout: ActionLayout, batch: int) -> Tensor:
    """An output per token as `[B, L, D]`, or per state as `[B]`, float32."""
    if answer.numel() == batch * layout.tokens and answer.ndim > 1:
        return layout.inside(answer).float()
    return _per_state(name, answer, batch)


def _in_one_pass(model: Any) -> bool:
    passes = (getattr(model, name, None) for name in ("act", "evaluate"))
    return all(map(callable, passes))


def _chunks(action: Tensor, layout: ActionLayout, batch: int) -> Tensor:
    """Actions `[B, D]` or `[B, L, D]` as chunks `[B, L, D]`."""
    _check_size("action", action, batch, batch * layout.tokens)
    return layout.inside(action)


def _per_state(name: str, answer: Tensor, batch: int) -> Tensor:
    """An output of shape `[B]` or `[B, 1]` as `[B]`, float32."""
    _check_size(name, answer, batch, batch)
    return answer.reshape(batch).float()


def _check_size(name: str, answer: Tensor, batch: int, size: int) -> None:
    if answer.numel() != size:
        raise ValueError(
            f"the model's {name} has the shape {tuple(answer.shape)} for a batch of"
            f" {batch}: see yieldrl.vla.VLAModelInterface for what it should be"
        )
