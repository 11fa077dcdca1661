"""Acting, stepping, storing and summing statistics as one compiled function."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeGuard

import torch
from torch import Tensor

from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors.sync import SyncCollector
from yieldrl.envs.batched import fused
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations import spaces
from yieldrl.runtime import CompiledCall


class FusedCollector(SyncCollector):
    """A `SyncCollector` for worlds of tensors that takes a step in one piece.

    Until there is compiled code, and wherever something is unusual, a step is that of
    `SyncCollector`: the two do the same with the same random numbers. `fits` says of
    which `envs`; the agent has `acting`, as PPO's, and the buffer is a `RolloutBuffer`.
    """

    envs: Any
    agent: Any

    def __init__(self, envs: Any, agent: Any, buffer: Any, **options: Any) -> None:
        super().__init__(envs, agent, buffer, **options)
        plan = agent.acting.compiled.plan
        self.collecting = CompiledCall("collecting", self.collect_step, plan)
        self.collecting.compiled.around = _in_compiled_form
        agent.acting.compiled.fused_into = self.collecting.compiled

    @classmethod
    def like(cls, other: SyncCollector) -> Self:
        """One that takes the steps of another, which has not begun."""
        parts = other.envs, other.agent, other.buffer
        return cls(*parts, seed=other.seed, report_every=other.report_every)

    @staticmethod
    def fits(other: Any) -> TypeGuard[SyncCollector]:
        """Whether a collector's steps can be taken in one piece."""
        return (
            type(other) is SyncCollector
            and fused.fits(other.envs)
            and type(other.buffer) is RolloutBuffer
            and other.buffer.keeps_next_obs
            and not other.has_memory
        )

    def step(self) -> dict[str, Any]:
        found = self._in_one_piece()
        if found is None:
            return super().step()
        self.obs = None  # until the step is written
        with torch.no_grad():
            obs, last = fused.accept(self.envs, found)
        self.agent.with_policy_version({}, self.envs.num_envs)
        self.buffer.count_row()
        logs = self.statistics.count_row(last, found["action"])
        self.agent.count_steps(self.envs.num_envs)
        self.stepper.steps += 1
        self.obs = obs
        return logs

    def collect_step(
        self, inputs: dict[str, Any], generator: torch.Generator
    ) -> dict[str, Any]:
        """All of a step as a function of nested tensors, written into those of rows."""
        agent, obs = self.agent, inputs["obs"]
        chosen = agent.acting.function({"obs": obs}, generator)
        action = agent.border.actions.to_env(chosen["action"])
        found = fused.step(self.envs, inputs["world"], action)
        flags = {k: found.pop(k) for k in ("reward", "terminated", "truncated")}
        seen = {"obs": inputs["seen"], "next_obs": found["next_obs"]}
        tree_map(Tensor.copy_, inputs["row"], {**seen, **flags, **chosen})
        inputs["sums"]["reward"].copy_(flags["reward"])
        inputs["sums"]["ended"].copy_(flags["terminated"] | flags["truncated"])
        return {**found, "action": action}

    def _in_one_piece(self) -> dict[str, Any] | None:
        """The result of `collect_step`, compiled; None where a normal step is due."""
        compiled = self.collecting.compiled
        if self.obs is None or compiled.rejected or not compiled.plan.compiles:
            return None
        if self.agent.records_log_prob:  # then acting is compiled separately
            self.agent.acting.compiled.fused_into = None
            return None
        row = self.buffer.row_to_write()
        if row is None:
            return None
        packed = {k: fused.packed(self.envs, row[k]) for k in ("obs", "next_obs")}
        inputs = {
            "obs": self.obs,
            "seen": fused.packed(self.envs, self.obs),
            "world": fused.inputs(self.envs),
            "row": _whole_tensors({**row, **packed}),
            "sums": _whole_tensors(self.statistics.next_row()),
        }
        with _in_compiled_form():
            return self.collecting.call_compiled(inputs, self.agent.generator)


def can_share_next_obs(envs: Any, *, compiled: bool) -> bool:
    """Whether next observations can be read from the next row instead of being stored
    twice: for images on a CPU whose steps are not compiled."""
    on_cpu = torch.device(getattr(envs, "device", "cpu")).type == "cpu"
    looked_at = on_cpu and not (compiled and fused.fits(envs))
    return looked_at and spaces.has_images(envs.single_observation_space)


@contextmanager
def _in_compiled_form() -> Iterator[None]:
    """Context in which `collect_step` is called and compiled."""
    with torch.no_grad(), fused.in_compiled_form():
        yield


def _whole_tensors(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Rows as tensors of their own, in the same memory.

    To a compiler each row, which begins elsewhere in its whole, is another case.
    """
    return {
        name: _whole_tensors(row) if isinstance(row, Mapping) else row.data
        for name, row in rows.items()
    }
