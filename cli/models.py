"""Models by name: of another algorithm, or a vision-language-action model."""

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from yieldrl.abstractions import Policy
from yieldrl.cli import catalog


def of_algorithm(name: str, trainer_class: type[Any]) -> Callable[..., Any]:
    """The model of an algorithm of `yieldrl list`, as a trainer can use it.

    One of another kind is refused at once, one whose fields the trainer's config lacks
    when it is made.
    """
    model = importlib.import_module(f"{catalog.PACKAGE}.{name}").Model
    usual = _wanted(trainer_class)
    user = trainer_class.__module__
    start = f"block 'policy': the model of {name} does not fit {user}"
    ours = usual.__module__.startswith("yieldrl.")
    if ours and isinstance(usual, type) and not issubclass(model, usual):
        raise ValueError(
            f"{start}: it is no {usual.__module__}.{usual.__qualname__}. Leave 'name'"
            " out, or name one of your own, package.module:Class"
        )

    @functools.wraps(model, updated=())
    def made(observation_space: Any, action_space: Any, config: Any) -> Any:
        try:
            return model(observation_space, action_space, config)
        except AttributeError as reason:
            if reason.obj is not config:
                raise
            raise ValueError(
                f"{start}, whose config has no {reason.name!r}: take the algorithm"
                f" {name!r}, or leave 'name' out"
            ) from None

    return made


def vision_language_action(
    cfg: Mapping[str, Any], trainer_class: type[Any]
) -> Callable[..., Any]:
    """A vision-language-action policy, for the trainer of any actor-critic.

    Its `cfg` has `vla_config`, the fields of `VLAConfig`, and `action_dim`.
    """
    from yieldrl.vla import VLAPolicy

    for key in cfg:
        if key not in ("action_dim", "vla_config"):
            raise ValueError(
                f"block 'policy': vla has no argument {key!r}: what the model is goes"
                " into 'vla_config', and 'action_dim' may stand beside it"
            )
    user, usual = trainer_class.__module__, _wanted(trainer_class)
    if not (isinstance(usual, type) and issubclass(usual, Policy)):
        raise ValueError(
            f"block 'policy': {user} does not learn by a policy such as 'vla': take an"
            " actor-critic, ppo or vla_ppo"
        )
    if "vla_config" in cfg:
        config = _vla_config(cfg["vla_config"])
        if config.chunk_length > 1:
            raise ValueError(
                f"block 'policy': chunk_length = {config.chunk_length}: {user} decides"
                " about one action at a time; take the algorithm vla_ppo"
            )
    made = functools.partial(VLAPolicy.from_config, **cfg)
    return functools.update_wrapper(made, VLAPolicy, updated=())


def _wanted(trainer_class: type[Any]) -> Any:
    """The class of model that a trainer needs: its `policy_class` or `model_class`."""
    return getattr(trainer_class, "policy_class", trainer_class.model_class)


def _vla_config(said: Any) -> Any:
    """The `vla_config` of a file."""
    from yieldrl.vla.config import vla_config_of

    if not isinstance(said, dict):
        raise ValueError(f"block 'policy': vla_config = {said!r}: give keys and values")
    try:
        return vla_config_of(None, said)
    except ValueError as reason:
        raise ValueError(f"block 'policy': vla_config: {reason}") from None
