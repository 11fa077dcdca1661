"""A run as a file describes it: algorithm, model and loggers, beside the config.

Algorithms and loggers are named as in `yieldrl list` and `yieldrl.loggers`, and what is
your own by its path, `package.module:Class`. Something missing raises ImportError, what
does not fit ValueError; messages address the author of the file.
"""

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from pydantic import ValidationError
from torch import nn

from yieldrl import loggers as all_loggers
from yieldrl.abstractions import Policy, Trainer
from yieldrl.cli import catalog
from yieldrl.core.checked import in_a_line
from yieldrl.core.config_blocks import (
    BLOCKS,
    VLA,
    Part,
    divided,
    has_blocks,
    nearest,
    part,
    to_blocks,
)
from yieldrl.core.named_code import (
    is_function_of_user,
    is_known,
    refuse_unless,
    refuse_untrusted,
)
from yieldrl.experiments import run_files

DEFAULT = "default"
"""The name of an algorithm's own model."""

LOGGERS = (
    Part("checkpoint", {"every": 50_000, "seconds": 120.0}),
    Part("csv", {}),
    Part("tensorboard", {}),
    Part("progress", {}),
)
"""The loggers of a run that names none."""


@dataclass(frozen=True)
class RunSpec:
    """Algorithm, model and loggers of a run: all that its config does not hold."""

    trainer_class: type[Any]
    policy: Part = Part(DEFAULT, {})  # noqa: RUF009 - a tuple
    loggers: tuple[Part, ...] = LOGGERS  # the innermost first

    @classmethod
    def of(
        cls,
        values: Mapping[str, Any],
        trainer_class: type[Any] | None,
        source: Path | None = None,
    ) -> Self:
        """The spec of a file, which may have blocks or fields alone.

        Args:
            values: The content of the file.
            trainer_class: The trainer that the command line names, if it does.
            source: The file, if it is not trusted to name code of others.

        Raises:
            ImportError: If something that is named is not there.
            UntrustedError: If the `source` names code that does not come with yieldrl.
            ValueError: If there is no algorithm, or two, or a block is malformed.
        """
        if source is not None:
            refuse_untrusted_run(values, source)
        blocks = has_blocks(values)
        name = part("algorithm", values.get("algorithm")).name if blocks else ""
        trainer = find_trainer(name) if name else trainer_class
        if trainer is None:
            raise ValueError(
                "no algorithm: name it in the block 'algorithm', or write yieldrl"
                " train ALGORITHM --config FILE"
            )
        if not blocks:
            return cls(trainer)
        if trainer_class not in (None, trainer):
            raise ValueError(
                f"block 'algorithm': its name is {name!r}, and the command line says"
                f" {run_files.trainer_name(trainer_class)!r}: leave one of them out"
            )
        policy = part("policy", values.get("policy"), DEFAULT)
        if not policy.is_path:
            _check_name("policy", policy.name, (DEFAULT, VLA))
            fields = {entry.name for entry in dataclasses.fields(trainer.config_class)}
            # All but the arguments of this one model are fields of the config.
            arguments = divided(policy, fields)[1] if policy.name == VLA else {}
            policy = Part(policy.name, arguments)
        return cls(trainer, policy, _listed(values.get("loggers")))

    def parts(self) -> dict[str, Any]:
        """Arguments of the trainer's constructor besides the config."""
        policy = self.policy
        if policy.name == DEFAULT:
            return {}
        if policy.name == VLA:
            return {"model": _vision_language_action(policy, self.trainer_class)}
        made = _find("policy", policy.name, kind=nn.Module)
        return {"model": functools.partial(made, **policy.cfg)}

    def make_trainer(self, config: Any) -> Any:
        """The trainer of a config, without loggers."""
        return self.trainer_class(config, **self.parts())

    def make_loggers(self) -> list[Any]:
        """The loggers, ready to decorate a trainer, the innermost first."""
        return [_make_logger(one) for one in self.loggers]

    def with_logger(self, logger: str, wanted: bool, **cfg: Any) -> Self:
        """The spec with a logger and these arguments, innermost if new; or without it.

        Its other arguments stay as they are.
        """
        if wanted and logger not in dict(self.loggers):
            return replace(self, loggers=(Part(logger, cfg), *self.loggers))
        changed = (
            Part(name, {**old_cfg, **cfg}) if name == logger else Part(name, old_cfg)
            for name, old_cfg in self.loggers
            if wanted or name != logger
        )
        return replace(self, loggers=tuple(changed))

    def to_dict(self, config: Any) -> dict[str, Any]:
        """The complete file: every block, with the names of yieldrl."""
        blocks: dict[str, Any] = {**to_blocks(config)}
        name = run_files.trainer_name(self.trainer_class)
        blocks["algorithm"] = {"name": name, "cfg": blocks["algorithm"]}
        blocks["policy"] = self.policy._asdict()
        blocks["loggers"] = [{one.name: one.cfg} for one in self.loggers]
        return {block: blocks[block] for block in BLOCKS}


def refuse_untrusted_run(values: Mapping[str, Any], source: Path) -> None:
    """Raise UntrustedError for a config field, algorithm, policy or logger that is
    neither registered nor of a known package, before anything is imported."""
    refuse_untrusted(values, source)
    if not has_blocks(values):
        return
    algorithm = part("algorithm", values.get("algorithm"))
    policy = part("policy", values.get("policy"), DEFAULT)
    named = [("loggers", one) for one in _listed(values.get("loggers"))]
    for block, one in [("algorithm", algorithm), ("policy", policy), *named]:
        trusted = is_known(one.name) if one.is_path else block != "algorithm"
        trusted = trusted or one.name in ("", *catalog.folders())
        refuse_unless(trusted, f"block {block!r}, name {one.name!r}", source)


def _listed(block: Any) -> tuple[Part, ...]:
    """The loggers of a block: a list of names, or `{NAME: arguments}`."""
    if block is None:
        return LOGGERS
    if not isinstance(block, list):
        raise ValueError(f"block 'loggers': expected a list of names, got {block!r}")
    parts: list[Part] = []
    for one in block:
        named = {one: None} if isinstance(one, str) else one
        if not isinstance(named, dict) or len(named) != 1:
            raise ValueError(f"block 'loggers': {one!r} is no NAME, or {{NAME: cfg}}")
        ((name, cfg),) = named.items()
        parts.append(part("loggers", {"name": name, "cfg": cfg}))
        if not parts[-1].is_path:
            public = [x for x in all_loggers.__all__ if x.islower()]
            classes = [x for x in public if isinstance(getattr(all_loggers, x), type)]
            _check_name("loggers", name, classes)
    return tuple(parts)


def find_trainer(name: str) -> type[Any]:
    """The trainer: of `yieldrl list`, of a module that has one, or at a path."""
    if name in catalog.folders():
        return importlib.import_module(f"{catalog.PACKAGE}.{name}").Trainer
    catalog.check_name(name)
    trainer = find(name, "block 'algorithm'")
    if isinstance(trainer, ModuleType):
        trainer = getattr(trainer, "Trainer", None)
    if isinstance(trainer, type) and issubclass(trainer, Trainer):
        return trainer
    raise ValueError(
        f"block 'algorithm': {name!r} is {trainer!r}, not a Trainer: name a subclass of"
        " yieldrl.abstractions.Trainer, or a module that has one called Trainer"
    )


def _make_logger(one: Part) -> Any:
    if one.is_path:
        made = _find("loggers", one.name, kind=all_loggers.Logger)
    else:
        made = getattr(all_loggers, one.name)
    try:
        return made(**one.cfg)
    except (TypeError, ValueError) as error:
        reason = f"{one.name}: {error}"
        if isinstance(error, ValidationError):
            reason = in_a_line(error, one.name)
        raise ValueError(f"block 'loggers': {reason}") from error


def _vision_language_action(
    policy: Part, trainer_class: type[Any]
) -> Callable[..., Any]:
    """A vision-language-action policy, for the trainer of any actor-critic.

    Its `cfg` has `vla_config`, the fields of `VLAConfig`, and `action_dim`.
    """
    from yieldrl.vla import VLAPolicy
    from yieldrl.vla.config import vla_config_of

    user, cfg = trainer_class.__module__, policy.cfg
    usual = getattr(trainer_class, "policy_class", trainer_class.model_class)
    if not (isinstance(usual, type) and issubclass(usual, Policy)):
        raise ValueError(
            f"block 'policy': {user} does not learn by a policy such as 'vla': take an"
            " actor-critic, ppo or vla_ppo"
        )
    if "vla_config" in cfg:
        length = vla_config_of(None, cfg["vla_config"]).chunk_length
        if length > 1:
            raise ValueError(
                f"block 'policy': chunk_length = {length}: {user} decides about one"
                " action at a time; take the algorithm vla_ppo"
            )
    made = functools.partial(VLAPolicy.from_config, **cfg)
    return functools.update_wrapper(made, VLAPolicy, updated=())


def _check_name(block: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise ValueError(
            f"block {block!r}: no {block.removesuffix('s')} is called {name!r}:"
            f" {nearest(name, names)}; one of your own is written package.module:Class"
        )


def _find(block: str, path: str, kind: type[Any]) -> Any:
    """A class of this `kind`, or a function of the user's that makes one."""
    value = find(path, f"block {block!r}")
    is_class = isinstance(value, type) and issubclass(value, kind)
    if is_class or is_function_of_user(value):
        return value
    raise ValueError(
        f"block {block!r}: {path!r} is {value!r}: name a class derived from"
        f" {kind.__module__}.{kind.__qualname__}, or a function of your own"
    )


def find(path: str, where: str) -> Any:
    """The module `package.module`, or what it has at `:Class` or `.Class`.

    `where` begins the message of an ImportError if it is not there.
    """
    try:
        return pkgutil.resolve_name(path)
    except (AttributeError, ImportError, ValueError) as reason:
        raise ImportError(
            f"{where}: {path!r} is not found from here ({reason}): run this in the"
            " folder that holds it, or install it"
        ) from reason
