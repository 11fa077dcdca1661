"""CartPole-v1 in JAX, N carts at a time, by Gymnasium's equations in float32."""

from typing import Any

import jax
import jax.numpy as jnp

GRAVITY, MASS_POLE, TOTAL_MASS, LENGTH = 9.8, 0.1, 1.1, 0.5
FORCE, TAU = 10.0, 0.02
X_LIMIT, THETA_LIMIT = 2.4, 12 * 2 * jnp.pi / 360
LONGEST = 500


def fresh(key: Any, num_envs: int) -> Any:
    """Where episodes begin, `[N, 4]`."""
    return jax.random.uniform(key, (num_envs, 4), minval=-0.05, maxval=0.05)


def moved(state: Any, right: Any) -> Any:
    """Carts `[N, 4]` a step later, pushed to the right or to the left, bool `[N]`."""
    x, speed, theta, turning = state.T
    force = jnp.where(right, FORCE, -FORCE)
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    push = (force + MASS_POLE * LENGTH * turning**2 * sin) / TOTAL_MASS
    inertia = LENGTH * (4 / 3 - MASS_POLE * cos**2 / TOTAL_MASS)
    bend = (GRAVITY * sin - cos * push) / inertia
    rate = push - MASS_POLE * LENGTH * bend * cos / TOTAL_MASS
    later = (x + TAU * speed, speed + TAU * rate, theta + TAU * turning)
    return jnp.stack([*later, turning + TAU * bend], -1)


def fallen(state: Any) -> Any:
    """Which of the carts `[N, 4]` have failed, bool `[N]`."""
    return (jnp.abs(state[:, 0]) > X_LIMIT) | (jnp.abs(state[:, 2]) > THETA_LIMIT)


def step(state: Any, ages: Any, right: Any, key: Any) -> tuple[Any, ...]:
    """Where carts are afterwards, before and after resets; what ended, and how."""
    later, ages = moved(state, right), ages + 1
    out = fallen(later)
    ended = out | (ages >= LONGEST)
    state = jnp.where(ended[:, None], fresh(key, len(ended)), later)
    return later, state, jnp.where(ended, 0, ages), out, ended
