"""PPO and CartPole-v1 in JAX: rollouts and updates as functions of arrays."""

# pyright: reportMissingImports=false
# JAX is optional.

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.example_libraries import optimizers, stax
from jax.nn.initializers import orthogonal, zeros

from .peers.sides.carts import LONGEST, fallen, moved


def network(outputs: int, gain: float) -> Any:
    """Two hidden layers of tanh: how the weights begin, and what they compute."""
    sizes = {64: 2**0.5, outputs: gain}
    wide, last = (stax.Dense(n, orthogonal(g), zeros) for n, g in sizes.items())
    return stax.serial(wide, stax.Tanh, wide, stax.Tanh, last)


(NEW_ACTOR, LOGITS), (NEW_CRITIC, VALUE) = network(2, 0.01), network(1, 1.0)


def adam(hyper: dict[str, Any]) -> Any:
    return optimizers.adam(hyper["learning_rate"], eps=1e-5)


def begun(key: Any, hyper: dict[str, Any]) -> Any:
    """An optimizer's state, its steps, and carts at the beginning of episodes."""
    of_actor, of_critic, of_carts = jax.random.split(key, 3)
    params = [NEW_ACTOR(of_actor, (-1, 4))[1], NEW_CRITIC(of_critic, (-1, 4))[1]]
    num_envs = hyper["num_envs"]
    carts = fresh(of_carts, num_envs), jnp.zeros(num_envs, int)
    return (adam(hyper)[0](params), jnp.zeros((), int)), carts


def fresh(key: Any, num_envs: int) -> Any:
    """Where episodes begin, `[N, 4]`."""
    return jax.random.uniform(key, (num_envs, 4), minval=-0.05, maxval=0.05)


def chosen(log_probs: Any, action: Any) -> Any:
    """Those of the actions `[N]`."""
    return jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]


def loss_of(params: Any, batch: Any, hyper: dict[str, Any]) -> Any:
    """The clipped objective, the value loss and the entropy of a minibatch."""
    log_probs = jax.nn.log_softmax(LOGITS(params[0], batch["obs"]))
    log_prob = chosen(log_probs, batch["action"])
    ratio, clip = jnp.exp(log_prob - batch["log_prob"]), hyper["clip_coef"]
    advantage = jax.nn.standardize(batch["advantage"], epsilon=1e-8)
    clipped = jnp.clip(ratio, 1 - clip, 1 + clip)
    policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    errors = VALUE(params[1], batch["obs"])[:, 0] - batch["returns"]
    value_loss = 0.5 * jnp.square(errors).mean()
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
    weighed = hyper["value_coef"] * value_loss - hyper["entropy_coef"] * entropy
    return policy_loss + weighed


def update(learner: Any, batch: Any, hyper: dict[str, Any]) -> tuple[Any, None]:
    """One step of Adam on a minibatch, with clipped gradients."""
    (state, count), (_, stepped, params_of) = learner, adam(hyper)
    grads = jax.grad(loss_of)(params_of(state), batch, hyper)
    grads = optimizers.clip_grads(grads, hyper["max_grad_norm"])
    return (stepped(count, grads, state), count + 1), None


def collected(params: Any, carts: Any, key: Any, length: int) -> tuple[Any, Any]:
    """Where the carts are after so many steps, and the transitions, `[T, N]`."""

    def one(carry: Any, key: Any) -> tuple[Any, Any]:
        state, ages = carry
        of_action, of_reset = jax.random.split(key)
        log_probs = jax.nn.log_softmax(LOGITS(params[0], state))
        action = jax.random.categorical(of_action, log_probs)
        later, ages = moved(state, action == 1, jnp), ages + 1
        out = fallen(later)
        ended = out | (ages >= LONGEST)
        after = jnp.where(ended[:, None], fresh(of_reset, len(ended)), later)
        seen = {"obs": state, "action": action, "next": later, "ended": ended}
        seen |= {"log_prob": chosen(log_probs, action), "terminated": out}
        return (after, jnp.where(ended, 0, ages)), seen

    return lax.scan(one, carts, jax.random.split(key, length))


def advantages(params: Any, rollout: Any, hyper: dict[str, Any]) -> Any:
    """Generalized advantages `[T, N]`, and values; every step has a reward of 1."""
    value, later = (VALUE(params[1], rollout[of])[..., 0] for of in ("obs", "next"))
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
    params = adam(hyper)[2](learner[0])
    of_rollout, of_passes = jax.random.split(key)
    carts, rollout = collected(params, carts, of_rollout, hyper["num_steps"])
    advantage, value = advantages(params, rollout, hyper)
    data = {name: rollout[name] for name in ("obs", "action", "log_prob")}
    data |= {"advantage": advantage, "returns": advantage + value}
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), data)

    def one_pass(learner: Any, key: Any) -> tuple[Any, None]:
        order = jax.random.permutation(key, advantage.size)
        order = order.reshape(hyper["num_minibatches"], -1)
        batches = jax.tree.map(lambda x: x[order], flat)
        return lax.scan(partial(update, hyper=hyper), learner, batches)

    keys = jax.random.split(of_passes, hyper["num_epochs"])
    learner, _ = lax.scan(one_pass, learner, keys)
    return (learner, carts), None
