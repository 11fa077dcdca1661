"""PPO and CartPole-v1 in JAX: rollouts and updates as functions of arrays."""

# pyright: reportMissingImports=false
# JAX is optional.

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

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


def network(key: Any, sizes: list[int], last_gain: float) -> list[Any]:
    """Weights and biases of layers, orthogonal."""
    gains = [2**0.5] * (len(sizes) - 2) + [last_gain]
    keys = jax.random.split(key, len(gains))
    pairs = zip(keys, gains, sizes[:-1], sizes[1:], strict=True)
    return [
        (jax.nn.initializers.orthogonal(gain)(k, (inputs, outputs)), jnp.zeros(outputs))
        for k, gain, inputs, outputs in pairs
    ]


def apply(layers: list[Any], x: Any) -> Any:
    """A network's outputs `[..., O]`."""
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def value_of(params: Any, obs: Any) -> Any:
    """`V(s)`, `[...]`."""
    return apply(params["critic"], obs)[..., 0]


def loss_of(params: Any, batch: Any, hyper: dict[str, Any]) -> Any:
    """The clipped objective, the value loss and the entropy of a minibatch."""
    log_probs = jax.nn.log_softmax(apply(params["actor"], batch["obs"]))
    log_prob = jnp.take_along_axis(log_probs, batch["action"][:, None], 1)[:, 0]
    ratio, clip = jnp.exp(log_prob - batch["log_prob"]), hyper["clip_coef"]
    advantage = batch["advantage"]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - clip, 1 + clip)
    policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    errors = value_of(params, batch["obs"]) - batch["returns"]
    value_loss = 0.5 * jnp.square(errors).mean()
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
    weighed = hyper["value_coef"] * value_loss - hyper["entropy_coef"] * entropy
    return policy_loss + weighed


def update(carry: Any, batch: Any, hyper: dict[str, Any]) -> tuple[Any, None]:
    """One step of Adam on a minibatch, with clipped gradients."""
    params, first, second, count = carry
    grads = jax.grad(loss_of)(params, batch, hyper)
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, hyper["max_grad_norm"] / (norm + 1e-6))
    grads = jax.tree.map(lambda g: g * scale, grads)
    count += 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)

    def moved_by(p: Any, m: Any, v: Any) -> Any:
        unbiased = jnp.sqrt(v / (1 - 0.999**count)) + 1e-5
        return p - hyper["learning_rate"] * m / (1 - 0.9**count) / unbiased

    params = jax.tree.map(moved_by, params, first, second)
    return (params, first, second, count), None


def collected(params: Any, carts: Any, key: Any, length: int) -> tuple[Any, Any]:
    """Where the carts are after so many steps, and the transitions, `[T, N]`."""

    def one(carry: Any, key: Any) -> tuple[Any, Any]:
        state, ages = carry
        of_action, of_reset = jax.random.split(key)
        log_probs = jax.nn.log_softmax(apply(params["actor"], state))
        action = jax.random.categorical(of_action, log_probs)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        later, after, ages, out, ended = step(state, ages, action == 1, of_reset)
        seen = {"obs": state, "action": action, "log_prob": log_prob, "next": later}
        return (after, ages), seen | {"terminated": out, "ended": ended}

    return lax.scan(one, carts, jax.random.split(key, length))


def advantages(params: Any, rollout: Any, hyper: dict[str, Any]) -> Any:
    """Generalized advantages `[T, N]`, and values; every step has a reward of 1."""
    value, later = (value_of(params, rollout[name]) for name in ("obs", "next"))
    goes_on = 1.0 - rollout["ended"]
    delta = 1.0 + hyper["gamma"] * later * (1.0 - rollout["terminated"]) - value

    def back(carry: Any, at: Any) -> tuple[Any, Any]:
        carry = at[0] + hyper["gamma"] * hyper["gae_lambda"] * at[1] * carry
        return carry, carry

    begin = jnp.zeros(value.shape[1])
    return lax.scan(back, begin, (delta, goes_on), reverse=True)[1], value


def learned(carry: Any, key: Any, hyper: dict[str, Any]) -> tuple[Any, None]:
    """A rollout, and all passes over it."""
    learner, carts = carry
    of_rollout, of_passes = jax.random.split(key)
    length = hyper["num_steps"]
    carts, rollout = collected(learner[0], carts, of_rollout, length)
    advantage, value = advantages(learner[0], rollout, hyper)
    names = ("obs", "action", "log_prob")
    data = {name: rollout[name] for name in names}
    data |= {"advantage": advantage, "returns": advantage + value}
    size = length * hyper["num_envs"]
    flat = jax.tree.map(lambda x: x.reshape(size, *x.shape[2:]), data)

    def one_pass(learner: Any, key: Any) -> tuple[Any, None]:
        order = jax.random.permutation(key, size).reshape(hyper["num_minibatches"], -1)
        batches = jax.tree.map(lambda x: x[order], flat)
        return lax.scan(partial(update, hyper=hyper), learner, batches)

    keys = jax.random.split(of_passes, hyper["num_epochs"])
    learner, _ = lax.scan(one_pass, learner, keys)
    return (learner, carts), None
