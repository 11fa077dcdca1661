"""Hyper-parameters of DDPG."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import foundations


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Deep deterministic policy gradient; the defaults learn Pendulum-v1."""

    env_id: str = "Pendulum-v1"
    """Id of a registered environment whose actions are numbers in bounds, such as
    `Pendulum-v1` or `HalfCheetah-v5`; `my_module:MyEnv-v0` imports `my_module`
    first."""

    num_envs: int = 1
    """Number of environments stepped side by side."""

    total_steps: int = 20_000
    """Environment steps to train for, counted over all environments."""

    buffer_size: int = 1_000_000
    """Transitions that the replay buffer keeps."""

    learning_starts: int = 1_000
    """Environment steps before the first update; their actions are uniformly random."""

    train_every: int = 1
    """Environment steps between updates."""

    gradient_steps: int = 1
    """Gradient steps of each update."""

    batch_size: int = 256
    """Transitions drawn for each gradient step."""

    target_every: int = 1
    """Gradient steps between synchronisations of the target networks."""

    tau: float = 0.005
    """Share of the networks that a synchronisation moves into the targets."""

    learning_rate: float = 1e-3
    """Adam's step size, of the actor and of the critic."""

    gamma: float = 0.99
    """Discount of future rewards."""

    exploration_noise: float = 0.1
    """Deviation of the noise on every action, as a share of half the width of its
    bounds."""

    hidden_sizes: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers, of the actor and of the critic."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_every", "gradient_steps", "batch_size", "target_every"):
            self._check_range(name, low=1)
        self._check_range("learning_rate", low=0, above=True)
        self._check_range("tau", low=0, high=1, above=True)
        self._check_range("gamma", low=0, high=1)
        self._check_range("exploration_noise", low=0)
        self._check_range("learning_starts", low=0)
        self._check_range("buffer_size", low=self.num_envs)
        if any(width < 1 for width in self.hidden_sizes):
            raise self.error("hidden_sizes", "every width must be at least 1")
