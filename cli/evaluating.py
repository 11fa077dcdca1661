"""`yieldrl evaluate`, and the evaluation at the end of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

EPISODES = 20
SEED = 1_000_000  # the same for all runs, so that they compare


def report(
    trainer: Any,
    episodes: int = EPISODES,
    seed: int = SEED,
    *,
    every_episode: bool = False,
) -> str:
    """Play episodes deterministically and say how well they went.

    Args:
        trainer: A trainer.
        episodes: How many episodes.
        seed: Seed of the environments.
        every_episode: Whether to list them all.
    """
    from yieldrl.collectors import evaluate

    result = evaluate(trainer.agent, trainer.eval_envs, episodes, seed)
    returns, lengths = result.returns, result.lengths
    lines = [
        f"episode {number:3}: return {value:g}, length {length}"
        for number, (value, length) in enumerate(zip(returns, lengths, strict=True), 1)
    ]
    summary = (
        f"{trainer.name} on {trainer.config.env_id}, {episodes} episodes:"
        f" return {returns.mean():.2f} +- {returns.std():.2f}"
        f" (min {returns.min():g}, max {returns.max():g}),"
        f" length {lengths.mean():.1f}"
    )
    if result.successes is not None:
        summary += f", success {result.successes.mean():.0%}"
    return "\n".join([*lines, summary] if every_episode else [summary])


def film(trainer: Any, path: str, seed: int = SEED) -> Path:
    """Film one episode, the first of a report with this seed, into an MP4 file.

    Raises:
        ImportError: If imageio-ffmpeg is not installed.
        ValueError: If the environment draws no pictures.
    """
    from yieldrl.loggers import record_video

    return record_video(trainer, path, seed=seed)
