"""N environments that are ready to be stepped with random actions, for timing: building
draws the actions and takes a first step, and calls of `Batch.step` are timed."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete

import yieldrl.envs  # noqa: F401 (registers its worlds)

POOL = 16  # batches of actions that a side goes round and round in
SEED = 0  # of the actions, and of the first reset


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where and how large."""

    num_envs: int
    threads: int
    device: str


def nothing() -> None:
    """For sides whose answers are there when they return."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """N environments that are ready to be stepped."""

    step: Callable[[], Any]  # steps all of them, and returns the answer
    steps: int = 1  # steps of each environment in one call
    wait: Callable[[], Any] = nothing  # returns when all that was asked for is computed
    bytes_per_env: float | None = None  # memory of an environment, where it is known


Build = Callable[[Setting], Batch]


def builds(function: Callable[..., Batch]) -> Callable[..., Build]:
    """Let a builder get its setting in a second call."""

    @functools.wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Build:
        return lambda on: function(on, *args, **kwargs)

    return chosen


@builds
def tensors_of(
    on: Setting, env_id: str, *, physics: bool = False, compiled: bool = False
) -> Batch:
    """A world of tensors; physics gets as many threads as allowed."""
    kwargs: dict[str, Any] = {"threads": on.threads} if physics else {}
    if compiled:
        kwargs["compile"] = True
    envs: Any = gymnasium.make_vec(
        env_id, num_envs=on.num_envs, device=on.device, **kwargs
    )
    envs.reset(seed=SEED)
    drawn = torch.as_tensor(actions(env_id, on.num_envs), device=on.device)
    step, answer = in_turn(envs.step, drawn.unbind())
    return Batch(
        step=step,
        wait=torch.cuda.synchronize if on.device.startswith("cuda") else nothing,
        bytes_per_env=memory(envs, answer) / on.num_envs,
    )


def actions(env_id: str, num_envs: int, count: int = POOL) -> np.ndarray:
    """Random actions `[count, N, ...]` for a world and for its equals elsewhere."""
    rng = np.random.default_rng(SEED)
    space: Any = gymnasium.make_vec(env_id, num_envs=1).single_action_space
    if isinstance(space, Discrete):
        return rng.integers(space.n, size=(count, num_envs))
    shape = (count, num_envs, *space.shape)
    return rng.uniform(space.low, space.high, shape).astype(np.float32)


def in_turn(step: Callable[[Any], Any], drawn: Any) -> tuple[Callable[[], Any], Any]:
    """A function that steps with one action after the other, and its first answer."""
    queue = itertools.cycle(drawn)
    answer = step(next(queue))
    return lambda: step(next(queue)), answer


def memory(envs: Any, answer: Any) -> int:
    """Bytes of all tensors that N environments hold, and of one step's answer.

    For physics those through which the backend reads and writes count too; what MuJoCo
    keeps for itself (a workspace per thread, or the arrays of Warp) does not.
    """
    held = {k: v for k, v in envs.state_dict().items() if k != "generator"}
    # `_final_obs` is no tensor more: it is `ended`, which is held.
    answered = [*answer[:4], answer[4].get("final_obs")]
    backend = getattr(envs, "backend", None)
    between = [backend.inputs, backend.outputs] if backend else []
    return sum(x.numel() * x.element_size() for x in tensors([held, answered, between]))


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """All tensors in lists and mappings."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        yield from tensors(list(tree.values()))
    elif isinstance(tree, list):
        for branch in tree:
            yield from tensors(branch)
