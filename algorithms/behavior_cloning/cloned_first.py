"""Behaviour cloning of an expert before reinforcement learning."""

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Self

from pydantic.dataclasses import dataclass
from tensordict import TensorDict

from yieldrl.abstractions import LogData
from yieldrl.algorithms import ppo
from yieldrl.core import (
    BatchSize,
    Count,
    LearningRate,
    Steps,
    StepsOrZero,
    UnitInterval,
    ranks,
)

from .config import Config
from .trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class CloningConfig(ppo.Config):
    """Fields of algorithms that clone an expert first."""

    demonstration_steps: StepsOrZero = 20_000
    """Environment steps of an expert that is cloned first; 0 begins without it. They
    count in `total_steps`, and annealing begins after them. With a data set say how
    many steps it has."""

    demonstrations: str = "expert"
    """Whom to clone: `expert` is the environment's own (its method `expert`),
    `my_module:function` makes actions of the environments and their observations, and
    anything else is a data set, as `behavior_cloning` reads it."""

    skip_no_ops: bool = False
    """Leave out a data set's steps in which a robot does nothing, as OpenVLA does: all
    of its action is zero but for the last number, the gripper's, which is as before."""

    expert_noise: UnitInterval = 0.0
    """Probability of executing a random action in place of the expert's, which is
    recorded all the same. Higher demonstrates more recoveries and less of the task."""

    clone_epochs: Count = 8
    """Passes over the demonstrations. More fit them more closely, in the end also what
    is accidental about them."""

    clone_steps: Steps | None = None
    """Gradient steps of cloning, in place of `clone_epochs`. More begin with a policy
    that is right more often; None takes as many as the epochs do."""

    clone_batch_size: BatchSize = 32
    """Transitions of each gradient step of cloning. Larger batches have less noise, and
    take more memory."""

    clone_warmup_steps: StepsOrZero = 100
    """Gradient steps of cloning over which its learning rate rises from zero.
    Transformers from scratch need some hundred to bear a higher learning rate."""

    clone_learning_rate: LearningRate = 8e-4
    """Learning rate of cloning at its start, from which it falls to zero. Pretrained
    models take less, 1e-5 say."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.demonstration_steps >= self.total_steps:
            raise self.error(
                "demonstration_steps",
                f"they are all of total_steps = {self.total_steps}: choose more"
                " total_steps, 0 to begin without, or behavior_cloning to clone alone",
            )
        self.cloning_config()  # ValueError if a field does not fit

    def cloning_config(self) -> Config | None:
        """The config of the cloning that comes first; None without one."""
        if self.demonstration_steps == 0:
            return None
        same: tuple[str, ...] = "env_id", "num_envs", "seed", "device", "threads"
        same += "demonstrations", "demonstration_steps", "expert_noise", "skip_no_ops"
        same += "gamma", "max_grad_norm", "value_coef"
        values: dict[str, Any] = {name: getattr(self, name) for name in same}
        return Config(
            **values,
            num_epochs=self.clone_epochs,
            learn_steps=self.clone_steps,
            batch_size=self.clone_batch_size,
            learning_rate=self.clone_learning_rate,
            warmup_steps=self.clone_warmup_steps,
            eval_every=0,
        )

    def to_play(self) -> Self:
        return replace(super().to_play(), demonstration_steps=0)

    def improved_share(self, fraction_done: float) -> float:
        """Progress of learning after cloning, 0 to 1, from that of the whole run."""
        cloned = self.demonstration_steps / self.total_steps
        return max(0.0, (fraction_done - cloned) / (1 - cloned))


class ClonesFirst(ppo.Trainer):
    """Behaviour cloning, and then reinforcement learning by the other bases.

    With `demonstration_steps` a trainer of behaviour cloning comes first, with the same
    model, environments and counters, and an optimizer of its own. Logs then say the
    `phase`: 0 while cloning, 1 from there on.

    Attributes:
        cloning: The trainer that clones; None when it is done.
    """

    config: CloningConfig

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.cloning = self.make_cloning()

    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding one `LogData` per step."""
        if self.cloning is not None:
            with closing(self.cloning()) as logs:
                for log in logs:
                    yield {**log, "logs": {**log["logs"], "phase": 0.0}}
            self._close_expert_envs()
            self.cloning = None  # frees all demonstrations
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
        return steps > 0 and self.agent.sample_step < self._first_improved

    @property
    def _first_improved(self) -> int:
        """The step after the first ones that the policy takes by itself."""
        return self.config.demonstration_steps + self.config.num_envs * ranks().count

    def make_cloning(self) -> Trainer | None:
        """The trainer that clones, or None without demonstrations.

        ValueError if there is no expert, or a data set of another size.
        """
        config = self.config.cloning_config()
        if config is None:
            return None
        here = getattr(self.envs, "here", None)  # rollout workers step the others
        envs = self.envs if here is None else here()
        envs = getattr(envs, "ungrouped", envs)
        try:
            cloning = Trainer(config, envs=envs, model=self.model)
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
        self._close_expert_envs()

    def _close_expert_envs(self) -> None:
        if self.cloning is not None and self.config.collection == "ray":
            self.cloning.envs.close()

    def state_dict(self) -> dict[str, Any]:
        """The state of this trainer, and of one that clones, without its model."""
        state, cloning = super().state_dict(), None
        if self.cloning is not None:
            cloning = self.cloning.state_dict()
            del cloning["agent"]["algorithm"]["model"]  # it is saved already
        return {**state, "cloning": cloning}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        cloning, agent = state["cloning"], state["agent"]
        steps = agent["sample_step"]
        if steps < self._first_improved:
            steps = 0  # no RL step yet: keep the seed of a fresh run
        super().load_state_dict({**state, "agent": {**agent, "sample_step": steps}})
        self.agent.counters.restore(agent)
        if cloning is None:
            self._close_expert_envs()
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
