"""Sentences as tensors, and pairs of answers of which one is preferred."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.core import Utf8Text


def texts(length: int, *rows: str) -> torch.Tensor:
    return torch.from_numpy(Utf8Text(length).encode(rows))


def pairs_of(policy: Any, better: list[str], worse: list[str]) -> TensorDict:
    """Pairs `[B, 2, 1]` of answers to one prompt, in a policy's tokens."""
    size = (len(better), 2, 1)
    answers = [text for pair in zip(better, worse, strict=True) for text in pair]
    prompt = texts(8, *["1+2="] * len(answers))
    tokens = policy.tokenizer.to_tokens(texts(policy.length, *answers))
    data = {
        "obs": TensorDict({"prompt": prompt.view(*size, -1)}, size),
        "action": tokens.view(*size, -1),
        "valid": torch.ones(size, dtype=torch.bool),
    }
    return TensorDict(data, size)
