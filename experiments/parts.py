"""Make the agent of a trainer from the given parts, and check these."""

from typing import Any

from torch import nn

from yieldrl.foundations import spaces


def make_agent(trainer: Any, **parts: Any) -> Any:
    """The agent around `model`, `algorithm` or `agent`, of which one at most is given.

    Raises:
        TypeError: If a part has the wrong type.
        ValueError: If more than one is given, or it is of other spaces than the
            environments.
    """
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
    agent, algorithm = parts["agent"], parts["algorithm"]
    if agent is algorithm is None:
        algorithm = trainer.algorithm_class(_model(trainer, **given), trainer.config)
    agent = trainer.agent_class(algorithm, trainer.config) if agent is None else agent
    _check_spaces(agent.model, trainer.envs)
    return agent


def _model(trainer: Any, model: Any = None) -> nn.Module:
    model, envs = trainer.default_model if model is None else model, trainer.envs
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
