"""The parts of a trainer: made from its config, or the caller's, and checked."""

import dataclasses
import logging
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from yieldrl import collectors
from yieldrl.collectors import Collector, Evaluator, SyncCollector
from yieldrl.core import (
    CheckpointError,
    Config,
    keep_freed_memory,
    ranks,
    set_threads,
    spaces,
)
from yieldrl.experiments import agreement, on_ray, run_files
from yieldrl.networks import train_mode_concern


def checked_config(trainer_class: Any, config: Any, collector: Any) -> Config:
    """The config, which must be the algorithm's, and agree with the collector."""
    wanted = trainer_class.config_class
    config = wanted() if config is None else config
    if not isinstance(config, wanted):
        name = run_files.algorithm_name(trainer_class.__module__)
        takes = f"{name} takes a {wanted.__module__}.Config"
        raise TypeError(f"{takes}, got {type(config)}")
    kind = collector if isinstance(collector, type) else type(collector)
    if not getattr(kind, "in_background", False):
        return config
    if "collection" not in {entry.name for entry in dataclasses.fields(config)}:
        name = run_files.algorithm_name(trainer_class.__module__)
        raise ValueError(
            f"{name} does not learn while its policy acts: it"
            " cannot be collected in the background, use a SyncCollector"
        )
    return dataclasses.replace(config, collection="async")


def prepare_process(trainer: Any) -> None:
    """Set PyTorch's threads, and how this process frees its memory."""
    images = spaces.has_images(trainer.envs.single_observation_space)
    set_threads(trainer.config.threads, images=images)
    keep_freed_memory()


def make_agent(trainer: Any, model: Any, algorithm: Any, agent: Any) -> Any:
    """The agent around the given part, of which there is one at most.

    Raises:
        TypeError: If a part has the wrong type.
        ValueError: If more than one is given, or it is of other spaces than the
            environments.
    """
    parts = {"model": model, "algorithm": algorithm, "agent": agent}
    given = {name: part for name, part in parts.items() if part is not None}
    if len(given) > 1:
        raise ValueError(f"got {[*given]}: pass the outermost alone, it holds the rest")
    kind = type(trainer).__qualname__
    for name, part in given.items():
        if name != "model" and isinstance(part, type):
            raise TypeError(
                f"{name} = {part.__qualname__} is a class: pass one that is made, or"
                f" derive from {kind} with {name}_class = {part.__qualname__}"
            )
    if agent is algorithm is None:
        algorithm = trainer.algorithm_class(make_model(trainer, model), trainer.config)
    agent = trainer.agent_class(algorithm, trainer.config) if agent is None else agent
    _check_spaces(agent.algorithm.model, trainer.envs)
    for concern in concerns(agent.algorithm):
        warnings.warn(f"{trainer.run.name}: {concern}", UserWarning, stacklevel=4)
    agreement.join(trainer, agent)
    return agent


def concerns(algorithm: Any) -> list[str]:
    """Warnings of an algorithm and its model, as sentences, before anything is learned.

    One is of layers that compute something else where they learn than where they act.
    """
    model = algorithm.model
    sentences = list(getattr(model, "concerns", list)())
    takes_ratio = getattr(algorithm, "takes_ratio", False)
    layers = train_mode_concern(model) if takes_ratio else None
    if layers is not None:
        sentences.append(
            f"{layers}: from the first step on a rollout on, the ratio is not 1 and"
            " approx_kl not 0. Set p=0, take LayerNorm, or freeze these parts"
        )
    return sentences


def make_model(trainer: Any, model: Any) -> nn.Module:
    """The given networks; or those that a class or function makes, by default the
    trainer's `model_class`."""
    envs = trainer.envs
    model = trainer.model_class if model is None else model
    if not isinstance(model, nn.Module):
        if not callable(model):
            raise TypeError(f"model = {model!r} is no network, and makes none")
        both = envs.single_observation_space, envs.single_action_space
        model = model(*both, trainer.config)
    if not hasattr(model, "observation_space"):
        raise TypeError(
            f"model: {type(model).__qualname__} has no spaces: derive it from"
            " yieldrl.abstractions.Model, or from the algorithm's own"
        )
    return model


def _check_spaces(model: Any, envs: Any) -> None:
    observed, acted = envs.single_observation_space, envs.single_action_space
    same = spaces.have_same_leaves(model.observation_space, observed)
    if not same or model.action_space != acted:
        raise ValueError(
            f"the model observes {model.observation_space} and acts in"
            f" {model.action_space}, and the environments have {observed} and {acted}:"
            " make it of theirs"
        )


def transition_parts(trainer: Any) -> dict[str, Any]:
    """Arguments of every buffer that describe a trainer's transitions."""
    space = trainer.envs.single_observation_space
    if getattr(trainer, "_learners", None) is not None:
        space = None  # they take observations
    described: dict[str, Any] = {
        "observation_space": space,
        "action_space": trainer.envs.single_action_space,
        "num_envs": trainer.envs.num_envs,
        "device": trainer.agent.device,
    }
    # A replay buffer has no use for it: its algorithms normalize no observations.
    return described | ({"exact_obs": True} if trainer.model.exact_obs else {})


def make_collector(trainer: Any, kind: type[Any] | None = None) -> Collector:
    """A collector of a kind, by default of that which the config asks for."""
    if kind is None:
        collection = trainer.config.collection
        if collection == "ray":
            return on_ray.make_collector(trainer)
        sync = collection == "sync"
        kind = SyncCollector if sync else collectors.AsyncCollector
        if sync and trainer.algorithm.runtime.records:
            kind = _recorded(trainer)
    names = ["report_every"] if issubclass(kind, SyncCollector) else []
    if getattr(kind, "in_background", False):
        names = ["report_every", "max_policy_lag", "when_stale"]
    options = {name: getattr(trainer.config, name) for name in names}
    if getattr(kind, "in_background", False):
        options["rows_ahead"] = trainer._rows_ahead
    options["seed"] = ranks().derive_seed(trainer.config.seed, "envs")
    return kind(trainer.envs, trainer.agent, trainer.buffer, **options)


def _recorded(trainer: Any) -> type[Any]:
    """The collector that is recorded as a CUDA graph; if it cannot be, a line says why,
    and it is the plain one."""
    from yieldrl.collectors.recorded import RecordedCollector, refusal

    reason = refusal(trainer.envs, trainer.agent, trainer.buffer)
    if not reason:
        return RecordedCollector
    logger = logging.getLogger("yieldrl.compile")
    logger.warning("collecting step: not recorded as a CUDA graph: %s", reason)
    return SyncCollector


def checked_collector(trainer: Any, given: Any) -> Collector:
    """The collector that is given, as an object or a class; else the trainer's.

    ValueError if it was made of another agent or buffer: then training would not end.
    """
    if given is None:
        return trainer.make_collector()
    if isinstance(given, type):
        return make_collector(trainer, given)
    for name in ("agent", "buffer"):
        part = getattr(trainer, name)
        if getattr(given, name, part) is not part:
            raise ValueError(
                f"the collector was made of another {name} than the trainer's:"
                " pass its envs, agent and buffer with it, or pass its class"
            )
    return given


def make_evaluator(trainer: Any, source: Any, given: Any) -> Evaluator:
    """The evaluator, in environments like those of training, or in the given ones."""
    config, device = trainer.config, str(trainer.agent.device)
    options = {
        "training": trainer.envs,
        "as_it_is": given is not None,
        "wrap": partial(trainer.wrap_envs, training=False),
    }
    parts = source if given is None else given, config, device
    if config.eval_actors:
        from yieldrl.distributed import RemoteEvaluator

        pool, options["trainer_class"] = trainer.envs.pool, type(trainer)
        return RemoteEvaluator(*parts, pool=pool, **options)
    return Evaluator(*parts, **options)


def collection_of(trainer: Any) -> str:
    """How a trainer collects: `sync`, `async` or `ray`."""
    if getattr(trainer.collector, "in_background", False):
        return "async"
    return "ray" if trainer.config.collection == "ray" else "sync"


def check_collection(trainer: Any, state: Mapping[str, Any]) -> None:
    """CheckpointError if a state is of another kind of collection."""
    saved, here = state["collection"], collection_of(trainer)
    if saved != here:
        raise CheckpointError(
            f"the checkpoint was saved with collection = {saved!r}, this trainer"
            f" has {here!r}: load it with {saved!r}, or train again with {here!r}"
        )
