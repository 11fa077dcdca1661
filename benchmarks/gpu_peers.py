"""Others that train PPO on CartPole on a GPU: rsl-rl-lib, and a program in JAX.

The program is a whole rollout and all passes over it, compiled as one: what a library
in JAX could reach at best on a machine.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
# Optional packages.

import io
import time
from contextlib import redirect_stdout, suppress
from functools import partial
from typing import Any

from yieldrl.benchmarks.peers.sides.contract import Task
from yieldrl.benchmarks.peers.workloads import WORKLOADS


class EndOfTime(Exception):  # noqa: N818 - it is no error
    """Ends a runner that knows no other end."""


def settings_of(num_envs: int, num_steps: int) -> dict[str, Any]:
    """Those of the workload W2, at another size."""
    size = {"num_envs": num_envs, "num_steps": num_steps}
    return {**WORKLOADS["W2"].settings, **size}


def timed(rollout: Any, steps: int, seconds: float) -> dict[str, float]:
    """Steps a second of a function that takes so many steps and waits for them."""
    rollout()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        rollout()
        count += 1
    return {"steps_per_second": count * steps / (time.perf_counter() - begin)}


def rsl_rl(device: str, seconds: float, num_envs: int, num_steps: int) -> Any:
    """rsl-rl-lib's `OnPolicyRunner`, a rollout at a time."""
    import torch

    from yieldrl.benchmarks.peers.sides import rsl_rl as side

    torch.set_default_device(device)
    env = side.CartPole(num_envs)
    env.device = device
    fields = {"workload": "W2", "steps": 0, "warm_up": 0, "planned": 0, "seed": 1}
    task = Task(
        **fields, threads=1, episodes=1, settings=settings_of(num_envs, num_steps)
    )
    runner = side.OnPolicyRunner(env, side.config(task), device=device)
    marks: list[float] = []

    def after_rollout(**_: Any) -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        marks.append(time.perf_counter())
        if marks[-1] - marks[0] > seconds and len(marks) > 2:
            raise EndOfTime

    runner.logger.log = after_rollout
    with suppress(EndOfTime), redirect_stdout(io.StringIO()):
        runner.learn(10**6)
    took, count = marks[-1] - marks[1], len(marks) - 2  # the first one warms up
    return {"steps_per_second": count * num_envs * num_steps / took}


def jax(device: str, seconds: float, num_envs: int, num_steps: int) -> Any:
    """Rollouts and updates of JAX, a few of them as one program."""
    import jax as library
    from jax import lax
    from jax import numpy as np

    from .gpu_jax import fresh, learned, network

    platform = "gpu" if device.startswith("cuda") else "cpu"
    with library.default_device(library.devices(platform)[0]):
        keys = library.random.split(library.random.key(1), 4)
        params = {
            "actor": network(keys[0], [4, 64, 64, 2], 0.01),
            "critic": network(keys[1], [4, 64, 64, 1], 1.0),
        }
        zeros = library.tree.map(np.zeros_like, params)
        carts = fresh(keys[2], num_envs), np.zeros(num_envs, int)
        carry = ((params, zeros, zeros, np.zeros((), int)), carts)
        step = partial(learned, hyper=settings_of(num_envs, num_steps))

        @library.jit
        def several(carry: Any, key: Any) -> Any:
            return lax.scan(step, carry, library.random.split(key, 4))[0]

        def rollouts() -> None:
            nonlocal carry
            carry = several(carry, keys[3])
            library.block_until_ready(carry)

        return timed(rollouts, 4 * num_envs * num_steps, seconds)
