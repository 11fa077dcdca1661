"""Hyper-parameters of DQN."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import experiments


@dataclass(frozen=True, kw_only=True)
class Config(experiments.Config):
    """Deep Q-network; the defaults learn CartPole-v1, and on some seeds forget it."""

    num_envs: int = 1
    """Number of environments stepped side by side."""

    total_steps: int = 150_000
    """Environment steps to train for, counted over all environments."""

    buffer_size: int = 100_000
    """Transitions that the replay buffer keeps."""

    learning_starts: int = 1_000
    """Environment steps before the first update."""

    train_every: int = 2
    """Environment steps between updates."""

    gradient_steps: int = 1
    """Gradient steps of each update."""

    batch_size: int = 128
    """Transitions drawn for each gradient step."""

    target_every: int = 1
    """Gradient steps between synchronisations of the target network."""

    tau: float = 0.01
    """Share of the network that a synchronisation moves into the target; 1 copies it,
    which the paper does every 10 000 gradient steps."""

    learning_rate: float = 5e-4
    """Adam's step size."""

    gamma: float = 0.99
    """Discount of future rewards."""

    epsilon_start: float = 1.0
    """Probability of a random action at the start."""

    epsilon_end: float = 0.05
    """Probability of a random action when exploration has settled."""

    exploration_fraction: float = 0.2
    """Share of `total_steps` during which epsilon falls, linearly."""

    epsilon_spread: float = 0.0
    """Above 0, environment i of N explores with epsilon^(1 + i/(N-1) * spread), so
    that some are bold and some careful (Horgan et al. 2018, arXiv:1803.00933)."""

    error_clip: float | None = None
    """Beyond this size a TD error counts linearly only; the paper has 1, for rewards
    clipped to [-1, 1]. By default errors of every size are squared."""

    max_grad_norm: float = 10.0
    """Gradients are scaled down to this norm."""

    hidden_sizes: tuple[int, ...] = (120, 84)
    """Widths of the hidden layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_every", "gradient_steps", "batch_size", "target_every"):
            self._check_range(name, low=1)
        for name in ("learning_rate", "max_grad_norm", "tau"):
            self._check_range(name, low=0, above=True)
        for name in ("gamma", "epsilon_start", "epsilon_end", "tau"):
            self._check_range(name, low=0, high=1)
        if self.error_clip is not None:
            self._check_range("error_clip", low=0, above=True)
        self._check_range("exploration_fraction", low=0, high=1)
        self._check_range("epsilon_spread", low=0)
        self._check_range("learning_starts", low=0)
        self._check_range("buffer_size", low=self.num_envs)
        if any(width < 1 for width in self.hidden_sizes):
            raise self.error("hidden_sizes", "every width must be at least 1")
