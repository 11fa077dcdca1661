"""Evaluation: whole episodes with deterministic actions, every one counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.collectors.stepping import Stepper
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.single_answers import SUCCESS, said_of_success

MAX_EPISODE_STEPS = 200_000


@dataclass(frozen=True)
class Evaluation:
    """Returns and lengths of all evaluation episodes, `[episodes]` each.

    `successes` says which ended in success, bool `[episodes]`; None if the environments
    do not say.
    """

    returns: np.ndarray
    lengths: np.ndarray
    successes: np.ndarray | None = None

    def logs(self) -> dict[str, float]:
        """Mean return, its spread and extremes, mean length, number of episodes.

        And `success_rate`, in [0, 1], if the environments say what a success is.
        """
        rate = {}
        if self.successes is not None:
            rate["success_rate"] = float(self.successes.mean())
        return {
            **rate,
            "episode_return": float(self.returns.mean()),
            "episode_return_std": float(self.returns.std()),
            "episode_return_min": float(self.returns.min()),
            "episode_return_max": float(self.returns.max()),
            "episode_length": float(self.lengths.mean()),
            "episodes": float(len(self.returns)),
        }


def evaluate(
    agent: Any, envs: VectorEnv[Any, Any, Any], episodes: int, seed: int
) -> Evaluation:
    """Play `episodes` whole episodes with `agent.predict`.

    Environment `i` plays a number of episodes that is fixed beforehand. Counting the
    first ones that end, wherever they end, would favour short episodes. A success is
    what `success` or `is_success` says in the info of the step that ends an episode.

    Args:
        agent: Anything with `predict(obs) -> action`; if it `has_memory`, its
            `begin_episode` is called with where episodes begin.
        envs: A vector environment in any autoreset mode; it is reset with `seed`.
        episodes: How many episodes to play, at least 1.
        seed: Seed of the environments.

    Raises:
        ValueError: If `episodes` is less than 1.
        RuntimeError: If an episode does not end within 200 000 steps.
    """
    if episodes < 1:
        raise ValueError(f"episodes = {episodes}: play at least one")
    count = envs.num_envs
    quota = episodes // count + (np.arange(count) < episodes % count)
    played: list[list[tuple[float, int, bool]]] = [[] for _ in range(count)]
    running, length = np.zeros(count), np.zeros(count, dtype=np.int64)
    known, success = False, np.zeros(count)
    stepper = Stepper(envs)
    obs = stepper.reset(seed)
    has_memory = getattr(agent, "has_memory", False)
    if has_memory:
        agent.begin_episode()
    while any(len(done) < wanted for done, wanted in zip(played, quota, strict=True)):
        step = stepper.step(agent.predict(obs))
        obs = step.obs
        if has_memory:
            agent.begin_episode(step.begins)
        running += _array(step.reward)
        length += 1 if step.valid is None else _array(step.valid)
        ended = _array(step.terminated) | _array(step.truncated)
        if ended.any():
            found = successes(step.info, count)
            known |= found is not None
            success = np.zeros(count) if found is None else found
        for i in np.flatnonzero(ended):
            if len(played[i]) < quota[i]:
                played[i].append((float(running[i]), int(length[i]), bool(success[i])))
            running[i] = length[i] = 0
        if length.max() > MAX_EPISODE_STEPS:
            raise RuntimeError(
                f"an evaluation episode did not end in {MAX_EPISODE_STEPS:,} steps:"
                " give the environment a time limit, max_episode_steps say"
            )
    episodes_played = [episode for done in played for episode in done]
    returns, lengths, succeeded = map(np.array, zip(*episodes_played, strict=True))
    return Evaluation(returns, lengths, succeeded if known else None)


def successes(info: Mapping[str, Any], num_envs: int) -> np.ndarray | None:
    """Which of the episodes that a step ended were a success, bool `[N]`.

    Gymnasium's vector environments put that into `final_info` if they reset within the
    step: merged into arrays, or, before Gymnasium 1.0, as one info for each.

    Returns:
        False for environments whose info says nothing, and meaningless for those whose
        episode goes on; None if no info says anything.
    """
    final = info.get("final_info")
    if final is not None and not isinstance(final, Mapping):
        return _success_of_each(final)
    for name in SUCCESS:
        if name in info or name in (final or {}):
            values = final_info_entry(info, name)
            if not isinstance(values, Mapping):
                return _flags(values, num_envs)
    values = None if final is None else said_of_success(final)
    values = said_of_success(info) if values is None else values
    return None if values is None else _flags(values, num_envs)


def _success_of_each(infos: Iterable[Mapping[str, Any] | None]) -> np.ndarray | None:
    values = [said_of_success(info or {}) for info in infos]
    if all(value is None for value in values):
        return None
    return np.array([bool(value) for value in values])


def _flags(values: Any, num_envs: int) -> np.ndarray:
    return _array(values).reshape(num_envs).astype(np.bool_)


def _array(values: Any) -> np.ndarray:
    return values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
