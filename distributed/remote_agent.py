"""The agent of a rollout worker without a copy of the policy."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from yieldrl.distributed.cluster import import_ray
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations import Counters, Counting, spaces
from yieldrl.foundations.conversion import as_array

ANSWER_SECONDS = 300.0
"""Seconds without an answer after which a worker gives up."""


class DeadInferenceError(RuntimeError):
    """The process of an inference actor has ended."""


class RemoteAgent(Counting):
    """Acts by asking an inference actor, in place of a copy of the policy.

    Args:
        num_envs: Environments of its worker.
    """

    has_memory, device = False, torch.device("cpu")

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.counters = num_envs, Counters()
        self._ray, self._actor = import_ray(), None
        self._told: list[tuple[int, int, float]] = []

    def ask(self, actor: Any, loaded: Sequence[Any]) -> None:
        """Ask this actor from now on, once it has loaded the newest weights."""
        self._actor, self._told, (answer,) = actor, [], loaded
        self.policy_version = self._get(answer)

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """Actions and extras from the inference actor; see `InferenceActor.act`.

        Raises:
            DeadInferenceError: If the actor has died.
            TimeoutError: If it does not answer.
        """
        began, arrays = time.perf_counter(), tree_map(as_array, obs)
        asked = arrays, self.num_envs, self.sample_step
        assert self._actor is not None, "ask() comes first"
        answer, rows = self._get(self._actor.act.remote(*asked))
        action, extras = answer["action"], answer["extras"]
        milliseconds = 1000 * (time.perf_counter() - began)
        self._told.append((int(extras["policy_version"].min()), rows, milliseconds))
        tensors = spaces.holds_tensors(obs)
        return torch.from_numpy(np.array(action)) if tensors else action, extras

    def told(self) -> tuple[int, dict[str, float]]:
        """Since `ask`: the oldest version that acted; and metrics: the mean rows of a
        batch, and the milliseconds until its answer."""
        versions, rows, times = zip(*self._told, strict=True)
        means = {"inference_batch": np.mean(rows), "inference_ms": np.mean(times)}
        return min(versions), {name: float(mean) for name, mean in means.items()}

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Do nothing: the agent has no memory."""

    def state_dict(self) -> dict[str, Any]:
        """The counters; random numbers are the inference actor's."""
        return {"algorithm": None, **self.counters_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.restore_counters(state)

    def _get(self, answer: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(answer, timeout=ANSWER_SECONDS)
        except errors.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise cause from None
        except errors.RayActorError as error:
            raise DeadInferenceError("its inference actor has died") from error
        except errors.GetTimeoutError:
            said = f"its inference actor has not answered for {ANSWER_SECONDS:g} s"
            raise TimeoutError(f"{said}: is the policy too large for it?") from None
