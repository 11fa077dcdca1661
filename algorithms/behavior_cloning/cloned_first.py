"""Behaviour cloning of an expert before reinforcement learning."""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Self

from pydantic.dataclasses import dataclass

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
    """Passes over the demonstrations, of `demonstration_steps / clone_batch_size`
    gradient steps each. More fit them more closely, in the end also what is accidental
    about them, and take as much longer."""

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


def make_cloning(trainer: Any) -> Trainer | None:
    """A trainer that clones with the model, environments and counters of another one,
    and an optimizer of its own; None without demonstrations.

    ValueError if there is no expert, or a data set of another size.
    """
    config = trainer.config.cloning_config()
    if config is None:
        return None
    here = getattr(trainer.envs, "here", None)  # rollout workers step the others
    envs = trainer.envs if here is None else here()
    envs = getattr(envs, "ungrouped", envs)
    try:
        cloning = Trainer(config, envs=envs, model=trainer.model)
    except ValueError as reason:
        remedy = f"or begin with {trainer.run.name}, demonstration_steps=0"
        raise ValueError(f"{reason}; {remedy}") from reason
    steps = len(cloning.buffer)  # 0 if an expert will act
    if steps not in (0, config.demonstration_steps):
        raise trainer.config.error(
            "demonstration_steps",
            f"the data set is read as a whole: say {steps}, the steps that it has, and"
            " more than those for total_steps",
        )
    counters = trainer.agent.counters
    cloning.algorithm.counters = cloning.agent.counters = counters
    return cloning


def clone_first(
    trainer: Any, train: Callable[[], Generator[LogData, None, None]]
) -> Generator[LogData, None, None]:
    """Let `trainer.cloning` clone, unless that is done, and then train.

    Logs say the `phase`: 0 while cloning, 1 from there on; and while cloning which
    share of its gradient steps is done, `cloned`. Between the two the clone is
    evaluated.
    """
    if trainer.config.demonstration_steps == 0:
        yield from train()
        return
    if trainer.cloning is not None:
        yield from _in_phase(0.0, trainer, _clone(trainer.cloning))
        _end(trainer)
        trainer.algorithm.sync_target()  # the reference policy is the clone
        trainer._evaluated_at = -1  # an evaluation is due
    yield from _in_phase(1.0, trainer, train())


def _clone(cloning: Trainer) -> Generator[LogData, None, None]:
    """Clone; returns in the logs are the expert's, and no curve of the policy's."""
    names = {f"episode_{x}": f"expert_{x}" for x in ("return", "length")}
    with closing(cloning()) as all_logs:
        for log in all_logs:
            logs = {names.get(name, name): x for name, x in log["logs"].items()}
            if log["log_type"] == "train":
                logs["cloned"] = log["learn_step"] / cloning.learn_steps
            yield {**log, "logs": logs}


def _in_phase(
    phase: float, trainer: Any, logs: Generator[LogData, None, None]
) -> Generator[LogData, None, None]:
    with closing(logs):
        for log in logs:
            trainer.only_cloned = log["sample_step"] < _first_improved(trainer)
            yield {**log, "logs": {**log["logs"], "phase": phase}}


def check_cloned(trainer: Any) -> None:
    """RuntimeError if demonstrations have not been cloned yet."""
    if trainer.cloning is not None:
        raise RuntimeError(
            f"demonstrations are to be cloned before {trainer.run.name} begins: take"
            " the first steps of `for log in trainer()`, until trainer.cloning is"
            " None, or set demonstration_steps=0"
        )


def cloning_state(trainer: Any) -> dict[str, Any] | None:
    """The state of `trainer.cloning`, without its model; None when it is done."""
    if trainer.cloning is None:
        return None
    state = trainer.cloning.state_dict()
    del state["agent"]["algorithm"]["model"]  # it is saved already
    return state


def load_state(
    trainer: Any, state: Mapping[str, Any], load: Callable[[Mapping[str, Any]], None]
) -> None:
    """Restore a trainer, by its own `load`, and `trainer.cloning`."""
    agent, cloning_state = state["agent"], state["cloning"]
    steps = agent["sample_step"]
    if steps < _first_improved(trainer):
        steps = 0  # the trainer's own environments begin as in a fresh run
    load({**state, "agent": {**agent, "sample_step": steps}})
    trainer.agent.counters.restore(agent)
    if cloning_state is None:
        _end(trainer)
        return
    cloning: Any = trainer.cloning or make_cloning(trainer)
    agent = cloning_state["agent"]
    parts = {"model": trainer.model.state_dict(), **agent["algorithm"]}
    cloning.load_state_dict({**cloning_state, "agent": {**agent, "algorithm": parts}})
    trainer.cloning = cloning


def _end(trainer: Any) -> None:
    """Free the demonstrations, and close environments that were made for the expert."""
    if trainer.cloning is not None and trainer.config.collection == "ray":
        trainer.cloning.envs.close()
    trainer.cloning = None


def _first_improved(trainer: Any) -> int:
    """The step after the first ones that the policy takes by itself."""
    config = trainer.config
    return config.demonstration_steps + config.num_envs * ranks().count
