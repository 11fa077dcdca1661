"""The state of a trainer in a checkpoint; a deep copy trains independently."""

import copy
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self

from gymnasium.utils import EzPickle
from gymnasium.vector import AsyncVectorEnv, VectorEnv

from yieldrl.collectors import AsyncCollector
from yieldrl.experiments import agreement, run_files
from yieldrl.experiments.run import Run
from yieldrl.foundations import CheckpointError, ranks, rng_state, set_rng_state

_INSTEAD = (
    "Save it and load it instead: trainer.save('copy.pt'), then"
    " type(trainer).load('copy.pt'), with what was passed besides the config"
)


class TrainerState(Run):
    """The parts of a trainer: saved, loaded, copied and closed together."""

    agent: Any
    buffer: Any
    collector: Any
    envs: Any
    evaluator: Any

    _described = False
    """Whether this trainer has described the run in its folder."""

    @property
    def algorithm(self) -> Any:
        """The algorithm inside the agent."""
        return self.agent.algorithm

    @property
    def model(self) -> Any:
        """The networks inside the algorithm."""
        return self.agent.model

    @property
    def eval_envs(self) -> VectorEnv[Any, Any, Any]:
        """The evaluation environments, made when they are first needed."""
        return self.evaluator.envs

    @cached_property
    def envs_here(self) -> VectorEnv[Any, Any, Any]:
        """Environments that this process may step: `envs`, or, if rollout workers step
        these, others of their kind."""
        here = getattr(self.envs, "here", None)
        return self.envs if here is None else here()

    def claim(self) -> Path:
        """Become the only writer of `run_dir`, and describe the run there.

        `config.yaml` and `run.json` are written unless they exist already.
        """
        folder = super().claim()
        if not self._described and not (folder / run_files.CONFIG).is_file():
            self._described = True  # it also locks the folder
            try:
                run_files.describe(self)
            except OSError:
                self._described = False
                raise
        return folder

    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""
        self.collector.stop()  # so that all parts are consistent
        return {
            "agent": self.agent.state_dict(),
            "buffer": self.buffer.state_dict(),
            "collection": self._collection,
            "collector": self.collector.state_dict(),
            "evaluated_at": self.evaluator.evaluated_at,
            "rng": rng_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        CheckpointError if it is of the other kind of collection, or if processes
        that train together load different ones.
        """
        saved, own = state.get("collection", "sync"), self._collection
        if saved != own:
            raise CheckpointError(
                f"the checkpoint was saved with collection = {saved!r}, this trainer"
                f" has {own!r}: load it with {saved!r}, or train again with {own!r}"
            )
        agreement.agree_on_state(state)
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self.collector.load_state_dict(state["collector"] if ranks().first else {})
        self.evaluator.evaluated_at = state["evaluated_at"]
        set_rng_state(state["rng"])
        agreement.seed_rank(self)

    def close(self) -> None:
        """Close the environments and free the run's folder. Safe to call twice."""
        self.collector.stop()
        super().close()
        self.envs.close()
        if "envs_here" in vars(self):
            self.envs_here.close()  # closing twice is safe
        self.evaluator.close()

    def __copy__(self) -> Self:
        """A trainer with the same parts."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy that trains independently, in the same folder if it has one.

        TypeError if a thread or processes belong to it.
        """
        if (reason := self._uncopied()) is not None:
            raise TypeError(f"{reason} cannot be copied. {_INSTEAD}")
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        memo[id(self._lock)] = None  # it claims the folder for itself, if it writes
        vars(twin).update(copy.deepcopy(vars(self), memo))
        singles = getattr(twin.envs.unwrapped, "envs", ())
        if any(isinstance(env.unwrapped, EzPickle) for env in singles):
            # These environments are copied by construction: episodes begin anew.
            twin.collector.load_state_dict({})
        return twin

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse: a pickled trainer would run code when it is read."""
        reason = self._uncopied() or "a trainer"
        raise TypeError(f"{reason} cannot be pickled. {_INSTEAD}")

    @property
    def _collection(self) -> str:
        if isinstance(self.collector, AsyncCollector):
            return "async"
        return "ray" if getattr(self.config, "collection", "sync") == "ray" else "sync"

    def _uncopied(self) -> str | None:
        """The part that belongs to a thread or process and cannot be copied."""
        if self._collection == "async":
            return "a trainer that collects in the background, in a thread of its own,"
        if isinstance(self.envs.unwrapped, AsyncVectorEnv):
            return "a trainer whose environments are processes (vectorization='async')"
        return None
