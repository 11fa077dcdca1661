"""Hyper-parameters of DQN."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import foundations


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Deep Q-network; the defaults solve CartPole-v1 in 150 000 steps."""

    num_envs: int = 1
    """Number of environments stepped side by side."""

    total_steps: int = 150_000
    """Environment steps to train for, counted over all environments."""

    buffer_size: int = 150_000
    """Transitions that the replay buffer keeps. Who forgets what falling looks like,
    falls: by default nothing is forgotten."""

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

    tau: float = 0.005
    """Share of the network that a synchronisation moves into the target; 1 copies it,
    which the paper does every 10 000 gradient steps."""

    learning_rate: float = 1e-3
    """Adam's step size at the start."""

    anneal_learning_rate: bool = True
    """Let the step size fall linearly to zero at `total_steps`. The smaller it is, the
    less noise there is for the maximum over actions to believe in."""

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

    max_grad_norm: float | None = None
    """Gradients are scaled down to this norm, if there is one. Like clipped errors it
    makes light of the rare large error of an episode's end, so by default there is
    none."""

    hidden_sizes: tuple[int, ...] = (120, 84)
    """Widths of the hidden layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_every", "gradient_steps", "batch_size", "target_every"):
            self._check_range(name, low=1)
        for name in ("learning_rate", "tau", "error_clip", "max_grad_norm"):
            if getattr(self, name) is not None:
                self._check_range(name, low=0, above=True)
        for name in ("gamma", "epsilon_start", "epsilon_end", "tau"):
            self._check_range(name, low=0, high=1)
        self._check_range("exploration_fraction", low=0, high=1)
        self._check_range("epsilon_spread", low=0)
        self._check_range("learning_starts", low=0)
        self._check_range("buffer_size", low=self.num_envs)
        if any(width < 1 for width in self.hidden_sizes):
            raise self.error("hidden_sizes", "every width must be at least 1")
