"""Latents: embeddings of observations, which a model accepts in their place."""

from typing import Any

from tensordict import TensorDict
from torch.nn import functional

PROMPT = "prompt"
"""Key of a latent's prompt embeddings."""


def is_latent(obs: Any) -> bool:
    """Whether these are latents, as `latents_of` returns, and not observations."""
    return isinstance(obs, TensorDict) and PROMPT in obs.keys()  # noqa: SIM118


def latents_of(model: Any, observations: Any) -> TensorDict:
    """Observations `[B]` as the language model of a `VLAModel` reads them.

    Returns:
        `prompt [B, S, W]` float32, its `mask [B, S]` and `changing [B, S]`, bool: which
        positions hold images and proprioception.

    Raises:
        TypeError: If the model has no backbone with a method `embed_parts`.
    """
    embed = getattr(getattr(model, "backbone", None), "embed_parts", None)
    if embed is None:
        raise TypeError(
            f"{type(model).__qualname__} has no backbone with a method embed_parts: see"
            " yieldrl.vla.Backbone, or take a tiny model or one of OpenVLA's"
        )
    if is_latent(observations):
        return observations
    embeddings, mask, changing = embed(model.in_units(observations))
    parts = {PROMPT: embeddings.float(), "mask": mask, "changing": changing}
    return TensorDict(parts, [len(mask)])


def padded(state: TensorDict, size: int) -> TensorDict:
    """Latents `[B]` padded to `size` positions; the mask hides the new ones.

    >>> import torch
    >>> flags = torch.ones(1, 2, dtype=torch.bool)
    >>> state = {"prompt": torch.ones(1, 2, 4), "mask": flags, "changing": flags}
    >>> padded(TensorDict(state, [1]), 3)["mask"]
    tensor([[ True,  True, False]])
    """
    lacking = size - state["mask"].shape[1]
    if lacking == 0:
        return state
    longer = {PROMPT: functional.pad(state[PROMPT], (0, 0, 0, lacking))}
    for name in ("mask", "changing"):
        longer[name] = functional.pad(state[name], (0, lacking))
    return state.copy().update(longer)
