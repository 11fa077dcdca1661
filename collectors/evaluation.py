"""Evaluation: whole episodes with deterministic actions, every one counted."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors.outcomes import Episode, Evaluation, successes, task_names
from yieldrl.collectors.stepping import Stepper, check_finite
from yieldrl.core import Config, derive_seed
from yieldrl.core.conversion import as_array
from yieldrl.envs.make import check_apart

MAX_EPISODE_STEPS = 200_000
OBJECTS = (Env, VectorEnv)


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
    played: list[list[Episode]] = [[] for _ in range(count)]
    running, length = np.zeros(count), np.zeros(count, dtype=np.int64)
    known, success, names = False, np.zeros(count), [""] * count
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
        if ended.any():
            check_finite("reward", running, "an episode's sum")  # tensors' too
            found = successes(step.info, count)
            known |= found is not None
            success = np.zeros(count) if found is None else found
            names = task_names(step.info, count)
        for i in np.flatnonzero(ended):
            if len(played[i]) < quota[i]:
                what = float(running[i]), int(length[i]), bool(success[i]), names[i]
                played[i].append(what)
            running[i] = length[i] = 0
        if length.max() > MAX_EPISODE_STEPS:
            raise RuntimeError(
                f"an evaluation episode did not end in {MAX_EPISODE_STEPS:,} steps:"
                " give the environment a time limit, max_episode_steps say"
            )
    return Evaluation.of([episode for done in played for episode in done], known)


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
