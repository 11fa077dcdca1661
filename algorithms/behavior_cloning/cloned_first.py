"""Trainer that clones an expert before reinforcement learning."""

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

from tensordict import TensorDict

from yieldrl.abstractions import LogData
from yieldrl.algorithms import ppo
from yieldrl.core import ranks

from .cloning_config import CloningConfig
from .trainer import Trainer


class ClonesFirst(ppo.Trainer):
    """Behaviour cloning, and then reinforcement learning by the other bases.

    With `demonstration_steps` a trainer of behaviour cloning comes first, with the same
    model, environments and counters, and an optimizer of its own. Logs then say the
    `phase`: 0 while cloning, 1 from there on.

    Attributes:
        cloning: The trainer that clones; None when it is done.
    """

    config: CloningConfig
    _clone_envs: Any = None

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.cloning = self.make_cloning()

    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding one `LogData` per step."""
        if self.cloning is not None:
            with closing(self.cloning()) as logs:
                for log in logs:
                    yield {**log, "logs": {**log["logs"], "phase": 0.0}}
            self.cloning = None  # frees all demonstrations
            self._close_clone_envs()
            self.algorithm.sync_target()  # the reference policy is the clone
        yield from super().__call__()

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Learn from a rollout; RuntimeError if nothing has been cloned yet."""
        if self.cloning is not None:
            raise RuntimeError(
                f"demonstrations are to be cloned before {self.run.name} begins: take"
                " the first steps of `for log in trainer()`, until trainer.cloning is"
                " None, or set demonstration_steps=0"
            )
        return super().update(rollout)

    @property
    def _evaluation_due(self) -> bool:
        """Whether to evaluate: also once after cloning, before it is improved."""
        config = self.config
        cloned = config.demonstration_steps > 0 and config.eval_every > 0
        return super()._evaluation_due or (cloned and self._evaluated_at == 0)

    @property
    def only_cloned(self) -> bool:
        """Whether there are demonstrations, and nothing was learned but from them."""
        steps = self.config.demonstration_steps
        begins = steps + self.config.num_envs * ranks().count
        return steps > 0 and self.agent.sample_step < begins

    @property
    def envs_to_clone(self) -> Any:
        """The environments for the expert, without the wrapper that forms groups."""
        if self._clone_envs is None:  # rollout workers step the others
            here = getattr(self.envs, "here", None)
            self._clone_envs = self.envs if here is None else here()
        return getattr(self._clone_envs, "ungrouped", self._clone_envs)

    def make_cloning(self) -> Trainer | None:
        """The trainer that clones, or None without demonstrations.

        ValueError if there is no expert, or a data set of another size.
        """
        config = self.config.cloning_config()
        if config is None:
            return None
        parts = {"envs": self.envs_to_clone, "model": self.model}
        try:
            cloning = Trainer(config, **parts)
        except ValueError as reason:
            remedy = f"or begin with {self.run.name}, demonstration_steps=0"
            raise ValueError(f"{reason}; {remedy}") from reason
        steps = len(cloning.buffer)  # 0 if an expert will act
        if steps not in (0, self.config.demonstration_steps):
            raise self.config.error(
                "demonstration_steps",
                f"the data set is read as a whole: say {steps}, the steps that it has,"
                " and more than those for total_steps",
            )
        counters = self.algorithm.counters
        cloning.algorithm.counters = cloning.agent.counters = counters
        return cloning

    def close(self) -> None:
        super().close()
        self._close_clone_envs()

    def _close_clone_envs(self) -> None:
        if self._clone_envs is not None and self._clone_envs is not self.envs:
            self._clone_envs.close()
        self._clone_envs = None

    def state_dict(self) -> dict[str, Any]:
        """The state of this trainer, and of one that clones, without its model."""
        state, cloning = super().state_dict(), None
        if self.cloning is not None:
            cloning = self.cloning.state_dict()
            del cloning["agent"]["algorithm"]["model"]  # it is saved already
        return {**state, "cloning": cloning}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        cloning, agent = state["cloning"], state["agent"]
        config, steps = self.config, agent["sample_step"]
        if steps < config.demonstration_steps + config.num_envs * ranks().count:
            steps = 0  # no RL step yet: keep the seed of a fresh run
        super().load_state_dict({**state, "agent": {**agent, "sample_step": steps}})
        self.agent.counters.restore(agent)
        if cloning is None:
            self.cloning = None
            return
        self.cloning = self.cloning or self.make_cloning()  # may be None here
        assert self.cloning is not None
        parts = {"model": self.model.state_dict(), **cloning["agent"]["algorithm"]}
        agent = {**cloning["agent"], "algorithm": parts}
        self.cloning.load_state_dict({**cloning, "agent": agent})

    def _log(self, kind: Any, logs: Any) -> LogData:
        if self.config.demonstration_steps > 0:
            logs = {**logs, "phase": 1.0}
        return super()._log(kind, logs)
