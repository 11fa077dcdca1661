"""The protocols of a buffer and of a collector, as a trainer uses them."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from gymnasium.vector import VectorEnv
from tensordict import TensorDict


def check_parts(envs: Any, agent: Any, buffer: Any) -> None:
    """Raise TypeError, which says what to pass, if a part is of another kind."""
    if not isinstance(envs, VectorEnv):
        raise TypeError(
            f"envs is {envs!r}: give it a vector environment, such as trainer.envs, or"
            " yieldrl.envs.SerialVectorEnv([make_env] * 4) of single ones"
        )
    both = ("buffer", buffer, "add"), ("buffer", buffer, "end_episodes")
    for name, part, method in (("agent", agent, "sample"), *both):
        if not callable(getattr(part, method, None)):
            raise TypeError(
                f"{name} is a {type(part).__name__}, which has no {method}(): give"
                f" it what trainer.{name} is, of a trainer for this policy"
            )


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
        ended in it, as `step` does.
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
