"""The synchronous collector: it acts, steps and writes in one thread."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors.statistics import make_statistics, mean_episode
from yieldrl.collectors.stepping import Step, Stepper, named_leaves
from yieldrl.core import spaces
from yieldrl.envs.arrays import tree_map
from yieldrl.envs.autoreset import final_info_entry

MOVED = "next_obs", "reward", "terminated", "truncated", "obs", "valid"
"""What goes to a GPU of a step of arrays."""


@runtime_checkable
class Buffer(Protocol):
    """Storage for transitions, which it returns as its algorithm's trainer asks."""

    def __len__(self) -> int:
        """Its size, in units of its own."""
        ...

    def add(self, transition: Mapping[str, Any]) -> None:
        """Copy one step of all environments, entries `[N, ...]`, nested or not.

        It always has `obs`, `next_obs`, `action`, `reward`, `terminated`, `truncated`.
        With NEXT_STEP autoreset `valid`, False where the step only reset; and whatever
        the agent returned beside its action (`log_prob`, `policy_version`, ...).
        """

    def end_episodes(self) -> None:
        """Mark the episodes under way as truncated: the next step begins others."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that is needed to resume, as tensors and plain values."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""


@runtime_checkable
class Collector(Protocol):
    """Steps the environments, writes into the buffer and counts the agent's steps.

    It calls `agent.sample(obs)` to act, `buffer.add(transition)` to write, and
    `agent.count_steps(n)` when `n` environment steps are written.
    """

    def step(self) -> dict[str, Any]:
        """One step of all environments; logs of the episodes that ended, if any."""
        ...

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller instead of for the buffer.

        With `reset` it begins with new episodes. An attribute `logs` reports those that
        ended in it, as `step` does. It has `next_obs` if the algorithm learns from it.
        """
        raise NotImplementedError(f"{type(self).__name__} collects step by step")

    def check(self) -> None:
        """Raise an exception of the background thread, if there is one."""

    def stop(self) -> None:
        """Stop background threads; the next step starts them again."""

    def reset(self, seed: int | None) -> None:
        """Begin new episodes everywhere."""

    def state_dict(self) -> dict[str, Any]:
        """The state of the environments, if they can save it."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, or begin new episodes."""


class SyncCollector(Collector):
    """Steps environments with an exploring agent and writes every transition.

    A transition holds `obs`, `action`, `reward`, `terminated`, `truncated` and the
    true `next_obs`, which at an episode's end is its last observation, never the one
    after the reset; and whatever extras the agent returned (`log_prob`, the unclipped
    `action`, ...), which take precedence. Entries that the environments name in
    `recorded_info` are taken from `info`, `[N]` each.

    Args:
        envs: A vector environment in any autoreset mode.
        agent: Anything with `sample(obs) -> (action, extras)` and `sample_step`. If it
            has `count_steps`, it is called with the number of steps; if it
            `has_memory`, its `begin_episode` is called where episodes begin.
        buffer: A `Buffer` for the transitions.
        seed: Seed of the environments' first reset.
        report_every: Steps between reports of episodes, for tensor environments and
            for several processes that train together.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        agent: Any,
        buffer: Any,
        *,
        seed: int,
        report_every: int = 128,
    ) -> None:
        self.envs, self.agent, self.buffer = envs, agent, buffer
        self.seed, self.report_every, self.logs = seed, report_every, {}
        self.stepper = Stepper(envs)
        self.counts = hasattr(agent, "count_steps")
        self.has_memory = getattr(agent, "has_memory", False)
        self.recorded: tuple[str, ...] = tuple(getattr(envs, "recorded_info", ()))
        self.obs: Any = None
        self.statistics: Any = None
        self._copies: Any = None  # of arrays to a GPU

    def step(self) -> dict[str, Any]:
        """Step all environments once; logs of the episodes that ended, if any.

        After an error or Ctrl-C within it the episodes under way count as truncated.
        """
        if self.obs is None:
            self._begin()
        obs = self.obs
        action, extras = self.agent.sample(obs)
        self.obs = None  # until the step is written
        step = self.stepper.step(action)
        logs = self.statistics.update(step)  # raises if a value is not finite
        if self._copies is not None:
            step = self._moved(step, self._copies)
        self.buffer.add(self.transition(obs, action, step, extras))
        if self.counts:
            self.agent.count_steps(self.envs.num_envs)
        if self.has_memory:
            self.agent.begin_episode(step.begins, exploring=True)
        self.obs = step.obs
        return logs

    def _moved(self, step: Step, copies: Any) -> Step:
        """A step of arrays as tensors on a GPU, in one copy."""
        entries = {name: getattr(step, name) for name in MOVED}
        if step.obs is step.next_obs:
            del entries["obs"]
        there = copies({k: x for k, x in entries.items() if x is not None})
        return step._replace(**{"obs": there["next_obs"], **there})

    def transition(
        self, obs: Any, action: Any, step: Step, extras: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The entries of a step for the buffer, `[N, ...]` each."""
        entries = {
            "obs": obs,
            "next_obs": step.next_obs,
            "action": action,
            "reward": step.reward,
            "terminated": step.terminated,
            "truncated": step.truncated,
        }
        if step.valid is not None:
            entries["valid"] = step.valid
        for name in self.recorded:
            entries[name] = final_info_entry(step.info, name)
        return {**entries, **extras}

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller instead of for the buffer.

        It continues the current episodes, which count as truncated in the buffer, or
        with `reset` begins new ones. `logs` has the means of those that ended in it.
        """
        self.buffer.end_episodes()
        if reset and self.obs is not None:  # else the first step resets them
            self.reset(None)
        return collect(self, num_steps, new_episodes=reset)

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and that `step` has not reported yet."""
        return {} if self.statistics is None else self.statistics.report()

    def reset(self, seed: int | None) -> None:
        if self.has_memory:
            self.agent.begin_episode(exploring=True)
        self._reset_envs(seed)

    def state_dict(self) -> dict[str, Any]:
        """The state of the environments, if they can save it; empty otherwise."""
        save = getattr(self.envs, "state_dict", None)
        if save is not None and not getattr(self.envs, "restorable", True):
            return {"envs": save()}  # running statistics of wrappers
        if self.obs is None or save is None:
            return {}
        resets = self.stepper.resets
        return {
            "envs": save(),
            "obs": spaces.to_tensor(self.obs, torch.device("cpu")),
            "resets": None if resets is None else torch.as_tensor(resets),
            "statistics": self.statistics.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, or begin new episodes, by a new seed."""
        restore = getattr(self.envs, "load_state_dict", None)
        if restore is not None and state.keys() == {"envs"}:
            restore(state["envs"])
        if restore is None or "obs" not in state:
            self.obs = self.statistics = None
            self.seed = self.seed + self.agent.sample_step
            self.buffer.end_episodes()  # its last episode is not continued
            return
        self._reset_envs(self.seed)  # the agent's memory is restored
        restore(state["envs"])
        self.obs = tree_map(_like, state["obs"], self.obs)
        resets = state["resets"]
        if resets is not None and not spaces.holds_tensors(self.obs):
            resets = resets.numpy()
        self.stepper.resets = resets
        self.statistics.load_state_dict(state["statistics"])

    def _begin(self) -> None:
        if self.statistics is None:  # the very first episodes
            self.reset(self.seed)
        else:  # new episodes after a failed step
            self.buffer.end_episodes()
            resume = getattr(self.envs, "resume_at", None)
            if resume is not None and hasattr(self.buffer, "__len__"):
                resume(len(self.buffer))
            self.reset(None)

    def _reset_envs(self, seed: int | None) -> None:
        obs = self.stepper.reset(seed)
        device = getattr(self.agent, "device", torch.device("cpu"))
        parts = obs, self.envs.num_envs, self.report_every, device
        if self._copies is None and device.type not in ("cpu", "mps"):
            kinds = (np.asarray(x).dtype.kind for _, x in named_leaves(obs, ""))
            if not spaces.holds_tensors(obs) and all(kind in "biuf" for kind in kinds):
                from yieldrl.core.packed import PackedCopy  # on a GPU alone

                self._copies = PackedCopy(device)
        self.obs, self.statistics = obs, make_statistics(*parts)  # assigned together


def collect(collector: Any, num_steps: int, *, new_episodes: bool) -> TensorDict:
    """Let a collector take `num_steps` steps into a rollout `[T, N]` of its own."""
    envs, agent, buffer = collector.envs, collector.agent, collector.buffer
    both = envs.single_observation_space, envs.single_action_space
    options = {
        "num_envs": envs.num_envs,
        "device": getattr(agent, "device", "cpu"),
        "next_obs": reads_next_obs(agent),
        "exact_obs": getattr(getattr(agent, "model", None), "exact_obs", False),
    }
    into = RolloutBuffer(num_steps, *both, **options)
    forget = getattr(getattr(agent, "algorithm", None), "forget_episodes", None)
    if new_episodes and forget is not None:
        forget()
    # These actions are none of those that wait in the collector's buffer.
    counters = getattr(agent, "counters", None)
    acted = getattr(counters, "acted_version", None)
    collector.buffer = into
    try:
        if counters is not None:
            counters.acted_version = None
        logs = [collector.step() for _ in range(num_steps)]
        collector.logs = mean_episode([*logs, collector.report()])
        rollout = into.rollout()
        complete = getattr(getattr(agent, "algorithm", None), "complete", None)
        return rollout if complete is None else complete(rollout)
    finally:
        collector.buffer = buffer
        if counters is not None:
            counters.acted_version = acted


def reads_next_obs(agent: Any) -> bool:
    """Whether an agent's algorithm learns from the `next_obs` of rollouts."""
    return getattr(getattr(agent, "algorithm", None), "reads_next_obs", True)


def _like(saved: Tensor, current: Any) -> Any:
    """A saved tensor in the environment's form: an array, or a tensor on a device."""
    if isinstance(current, np.ndarray):
        return saved.numpy().astype(current.dtype)
    return saved.to(current.device, current.dtype)
