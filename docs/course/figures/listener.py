"""A policy that reads and looks, for figures: the ten lines of chapter 16.

Cells of a grid are looked at by softmax attention; the query is the sum of what a
sentence's tokens stand for, and that is all that is learned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from yieldrl.envs.grid_world import GoToVectorEnv

Reader = tuple[Callable[[np.ndarray], np.ndarray], int]
ROW, COLUMN = np.divmod(np.arange(36), 6)
READERS: dict[str, Reader] = {
    "reads word by word": (lambda words: words, 12),
    "reads it as a whole": (lambda words: words @ 12 ** np.arange(5)[:, None], 12**5),
}
"""How a sentence becomes tokens, `[B, 5]` or `[B, 1]`, and how many there can be."""


def softmax(x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def seen(image: object) -> tuple[np.ndarray, np.ndarray]:
    """What lies in each cell `[B, 36, 7]`, and which moves lead nearer `[B, 36, 4]`."""
    cells = np.asarray(image).reshape(-1, 36, 8)
    agent = cells[:, :, :1].argmax(1)
    south, east = ROW - agent // 6, COLUMN - agent % 6
    nearer = np.stack([south < 0, east > 0, south > 0, east < 0], -1)
    return cells[:, :, 1:], nearer.astype(float)


def policy(
    meaning: np.ndarray, words: np.ndarray, things: np.ndarray, nearer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where it looks `[B, 36]`, and how likely each move is `[B, 4]`."""
    query = meaning[words].sum(1)
    looks = softmax(np.einsum("bcf,bf->bc", things, query))
    return looks, softmax(5 * np.einsum("bc,bcm->bm", looks, nearer))


def clone(
    meaning: np.ndarray,
    words: np.ndarray,
    things: np.ndarray,
    nearer: np.ndarray,
    action: np.ndarray,
) -> None:
    """One step up the gradient of `log pi(action)`, in place."""
    looks, moves = policy(meaning, words, things, nearer)
    push = np.einsum("bcm,bm->bc", nearer, 5 * (np.eye(4)[action] - moves))
    push = looks * (push - (looks * push).sum(1, keepdims=True))
    push = np.einsum("bcf,bc->bf", things, push) / len(action)
    np.add.at(meaning, words, 2.0 * push[:, None])


def demonstrated() -> list[np.ndarray]:
    """What an expert is told, sees and does in 2 048 steps; some pairs go unnamed."""
    envs, rows = GoToVectorEnv(64, goals="seen"), []
    obs, _ = envs.reset(seed=0)
    for _ in range(32):
        action = envs.expert()
        rows.append((obs["instruction"].numpy(), *seen(obs["image"]), action.numpy()))
        obs, *_ = envs.step(action)
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def taught(
    reader: Reader, demonstrations: list[np.ndarray], after: list[int]
) -> list[np.ndarray]:
    """What is learned `[tokens, 7]`, after so many steps each, in rising order."""
    (tokens, size), (words, *rest) = reader, demonstrations
    meaning, rng, kept = np.zeros((size, 7)), np.random.default_rng(0), []
    words = tokens(words)
    for step in range(after[-1] + 1):
        if step in after:
            kept.append(meaning.copy())
        rows = rng.integers(len(words), size=128)
        clone(meaning, words[rows], *(column[rows] for column in rest))
    return kept
