"""Environments with hidden parameters, with ranges for training and held-out ranges."""

from functools import partial
from typing import Any

import torch

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.classic_control import CartPoleVectorEnv, PendulumVectorEnv
from yieldrl.envs.physics.robots import HalfCheetahVectorEnv, HopperVectorEnv
from yieldrl.envs.wrappers import HiddenParameters

Intervals = dict[str, dict[str, Any]]
"""The arguments `ranges` and `held_out` of `HiddenParameters`."""

PENDULUM: Intervals = {
    "ranges": {"mass": (0.5, 1.5), "length": (0.5, 1.3)},
    "held_out": {
        "mass": ((0.3, 0.5), (1.5, 1.8)),
        "length": ((0.4, 0.5), (1.3, 1.4)),
    },
}
"""In kg and m. At the held-out maximum of both, swinging up takes most of an episode:
171 of 200 steps from the worst of 64 first states, with an energy-based controller."""

CART_POLE: Intervals = {
    "ranges": {
        "masspole": (0.05, 0.5),
        "length": (0.25, 1.0),
        "force_mag": ((-15.0, -5.0), (5.0, 15.0)),
    },
    "held_out": {
        "masspole": (0.5, 0.8),
        "length": ((0.15, 0.25), (1.0, 1.3)),
        "force_mag": ((-20.0, -15.0), (15.0, 20.0)),
    },
}
"""In kg, m and N. One linear controller balances poles of all masses and lengths, hence
negative forces too, which swap the effects of the two actions."""

ROBOT: Intervals = {
    "ranges": {
        "mass_scale": (0.5, 1.5),
        "friction_scale": (0.5, 1.5),
        "damping_scale": (0.5, 2.0),
        "gear_scale": (0.6, 1.4),
    },
    "held_out": {
        "mass_scale": ((0.4, 0.5), (1.5, 1.8)),
        "friction_scale": ((0.3, 0.5), (1.5, 2.0)),
        "damping_scale": ((0.25, 0.5), (2.0, 3.0)),
        "gear_scale": ((0.5, 0.6), (1.4, 1.6)),
    },
}
"""Ranges of multiples of the model's values."""


def hidden(
    world: type[TorchVectorEnv],
    intervals: Intervals,
    num_envs: int = 1,
    *,
    device: str | torch.device = "cpu",
    side: str = "training",
    **kwargs: Any,
) -> HiddenParameters:
    """Make N environments of a world in `HiddenParameters`; `side` is its argument,
    the others are the world's."""
    envs = world(num_envs, device=device, **kwargs)
    return HiddenParameters(envs, **intervals, side=side)


HiddenPendulumVectorEnv = partial(hidden, PendulumVectorEnv, PENDULUM)
"""`PendulumVectorEnv` with another mass and length in each episode."""

HiddenCartPoleVectorEnv = partial(hidden, CartPoleVectorEnv, CART_POLE)
"""`CartPoleVectorEnv` with another pole and force in each episode.

In every second episode the force is negative, so that action 1 pushes to the left: a
policy that does not infer the direction from the pole's motion cannot balance it."""

HiddenHopperVectorEnv = partial(hidden, HopperVectorEnv, ROBOT)
"""`HopperVectorEnv` with other masses, friction, damping and motors each episode."""

HiddenHalfCheetahVectorEnv = partial(hidden, HalfCheetahVectorEnv, ROBOT)
"""`HalfCheetahVectorEnv` with other masses, friction, damping and motors each episode.
"""
