"""How others step N environments. A reset in the step after an episode's end is
counted.

EnvPool is the extra `rivals`, 740 MB with the games that it brings. gymnax asks for an
older Gymnasium than yieldrl, and runs with this one all the same: `pip install jax flax
&& pip install --no-deps gymnax`, best in an environment of its own.
"""

# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
# Optional packages.

from functools import partial
from typing import Any

import gymnasium
import numpy as np

from .batches import POOL, SEED, Batch, Setting, actions, builds, in_turn


@builds
def vector(on: Setting, env_id: str, other_id: str, mode: str) -> Batch:
    """Gymnasium's `make_vec`, without the checker that would look at every step."""
    unchecked: dict[str, Any] = {}
    if mode != "vector_entry_point":  # which makes no single environments
        unchecked["disable_env_checker"] = True
    envs = gymnasium.make_vec(
        other_id, num_envs=on.num_envs, vectorization_mode=mode, **unchecked
    )
    envs.reset(seed=SEED)
    step, _ = in_turn(envs.step, actions(env_id, on.num_envs))
    return Batch(step=step)


def advance(env: Any, action: Any) -> Any:
    """What a step of one environment answers; a reset follows an episode's end."""
    answer = env.step(action)
    if answer[2] or answer[3]:
        env.reset()
    return answer


class OnItsOwn(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that takes many steps at a time, with actions of its own."""

    steps = 8 * POOL

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        env.action_space.seed(SEED)
        self.drawn = [env.action_space.sample() for _ in range(POOL)]

    def step(self, action: Any) -> Any:
        """Take them all, whatever the action; what the last one answers."""
        answer: Any = None
        for i in range(self.steps):
            answer = advance(self.env, self.drawn[i % POOL])
        return answer


@builds
def apiece(_: Setting, env_id: str, other_id: str, processes: int) -> Batch:
    """One of Gymnasium's in each of some processes, which hardly ever meet."""
    envs = gymnasium.make_vec(
        other_id,
        num_envs=processes,
        vectorization_mode="async",
        wrappers=[OnItsOwn],
        disable_env_checker=True,
    )
    envs.reset(seed=SEED)
    step, _ = in_turn(envs.step, actions(env_id, processes))
    return Batch(step=step, steps=OnItsOwn.steps)


@builds
def single(_: Setting, env_id: str, other_id: str) -> Batch:
    """One environment of Gymnasium's, in a loop that resets it."""
    env = gymnasium.make(other_id, disable_env_checker=True)
    env.reset(seed=SEED)
    step, _ = in_turn(partial(advance, env), actions(env_id, 1)[:, 0])
    return Batch(step=step)


@builds
def envpool(on: Setting, env_id: str, other_id: str) -> Batch:
    """EnvPool's synchronous mode, of as many threads as allowed."""
    import envpool

    envs = envpool.make(
        other_id,
        env_type="gymnasium",
        num_envs=on.num_envs,
        num_threads=on.threads,
        seed=SEED,
    )
    envs.reset()
    drawn = actions(env_id, on.num_envs).astype(envs.action_space.dtype)
    step, _ = in_turn(envs.step, drawn)
    return Batch(step=step)


@builds
def copies(on: Setting, env_id: str, game: str) -> Batch:
    """N games of the package `minatar`, one after the other in a loop."""
    import minatar

    games = [minatar.Environment(game) for _ in range(on.num_envs)]
    for seed, one in enumerate(games):
        one.seed(seed)
        one.reset()
    meaning = np.array(games[0].minimal_action_set())
    obs = np.empty((on.num_envs, *games[0].state_shape()), dtype=bool)

    def play(chosen: list[int]) -> None:
        for i, (one, action) in enumerate(zip(games, chosen, strict=True)):
            _, ended = one.act(action)
            if ended:
                one.reset()
            obs[i] = one.state()

    step, _ = in_turn(play, meaning[actions(env_id, on.num_envs)].tolist())
    return Batch(step=step)


@builds
def gymnax(on: Setting, env_id: str, other_id: str, *, scan: bool = False) -> Batch:
    """gymnax, jitted: a call for every step, or one for up to 128, which is JAX's way;
    fewer where N is large, or the answers of all steps would fill the memory."""
    import gymnax
    import jax

    env, params = gymnax.make(other_id)
    each = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    length = max(1, min(128, 2**17 // on.num_envs)) if scan else 1

    def one(carry: Any, action: Any) -> Any:
        keys = jax.random.split(carry[0], on.num_envs + 1)
        obs, state, *rest, info = each(keys[1:], carry[1], action, params)
        return (keys[0], state), (obs, *rest, *([] if scan else [info]))

    whole = jax.jit((lambda c, a: jax.lax.scan(one, c, a)) if scan else one)
    keys = jax.random.split(jax.random.key(SEED), on.num_envs + 1)
    _, state = jax.vmap(env.reset, in_axes=(0, None))(keys[1:], params)
    carry = (keys[0], state)

    def go_on(action: Any) -> Any:
        nonlocal carry
        carry, answer = whole(carry, action)
        return answer

    drawn = jax.numpy.asarray(actions(env_id, on.num_envs, max(POOL, length)))
    step, _ = in_turn(go_on, [drawn[:length]] if scan else list(drawn))
    wait = lambda: jax.block_until_ready(carry)  # noqa: E731 (it is one line)
    return Batch(step=step, steps=length, wait=wait)
