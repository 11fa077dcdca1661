"""Ways to step N environments with random actions, ours and those of others. A reset in
the step after an episode's end is counted.

EnvPool is the extra `rivals`, 740 MB with the games that it brings. gymnax asks for an
older Gymnasium than yieldrl, and runs with this one all the same: `pip install jax flax
&& pip install --no-deps gymnax`, best in an environment of its own.
"""

# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
# Optional packages.

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete
from gymnasium.wrappers import Autoreset
from torch.utils._pytree import tree_leaves

import yieldrl.envs  # noqa: F401 (registers its worlds)

POOL = 16  # batches of actions that a side goes round and round in
SEED = 0  # of the actions, and of the first reset


@dataclass(frozen=True, kw_only=True)
class Batch:
    """N environments that are ready to be stepped."""

    step: Callable[[], Any]  # steps all of them, and returns the answer
    steps: int = 1  # steps of each environment in one call
    wait: Callable[[], Any] = lambda: None  # returns when all is computed
    bytes_per_env: float | None = None  # memory of an environment, where it is known


def tensors_of(
    n: int, threads: int, env_id: str, *, physics: bool = False, compiled: bool = False
) -> Batch:
    """A world of tensors; physics gets as many threads as allowed."""
    kwargs: Any = {"threads": threads} if physics else {"compile": compiled}
    envs: Any = gymnasium.make_vec(env_id, num_envs=n, **kwargs)
    envs.reset(seed=SEED)
    drawn = torch.as_tensor(actions(env_id, n))
    step = in_turn(envs.step, drawn.unbind())
    return Batch(step=step, bytes_per_env=memory(envs, step()) / n)


def vector(n: int, _: int, env_id: str, other_id: str, mode: str) -> Batch:
    """Gymnasium's `make_vec`, without the checker that would look at every step."""
    single = mode != "vector_entry_point"  # which makes no single environments
    unchecked: dict[str, Any] = {"disable_env_checker": True} if single else {}
    envs = gymnasium.make_vec(
        other_id, num_envs=n, vectorization_mode=mode, **unchecked
    )
    envs.reset(seed=SEED)
    return Batch(step=in_turn(envs.step, actions(env_id, n)))


def single(_: int, __: int, env_id: str, other_id: str) -> Batch:
    """One environment of Gymnasium's."""
    env = Autoreset(gymnasium.make(other_id, disable_env_checker=True))
    env.reset(seed=SEED)
    return Batch(step=in_turn(env.step, actions(env_id, 1)[:, 0]))


def envpool(n: int, threads: int, env_id: str, other_id: str) -> Batch:
    """EnvPool's synchronous mode, of as many threads as allowed."""
    import envpool

    how = {"num_envs": n, "num_threads": threads, "seed": SEED}
    envs = envpool.make(other_id, env_type="gymnasium", **how)
    envs.reset()
    drawn = actions(env_id, n).astype(envs.action_space.dtype)
    return Batch(step=in_turn(envs.step, drawn))


def copies(n: int, _: int, env_id: str, game: str) -> Batch:
    """N games of the package `minatar`, one after the other in a loop."""
    import minatar

    games = [minatar.Environment(game) for _ in range(n)]
    for seed, one in enumerate(games):
        one.seed(seed)
        one.reset()
    meaning = np.array(games[0].minimal_action_set())
    obs = np.empty((n, *games[0].state_shape()), dtype=bool)

    def play(chosen: list[int]) -> None:
        for i, (one, action) in enumerate(zip(games, chosen, strict=True)):
            _, ended = one.act(action)
            if ended:
                one.reset()
            obs[i] = one.state()

    return Batch(step=in_turn(play, meaning[actions(env_id, n)].tolist()))


def gymnax(n: int, _: int, env_id: str, other_id: str, *, scan: bool = False) -> Batch:
    """gymnax, jitted: a call for every step, or one for up to 128, which is JAX's way;
    fewer where N is large, or the answers of all steps would fill the memory."""
    import gymnax
    import jax

    env, params = gymnax.make(other_id)
    each = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    length = max(1, min(128, 2**17 // n)) if scan else 1

    def one(carry: Any, action: Any) -> Any:
        keys = jax.random.split(carry[0], n + 1)
        obs, state, *rest, info = each(keys[1:], carry[1], action, params)
        return (keys[0], state), (obs, *rest, *([] if scan else [info]))

    whole = jax.jit((lambda c, a: jax.lax.scan(one, c, a)) if scan else one)
    keys = jax.random.split(jax.random.key(SEED), n + 1)
    _, state = jax.vmap(env.reset, in_axes=(0, None))(keys[1:], params)
    carry = (keys[0], state)

    def go_on(action: Any) -> Any:
        nonlocal carry
        carry, answer = whole(carry, action)
        return answer

    drawn = jax.numpy.asarray(actions(env_id, n, max(POOL, length)))
    step = in_turn(go_on, [drawn[:length]] if scan else list(drawn))
    return Batch(step=step, steps=length, wait=lambda: jax.block_until_ready(carry))


def rollout(n: int, threads: int, env_id: str, xml_file: str) -> Batch:
    """Bare MuJoCo: `mujoco.rollout` of whole states, from where the call before came
    to, without rewards, observations and ends of episodes."""
    import mujoco
    from gymnasium.envs.mujoco.mujoco_env import expand_model_path
    from mujoco.rollout import Rollout

    model = mujoco.MjModel.from_xml_path(expand_model_path(xml_file))
    workspaces = [mujoco.MjData(model) for _ in range(threads)]
    # With 0 threads it runs on the calling one.
    pool = Rollout(nthread=threads if threads > 1 else 0)
    whole, frame_skip = mujoco.mjtState.mjSTATE_FULLPHYSICS, 5
    first = np.empty(mujoco.mj_stateSize(model, whole))
    mujoco.mj_getState(model, workspaces[0], first, whole)
    state = np.tile(first, (n, 1))
    path = np.empty((n, frame_skip, len(first)))

    def go_on(control: np.ndarray) -> None:
        pool.rollout(model, workspaces, state, control, state=path)
        state[:] = path[:, -1]

    drawn = actions(env_id, n).astype(np.float64)
    held = [np.repeat(a[:, None], frame_skip, axis=1) for a in drawn]
    return Batch(step=in_turn(go_on, held))


def actions(env_id: str, n: int, count: int = POOL) -> np.ndarray:
    """Random actions `[count, N, ...]` for a world and for its equals elsewhere."""
    rng = np.random.default_rng(SEED)
    space: Any = gymnasium.make_vec(env_id, num_envs=1).single_action_space
    if isinstance(space, Discrete):
        return rng.integers(space.n, size=(count, n))
    shape = (count, n, *space.shape)
    return rng.uniform(space.low, space.high, shape).astype(np.float32)


def in_turn(step: Callable[[Any], Any], drawn: Any) -> Callable[[], Any]:
    """A function that steps with one action after the other; one was taken already."""
    queue = itertools.cycle(drawn)
    step(next(queue))
    return lambda: step(next(queue))


def memory(envs: Any, answer: Any) -> int:
    """Bytes of all tensors that N environments hold, and of one step's answer.

    For physics those through which the backend reads and writes count too; what MuJoCo
    keeps for itself (a workspace per thread) does not.
    """
    held = {k: v for k, v in envs.state_dict().items() if k != "generator"}
    # `_final_obs` is no tensor more: it is `ended`, which is held.
    answered = [*answer[:4], answer[4].get("final_obs")]
    backend = getattr(envs, "backend", None)
    between = [backend.inputs, backend.outputs] if backend else []
    leaves = tree_leaves([held, answered, between])
    return sum(x.nbytes for x in leaves if isinstance(x, torch.Tensor))
