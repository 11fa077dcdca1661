"""Evaluation: whole episodes with deterministic actions, every one counted."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors.stepping import Stepper, check_finite
from yieldrl.core import Config, derive_seed
from yieldrl.core.conversion import as_array
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.infos import SUCCESS, success_entry
from yieldrl.envs.make import check_apart

MAX_EPISODE_STEPS = 200_000
OBJECTS = (Env, VectorEnv)


@dataclass(frozen=True)
class Evaluation:
    """Returns, lengths and successes of evaluation episodes, `[episodes]` each."""

    returns: np.ndarray
    lengths: np.ndarray
    successes: np.ndarray | None = None  # None if unknown
    tasks: np.ndarray | None = None  # task names; None if unknown

    def logs(self) -> dict[str, float]:
        """Mean return, its spread and extremes, mean length, number of episodes.

        And `success_rate`, in [0, 1], and `success_rate/NAME` of each task, if the
        environments say it.
        """
        success, tasks = self.successes, self.tasks
        rate = {} if success is None else {"success_rate": success.mean()}
        if success is not None and tasks is not None:
            for name in np.unique(tasks):
                rate[f"success_rate/{name}"] = success[tasks == name].mean()
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

    def success_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the probability of success.

        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical
        Inference": it stays within 0 and 1, also where all or none succeed.
        """
        assert self.successes is not None
        n, rate, z = len(self.successes), float(self.successes.mean()), 1.959964
        middle = rate + z**2 / (2 * n)
        half = z * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
        low, high = ((middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)

    def of_task(self, name: str) -> Self:
        """The same episodes, all of one task; of no name, as they are."""
        return replace(self, tasks=np.full(len(self.returns), name)) if name else self

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Several evaluations as one, in their order."""

        def column(name: str, missing: Any = None) -> Any:
            values = [getattr(part, name) for part in parts]
            if all(value is None for value in values):
                return None
            sizes = [len(part.returns) for part in parts]
            pairs = zip(values, sizes, strict=True)
            return np.concatenate(
                [np.full(n, missing) if x is None else x for x, n in pairs]
            )

        columns = column("returns"), column("lengths")
        return cls(*columns, column("successes", missing=False), column("tasks", ""))


def evaluate(
    agent: Any, envs: VectorEnv[Any, Any, Any], episodes: int, seed: int | list[int]
) -> Evaluation:
    """Play `episodes` whole episodes with `agent.predict`.

    Environment `i` plays a number of episodes that is fixed beforehand: counting the
    first ones that end would favour short episodes. A success is what `success` or
    `is_success` says in the info of the step that ends an episode, and `task` its task.
    RuntimeError if an episode does not end within 200 000 steps.

    Args:
        agent: Anything with `predict(obs) -> action`; if it `has_memory`, its
            `begin_episode` is called with where episodes begin.
        envs: A vector environment in any autoreset mode; it is reset with `seed`.
        episodes: How many episodes to play, at least 1.
        seed: Seed of the environments, or one for each.
    """
    if episodes < 1:
        raise ValueError(f"episodes = {episodes}: play at least one")
    count = envs.num_envs
    quota = episodes // count + (np.arange(count) < episodes % count)
    # Return, length, success and task of the episodes of each environment.
    played: list[list[tuple[float, int, bool, str]]] = [[] for _ in range(count)]
    running, length = np.zeros(count), np.zeros(count, dtype=np.int64)
    known = False  # whether successes are
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
        running += as_array(step.reward)
        length += 1 if step.valid is None else as_array(step.valid)
        ended = as_array(step.terminated) | as_array(step.truncated)
        if length.max() > MAX_EPISODE_STEPS:
            raise RuntimeError(
                f"an evaluation episode did not end in {MAX_EPISODE_STEPS:,} steps:"
                " give the environment a time limit, max_episode_steps say"
            )
        if not ended.any():
            continue
        check_finite("reward", running, "an episode's sum")  # tensors' too
        success, names = successes(step.info, count), task_names(step.info, count)
        known |= success is not None
        for i in np.flatnonzero(ended):
            if len(played[i]) < quota[i]:
                done = success is not None and bool(success[i])
                played[i].append((float(running[i]), int(length[i]), done, names[i]))
            running[i] = length[i] = 0
    columns = zip(*(episode for done in played for episode in done), strict=True)
    returns, lengths, succeeded, tasks = map(np.array, columns)
    named = tasks if any(tasks) else None
    return Evaluation(returns, lengths, succeeded if known else None, named)


def evaluate_in_order(
    agent: Any, envs: VectorEnv[Any, Any, Any], seeds: Sequence[int]
) -> Evaluation:
    """Play one episode from each of fixed starts, in their order.

    Whatever the number of environments, episode `i` begins as `reset(seed=seeds[i])`
    of one of them does, where equal seeds begin equally.

    Args:
        agent: As of `evaluate`.
        envs: Likewise; every so many seeds all of them are reset.
        seeds: At least one.
    """
    count, parts = envs.num_envs, []
    for begin in range(0, len(seeds), count):
        some = list(seeds[begin : begin + count])
        reset = some + some[-1:] * (count - len(some))  # of which the rest plays none
        parts.append(evaluate(agent, envs, len(some), reset))
    if not parts:
        raise ValueError("seeds are empty: name at least one")
    return Evaluation.joined(parts)


def play_in_order(
    agent: Any, envs: VectorEnv[Any, Any, Any], episodes: int, seed: int
) -> Evaluation:
    """`evaluate_in_order` from the starts of `seed`, `seed + 1` and so on."""
    if episodes < 1:
        raise ValueError(f"episodes = {episodes}: play at least one")
    return evaluate_in_order(agent, envs, range(seed, seed + episodes))


class Evaluator:
    """Evaluates an agent in environments that are made when they are first needed.

    Args:
        source: Name or maker of the environments, as in `yieldrl.envs.make`; or a dict
            of them by the name of their task. Each task's play all episodes.
        config: Has `eval_every`, `num_envs` and the seed.
        device: Where the agent's tensors live.
        training: The environments of the training, which it must not step.
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
        training: Any = None,
        as_it_is: bool = False,
        wrap: Callable[[Any], Any] = lambda envs: envs,
    ) -> None:
        tasks = isinstance(source, Mapping)
        self.sources: Mapping[str, Any] = source if tasks else {"": source}
        self.source = next(iter(self.sources.values()))
        self._config, self._device = config, device
        self._as_it_is, self._wrap, self._training = as_it_is, wrap, training
        self.seed = derive_seed(config.seed, "evaluation")  # so that they compare
        if config.eval_every > 0 and isinstance(self.source, OBJECTS):
            _ = self.made  # raise now if no second one can be made

    @cached_property
    def made(self) -> dict[str, VectorEnv[Any, Any, Any]]:
        """The environments of each task."""
        return {name: self._make(source) for name, source in self.sources.items()}

    @property
    def envs(self) -> VectorEnv[Any, Any, Any]:
        """The environments, of the first task."""
        return next(iter(self.made.values()))

    def __call__(
        self, agent: Any, episodes: int, seed: int | None = None
    ) -> dict[str, float]:
        """Play whole episodes with `agent.predict`; returns and lengths to log."""
        return self.play(agent, episodes, self.seed if seed is None else seed).logs()

    def play(self, agent: Any, episodes: int, seed: int) -> Evaluation:
        """Play so many episodes of each task."""
        how = play_in_order if self._config.eval_in_order else evaluate
        parts = [
            how(agent, envs, episodes, seed).of_task(name)
            for name, envs in self.made.items()
        ]
        return Evaluation.joined(parts)

    def close(self) -> None:
        """Close the environments, if there are any."""
        for envs in vars(self).get("made", {}).values():
            envs.close()

    def _make(self, source: Any) -> VectorEnv[Any, Any, Any]:
        as_it_is = self._as_it_is and isinstance(source, OBJECTS)
        make = environments.make if as_it_is else environments.make_eval
        made = self._wrap(make(source, self._config, device=self._device))
        if self._training is not None:
            check_apart(made, self._training)
        return made


def successes(info: Mapping[str, Any], num_envs: int) -> np.ndarray | None:
    """Which of the episodes that a step ended were a success, bool `[N]`.

    It is meaningless where the episode goes on, and None if no info says anything.
    """
    final = info.get("final_info") or {}
    for name in SUCCESS:
        if name in info or name in final:
            values = final_info_entry(info, name)
            if not isinstance(values, Mapping):
                break
    else:
        values = success_entry(final)
        values = success_entry(info) if values is None else values
    return None if values is None else as_array(values).reshape(num_envs).astype(bool)


def task_names(info: Mapping[str, Any], num_envs: int) -> list[str]:
    """The `task` of each environment by the info of a step; '' if there is none.

    >>> task_names({"task": np.array(["open", "close"])}, 2)
    ['open', 'close']
    """
    names = final_info_entry(info, "task")
    if names is None or isinstance(names, Mapping):
        return [""] * num_envs
    return ["" if name is None else str(name) for name in names]
