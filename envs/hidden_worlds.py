"""Environments with hidden parameters, with ranges for training and held-out ranges."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import torch

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.classic_control import CartPoleVectorEnv, PendulumVectorEnv
from yieldrl.envs.physics.robots import HalfCheetahVectorEnv, HopperVectorEnv
from yieldrl.envs.wrappers import HiddenParameters


class Sides(NamedTuple):
    """Intervals by parameter name, for `HiddenParameters`."""

    ranges: Mapping[str, Any]
    held_out: Mapping[str, Any]


PENDULUM = Sides(
    {"mass": (0.5, 1.5), "length": (0.5, 1.3)},
    {"mass": ((0.3, 0.5), (1.5, 1.8)), "length": ((0.4, 0.5), (1.3, 1.4))},
)
"""In kg and m. At the held-out maximum of both, swinging up takes most of an episode:
171 of 200 steps from the worst of 64 first states, with an energy-based controller."""

CART_POLE = Sides(
    {
        "masspole": (0.05, 0.5),
        "length": (0.25, 1.0),
        "force_mag": ((-15.0, -5.0), (5.0, 15.0)),
    },
    {
        "masspole": (0.5, 0.8),
        "length": ((0.15, 0.25), (1.0, 1.3)),
        "force_mag": ((-20.0, -15.0), (15.0, 20.0)),
    },
)
"""In kg, m and N. One linear controller balances poles of all masses and lengths, hence
negative forces too, which swap the effects of the two actions."""

ROBOT = Sides(
    {
        "mass_scale": (0.5, 1.5),
        "friction_scale": (0.5, 1.5),
        "damping_scale": (0.5, 2.0),
        "gear_scale": (0.6, 1.4),
    },
    {
        "mass_scale": ((0.4, 0.5), (1.5, 1.8)),
        "friction_scale": ((0.3, 0.5), (1.5, 2.0)),
        "damping_scale": ((0.25, 0.5), (2.0, 3.0)),
        "gear_scale": ((0.5, 0.6), (1.4, 1.6)),
    },
)
"""Ranges of multiples of the model's values."""


def hidden(
    world: type[TorchVectorEnv],
    usual: Sides,
    num_envs: int = 1,
    *,
    device: str | torch.device = "cpu",
    side: str = "training",
    **kwargs: Any,
) -> HiddenParameters:
    """Make a world in `HiddenParameters`.

    Args:
        world: The class of the world.
        usual: The intervals.
        num_envs: N, the number of environments.
        device: Where the tensors live.
        side: Which of them the parameters are drawn from.
        kwargs: Arguments of the world.
    """
    envs = world(num_envs, device=device, **kwargs)
    return HiddenParameters(envs, usual.ranges, held_out=usual.held_out, side=side)


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
