"""Environments that other processes step: only their spaces are here."""

from typing import Any, NoReturn

import gymnasium as gym
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space


class RemoteEnvs(VectorEnv[Any, Any, Any]):
    """Spaces and numbers of the environments of a trainer's rollout workers.

    Args:
        num_envs: Number of environments of all workers together.
        observation_space: Space of one environment.
        action_space: Space of one environment.
        recorded_info: Entries of `info` that are stored in every transition.
        pool: The workers, which end when this is closed.
    """

    def __init__(
        self,
        num_envs: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        recorded_info: tuple[str, ...] = (),
        *,
        pool: Any,
    ) -> None:
        self.num_envs, self.recorded_info, self.pool = num_envs, recorded_info, pool
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)

    def here(self) -> VectorEnv[Any, Any, Any]:
        """The same number of environments of this kind, in this process."""
        return self.pool.envs_here()

    def reset(self, **_: Any) -> NoReturn:
        """Refuse: see `step`."""
        self._refuse()

    def step(self, actions: Any) -> NoReturn:
        """Refuse.

        Raises:
            RuntimeError: Always.
        """
        self._refuse()

    def close_extras(self, **_: Any) -> None:
        """End the workers."""
        self.pool.close()

    def _refuse(self) -> NoReturn:
        raise RuntimeError(
            "these environments live in rollout workers on Ray, which step them:"
            " trainer.collector.collect(n) is a rollout, trainer.evaluate() plays in"
            " this process; or take collection='sync'"
        )
