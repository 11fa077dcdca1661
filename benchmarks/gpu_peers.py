"""Others that train PPO on CartPole on a GPU: rsl-rl-lib, and a program in JAX.

The program is a whole rollout and all passes over it, compiled as one: what a library
in JAX could reach at best on a machine.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
# Optional packages.

import io
import time
from contextlib import redirect_stdout
from functools import partial
from typing import Any

from yieldrl.benchmarks.peers.measuring import task_of
from yieldrl.benchmarks.peers.sides.contract import Task
from yieldrl.benchmarks.peers.workloads import WORKLOADS


def rsl_rl(device: str, seconds: float, num_envs: int, num_steps: int) -> Any:
    """rsl-rl-lib's `OnPolicyRunner`, a rollout at a time."""
    import torch

    from yieldrl.benchmarks.peers.sides import rsl_rl as side

    torch.set_default_device(device)
    env = side.CartPole(num_envs)
    env.device = device
    asked: Any = task_of("W2", 0, 1, "rsl_rl")
    asked["settings"] |= {"num_envs": num_envs, "num_steps": num_steps}
    task = Task(**asked)
    runner = side.OnPolicyRunner(env, side.config(task), device=device)
    marks: list[float] = []

    def after_rollout(**_: Any) -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        marks.append(time.perf_counter())

    runner.logger.log = after_rollout
    with redirect_stdout(io.StringIO()):
        runner.learn(2 + int(8 * seconds))
    took, count = marks[-1] - marks[0], len(marks) - 1
    return {"steps_per_second": count * num_envs * num_steps / took}


def jax(device: str, seconds: float, num_envs: int, num_steps: int) -> Any:
    """Rollouts and updates of JAX, a few of them as one program."""
    import jax as library

    from .gpu_jax import begun, learned

    platform = "gpu" if device.startswith("cuda") else "cpu"
    with library.default_device(library.devices(platform)[0]):
        first, *keys = library.random.split(library.random.key(1), 5)
        size = {"num_envs": num_envs, "num_steps": num_steps}
        settings, keys = WORKLOADS["W2"].settings | size, library.numpy.stack(keys)
        step, carry = partial(learned, hyper=settings), begun(first, settings)
        several = library.jit(lambda carry: library.lax.scan(step, carry, keys)[0])

        carry, count = library.block_until_ready(several(carry)), 0
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            carry, count = library.block_until_ready(several(carry)), count + 1
        took = time.perf_counter() - begin
    return {"steps_per_second": count * len(keys) * num_envs * num_steps / took}
