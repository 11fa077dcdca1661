"""Hyper-parameters of Q-learning."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import foundations


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Q-learning with a table; the defaults learn the slippery FrozenLake-v1."""

    env_id: str = "FrozenLake-v1"
    """Id of a registered environment whose states can be numbered."""

    num_envs: int = 1
    """Number of environments stepped side by side."""

    total_steps: int = 200_000
    """Environment steps to train for, counted over all environments."""

    device: str = "cpu"
    """Where the table lives; a GPU is worth it only beside environments that live on
    it too."""

    eval_every: int = 20_000
    """Evaluate each time this many more steps were taken, and at the end; 0 never."""

    eval_episodes: int = 100
    """Episodes of each evaluation."""

    learning_rate: float = 1.0
    """Step size at the first update of an entry."""

    visit_power: float = 0.6
    """At its n-th update an entry moves by `learning_rate / n ** visit_power`. Above
    0.5 and up to 1 the table converges; 0 keeps the step size constant."""

    gamma: float = 0.99
    """Discount of future rewards."""

    epsilon_start: float = 1.0
    """Probability of a random action at the start."""

    epsilon_end: float = 0.1
    """Probability of a random action when exploration has settled."""

    exploration_fraction: float = 0.5
    """Share of `total_steps` during which epsilon falls, linearly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("learning_rate", low=0, high=1, above=True)
        for name in ("visit_power", "gamma", "epsilon_start", "epsilon_end"):
            self._check_range(name, low=0, high=1)
        self._check_range("exploration_fraction", low=0, high=1)
        if self.compile:
            raise self.error("compile", "a table has no network to compile: leave it")
