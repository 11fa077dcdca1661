"""A small PPO and CartPole in JAX alone: whole rollouts and updates as one program.

Episodes that were cut are bootstrapped from their own last observation.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .clock import Clock
from .contract import Task, main
from .jax_carts import LONGEST, fallen, fresh, moved, step

PACKAGES = ("jax", "jaxlib", "numpy")


def network(key: Any, sizes: list[int], last_gain: float) -> list[Any]:
    gains = [2**0.5] * (len(sizes) - 2) + [last_gain]
    keys = jax.random.split(key, len(gains))
    pairs = zip(keys, gains, sizes[:-1], sizes[1:], strict=True)
    return [
        (jax.nn.initializers.orthogonal(gain)(k, (inputs, outputs)), jnp.zeros(outputs))
        for k, gain, inputs, outputs in pairs
    ]


def apply(layers: list[Any], x: Any) -> Any:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def value_of(params: Any, obs: Any) -> Any:
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


@jax.jit
def episode_returns(params: Any, state: Any) -> Any:
    """Returns of deterministic episodes that begin at states `[E, 4]`."""

    def one(carry: Any, _: Any) -> tuple[Any, None]:
        state, going, total = carry
        right = apply(params["actor"], state).argmax(-1) == 1
        later, total = moved(state, right), total + going
        return (later, going & ~fallen(later), total), None

    begin = (state, jnp.ones(len(state), bool), jnp.zeros(len(state)))
    return lax.scan(one, begin, None, LONGEST)[0][2]


def train(task: Task) -> dict[str, Any]:
    hyper, sizes = task.settings, list(task.settings["hidden_sizes"])
    keys = jax.random.split(jax.random.key(task.seed), 5)
    params = {
        "actor": network(keys[0], [4, *sizes, 2], 0.01),
        "critic": network(keys[1], [4, *sizes, 1], 1.0),
    }
    zeros = jax.tree.map(jnp.zeros_like, params)
    carts = (fresh(keys[2], hyper["num_envs"]), jnp.zeros(hyper["num_envs"], int))
    carry = ((params, zeros, zeros, jnp.zeros((), int)), carts)
    at_once = (task.evaluate_every or task.batch_size) // task.batch_size

    def rollouts(carry: Any, key: Any) -> Any:
        keys = jax.random.split(key, at_once)
        return lax.scan(partial(learned, hyper=hyper), carry, keys)[0]

    program = jax.jit(rollouts).lower(carry, keys[3]).compile()
    begins = fresh(keys[4], task.episodes)
    clock = Clock(task, lambda: episode_returns(carry[0][0], begins).mean().item())
    calls = 0
    while not clock.done:
        calls += 1
        carry = program(carry, jax.random.fold_in(keys[3], calls))
        jax.block_until_ready(carry)
        clock(calls * at_once * task.batch_size)
    updates = calls * at_once * task.gradient_steps
    return clock.finish(updates, PACKAGES)


if __name__ == "__main__":
    main({"W2": train})
