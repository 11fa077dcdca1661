"""Periodic evaluation in environments of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors.evaluation import evaluate
from yieldrl.foundations import Config, derive_seed

_OBJECTS = (gymnasium.Env, VectorEnv)

Wrap = Callable[[VectorEnv[Any, Any, Any]], VectorEnv[Any, Any, Any]]


class Evaluator:
    """Evaluates an agent in environments that are made when they are first needed.

    Args:
        source: Name or maker of the environments, as in `yieldrl.envs.make`.
        config: Has `eval_every`, `num_envs` and the seed.
        device: Where the agent's tensors live.
        as_it_is: Use an environment object itself. By default others like it are made,
            because training steps the object.
        wrap: Wraps the environments.

    Raises:
        ValueError: If evaluation is wanted and no second environment can be made.

    Attributes:
        seed: Default seed, the same for every evaluation, so that they compare.
        evaluated_at: Environment steps at the latest evaluation.
    """

    def __init__(
        self,
        source: Any,
        config: Config,
        device: str,
        *,
        as_it_is: bool = False,
        wrap: Wrap = lambda envs: envs,
    ) -> None:
        self.source, self._config, self._device = source, config, device
        self._as_it_is, self._wrap = as_it_is, wrap
        self._envs: VectorEnv[Any, Any, Any] | None = None
        self.seed = derive_seed(config.seed, "evaluation")
        self.evaluated_at = 0
        if config.eval_every > 0 and isinstance(source, _OBJECTS):
            _ = self.envs  # raise now if no second one can be made

    @property
    def envs(self) -> VectorEnv[Any, Any, Any]:
        """The environments."""
        if self._envs is None:
            as_it_is = self._as_it_is and isinstance(self.source, _OBJECTS)
            make = environments.make if as_it_is else environments.make_eval
            made = make(self.source, self._config, device=self._device)
            self._envs = self._wrap(made)
        return self._envs

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
        if self._envs is not None:
            self._envs.close()
