"""Evaluation: whole episodes with deterministic actions, every one counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl import envs as environments
from yieldrl.collectors.stepping import Stepper
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.single_answers import SUCCESS, said_of_success
from yieldrl.foundations import Config, derive_seed

MAX_EPISODE_STEPS = 200_000

OBJECTS = (Env, VectorEnv)


@dataclass(frozen=True)
class Evaluation:
    """Returns, lengths and successes of evaluation episodes, `[episodes]` each."""

    returns: np.ndarray
    lengths: np.ndarray
    successes: np.ndarray | None = None  # if the environments do not say

    def logs(self) -> dict[str, float]:
        """Mean return, its spread and extremes, mean length, number of episodes.

        And `success_rate`, in [0, 1], if the environments say what a success is.
        """
        rate = {}
        if self.successes is not None:
            rate["success_rate"] = self.successes.mean()
        logs = {
            **rate,
            "episode_return": self.returns.mean(),
            "episode_return_std": self.returns.std(),
            "episode_return_min": self.returns.min(),
            "episode_return_max": self.returns.max(),
            "episode_length": self.lengths.mean(),
            "episodes": len(self.returns),
        }
        return {name: float(value) for name, value in logs.items()}


def evaluate(
    agent: Any, envs: VectorEnv[Any, Any, Any], episodes: int, seed: int
) -> Evaluation:
    """Play `episodes` whole episodes with `agent.predict`.

    Environment `i` plays a number of episodes that is fixed beforehand: counting the
    first ones that end would favour short episodes. A success is what `success` or
    `is_success` says in the info of the step that ends an episode.

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
    step: merged into arrays, or, before Gymnasium 1.0, as one info for each. It is
    meaningless where the episode goes on, and None if no info says anything.
    """
    final = info.get("final_info")
    if final is not None and not isinstance(final, Mapping):
        said = [said_of_success(each or {}) for each in final]
        known = any(value is not None for value in said)
        return np.array([bool(value) for value in said]) if known else None
    for name in SUCCESS:
        if name in info or name in (final or {}):
            values = final_info_entry(info, name)
            if not isinstance(values, Mapping):
                break
    else:
        values = None if final is None else said_of_success(final)
        values = said_of_success(info) if values is None else values
    return None if values is None else _array(values).reshape(num_envs).astype(bool)


def _array(values: Any) -> np.ndarray:
    return values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


class Evaluator:
    """Evaluates an agent in environments that are made when they are first needed.

    Args:
        source: Name or maker of the environments, as in `yieldrl.envs.make`.
        config: Has `eval_every`, `num_envs` and the seed.
        device: Where the agent's tensors live.
        as_it_is: Use an environment object itself. By default others like it are made,
            because training steps the object: ValueError if none can be.
        wrap: Wraps the environments.
    """

    def __init__(
        self,
        source: Any,
        config: Config,
        device: str,
        *,
        as_it_is: bool = False,
        wrap: Callable[[Any], Any] = lambda envs: envs,
    ) -> None:
        self.source, self._config, self._device = source, config, device
        self._as_it_is, self._wrap = as_it_is, wrap
        self.seed = derive_seed(config.seed, "evaluation")  # so that they compare
        self.evaluated_at = 0  # environment steps at the latest evaluation
        if config.eval_every > 0 and isinstance(source, OBJECTS):
            _ = self.envs  # raise now if no second one can be made

    @cached_property
    def envs(self) -> VectorEnv[Any, Any, Any]:
        """The environments."""
        as_it_is = self._as_it_is and isinstance(self.source, OBJECTS)
        make = environments.make if as_it_is else environments.make_eval
        return self._wrap(make(self.source, self._config, device=self._device))

    def due(self, sample_step: int, finished: Callable[[], bool]) -> bool:
        """Whether `eval_every` was crossed, or the end reached, since the last one."""
        every = self._config.eval_every
        if every == 0 or sample_step == self.evaluated_at:
            return False
        return sample_step // every > self.evaluated_at // every or finished()

    def __call__(
        self, agent: Any, episodes: int, seed: int | None = None
    ) -> dict[str, float]:
        """Play whole episodes with `agent.predict`; returns and lengths to log."""
        seed = self.seed if seed is None else seed
        return evaluate(agent, self.envs, episodes, seed).logs()

    def close(self) -> None:
        """Close the environments, if there are any."""
        if "envs" in vars(self):
            self.envs.close()
