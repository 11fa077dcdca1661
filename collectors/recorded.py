"""The synchronous collector of worlds on a GPU, whose steps are one CUDA graph each."""

from typing import Any, cast

import torch
from gymnasium.vector import AutoresetMode

from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import ranks
from yieldrl.core.recorded import Recorded
from yieldrl.envs.batched import TorchVectorEnv


class RecordedCollector(SyncCollector):
    """Acts, steps a world of tensors, stores and counts episodes in one CUDA graph.

    The first step is taken as a `SyncCollector` does; so are those of `collect`, which
    writes into a buffer of its own.

    Args:
        args: Those of a `SyncCollector`, as are `kwargs`; see `refusal`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._into, world = self.buffer, cast(TorchVectorEnv, self.envs)
        rows = torch.zeros(2, 1, dtype=torch.int64, device=self.agent.device)
        self._row, self._counted = rows.unbind()  # of the buffer, and of statistics
        remembered = [self.agent.sampling] if self.has_memory else []
        self._graph = Recorded(
            "collecting step",
            self._on_device,
            owners=(self.agent, self.agent.algorithm, self.envs, *remembered),
            generators=(self.agent.generator, world.generator),
            state=lambda: (self.statistics,),
        )

    def step(self) -> dict[str, Any]:
        begins = self.obs is None or self.stepper.steps == 0
        full = self.buffer.full  # then `add` says what to do
        if begins or full or self.buffer is not self._into or self._graph.refused:
            return super().step()
        obs, self.obs = self.obs, None
        self._row.fill_(len(self.buffer))
        self._counted.fill_(len(self.statistics))
        step = self._graph(obs)
        logs = self.statistics.count(step)
        self.buffer.count()
        self.agent.count_steps(self.envs.num_envs)
        self.obs = step.obs
        return logs

    def _on_device(self, obs: Any) -> Any:
        """All that a step does on the device; the host has only to count it."""
        action, extras = self.agent.sample(obs)
        step = self.stepper.step(action)
        self.statistics.write_at(self._counted, step)
        self.buffer.write_at(self._row, self.transition(obs, action, step, extras))
        if self.has_memory:
            self.agent.begin_episode(step.begins, exploring=True)
        return step


def refusal(envs: Any, agent: Any, buffer: Any) -> str:
    """Why steps of these are not recorded as a CUDA graph; empty if they are."""
    if not isinstance(envs, TorchVectorEnv):
        return f"{envs} are no worlds of tensors, or have wrappers around them"
    if type(envs).step is not TorchVectorEnv.step or not envs.recordable:
        return f"a step of {type(envs).__name__} is more than operations of PyTorch"
    if envs.autoreset_mode is not AutoresetMode.SAME_STEP or ranks().count > 1:
        return "it takes SAME_STEP autoreset, and one process"
    if not vars(type(agent)).get("recordable", False):  # its parent's says nothing
        kind = f"{type(agent).__module__}.{type(agent).__qualname__}"
        return f"{kind} may explore by numbers that change"
    if not hasattr(buffer, "write_at"):
        return f"a {type(buffer).__name__} is written by the host"
    return ""
