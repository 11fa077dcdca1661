"""Equal starts of processes that train together, with different random numbers."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from yieldrl.core import CheckpointError, Config, ranks, seed_everything

OWN = ("device", "run_name", "run_root", "threads", "vectorization")
"""Fields of a config that may differ between processes: where and how fast one works,
and the folder, which only the first one writes into."""


def join(trainer: Any, agent: Any) -> None:
    """Start with the first process's weights, if a trainer is not alone.

    Raises:
        ValueError: If it cannot learn together with others, or if, in every process, a
            class, a field of a config, the learning rate, a space or a weight's shape
            is not that of the first.
    """
    if ranks().count == 1:
        return
    collection = getattr(trainer.config, "collection", "sync")
    if not trainer._learns_in_step or collection != "sync":
        who = f"{collection=}" if collection != "sync" else trainer.run.name
        raise ValueError(
            f"{who} cannot be trained by {ranks().count} processes together, which"
            " must take as many steps between updates: start one, without torchrun,"
            " or take an algorithm of rollouts, such as ppo, with collection='sync'"
        )
    ranks().agree(_facts(trainer, agent))
    ranks().broadcast_module(agent.algorithm.model)
    seed_rank(trainer.config, agent)


def seed_rank(config: Config, agent: Any) -> None:
    """Give this process random numbers of its own, unless it is the first."""
    if not ranks().first:
        seed, step = config.seed, agent.sample_step
        seed_everything(ranks().derive_seed(seed, f"global, from step {step}"))
        rank_seed = ranks().derive_seed(seed, f"exploration, from step {step}")
        agent.generator.manual_seed(rank_seed)


def agree_on_state(state: Mapping[str, Any]) -> None:
    """Refuse processes that loaded different checkpoints.

    CheckpointError in every process, if steps, weights or optimizer are not those of
    the first.
    """
    if ranks().count == 1:
        return
    agent = state["agent"]
    steps = {name: value for name, value in agent.items() if isinstance(value, int)}
    values = pytree.tree_leaves(agent["algorithm"])
    sums = [float(x.double().abs().sum()) for x in values if isinstance(x, Tensor)]
    try:
        ranks().agree({**steps, "sum of the checkpoint's weights": sum(sums)})
    except ValueError as reason:
        raise CheckpointError(str(reason)) from None


def _facts(trainer: Any, agent: Any) -> dict[str, Any]:
    """Facts that must be alike: classes, configs, spaces, and the weights' shapes."""
    algorithm, model = agent.algorithm, agent.algorithm.model
    parts = {"trainer": trainer, "agent": agent, "algorithm": algorithm, "model": model}
    facts: dict[str, Any] = {}
    for name, part in parts.items():
        facts[f"class of the {name}"] = f"{type(part).__module__}.{type(part).__name__}"
        config = getattr(part, "config", None)  # passed parts have their own
        if isinstance(config, Config):
            owner = "Config" if part is trainer else f"{name}.config"
            names = [entry.name for entry in dataclasses.fields(config)]
            facts |= {f"{owner}.{x}": getattr(config, x) for x in names if x not in OWN}
    facts["learning_rate"] = float(getattr(algorithm, "learning_rate", 0.0))
    facts["observation space"] = str(trainer.envs.single_observation_space)
    facts["action space"] = str(trainer.envs.single_action_space)
    for name, x in [*model.named_parameters(), *model.named_buffers()]:
        kind = "learned" if x.requires_grad else "frozen"
        facts[f"model.{name}"] = f"{tuple(x.shape)}, {x.dtype}, {kind}"
    return facts
