"""A run as a file describes it: algorithm, model and loggers, beside the config."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from yieldrl.cli import catalog, resolve
from yieldrl.experiments import run_files
from yieldrl.foundations.config_blocks import (
    BLOCKS,
    VLA,
    Part,
    divided,
    has_blocks,
    nearest,
    part,
    to_blocks,
)
from yieldrl.foundations.named_code import is_known, refuse_unless, refuse_untrusted

MODEL = Part(resolve.DEFAULT, {})
"""The model of a run that names none: that of its algorithm."""

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
    policy: Part = MODEL
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
        if not has_blocks(values):
            return cls(_known(values, trainer_class))
        name = part("algorithm", values.get("algorithm")).name
        found = resolve.trainer_class(name) if name else _known(values, trainer_class)
        if trainer_class not in (None, found):
            raise ValueError(
                f"block 'algorithm': its name is {name!r}, and the command line says"
                f" {run_files.trainer_name(trainer_class)!r}: leave one of them out"
            )
        policy = part("policy", values.get("policy"), resolve.DEFAULT)
        if not policy.is_path:
            resolve.check_name("policy", policy.name)
            fields = {entry.name for entry in dataclasses.fields(found.config_class)}
            # All but the arguments of this one model are fields of the config.
            arguments = divided(policy, fields)[1] if policy.name == VLA else {}
            policy = Part(policy.name, arguments)
        return cls(found, policy, _loggers(values.get("loggers")))

    def parts(self) -> dict[str, Any]:
        """Arguments of the trainer's constructor besides the config."""
        made = resolve.model(self.policy, self.trainer_class)
        return {} if made is None else {"model": made}

    def check(self) -> None:
        """Refuse a model or logger that is not there, and arguments that do not fit."""
        self.parts()
        for one in self.loggers:
            resolve.logger(one)

    def logged(self, trainer: Any) -> Any:
        """The trainer with the loggers around it."""
        for logger in self.loggers:
            trainer = resolve.logger(logger)(trainer)
        return trainer

    def arguments(self, logger: str) -> dict[str, Any] | None:
        """Arguments of the first logger of a name; None if there is none."""
        return next((cfg for name, cfg in self.loggers if name == logger), None)

    def with_logger(self, logger: str, wanted: bool, **cfg: Any) -> Self:
        """The spec with a logger and these arguments, innermost if new; or without it.

        Its other arguments stay as they are.
        """
        if wanted and self.arguments(logger) is None:
            return replace(self, loggers=(Part(logger, cfg), *self.loggers))
        changed = (
            Part(name, {**known, **cfg}) if name == logger else Part(name, known)
            for name, known in self.loggers
            if wanted or name != logger
        )
        return replace(self, loggers=tuple(changed))

    def to_dict(self, config: Any) -> dict[str, Any]:
        """The complete file: every block, with the names of yieldrl."""
        blocks = to_blocks(config)
        name = run_files.trainer_name(self.trainer_class)
        algorithm = Part(name, blocks["algorithm"])
        whole = blocks | {
            "policy": _written(self.policy),
            "algorithm": _written(algorithm),
            "loggers": [_written(one) for one in self.loggers],
        }
        return {block: whole[block] for block in BLOCKS}


def refuse_untrusted_run(values: Mapping[str, Any], source: Path) -> None:
    """Raise UntrustedError for a config field, algorithm, policy or logger that is
    neither registered nor of a known package, before anything is imported."""
    refuse_untrusted(values, source)
    if not has_blocks(values):
        return
    algorithm = part("algorithm", values.get("algorithm"))
    policy = part("policy", values.get("policy"), resolve.DEFAULT)
    loggers = [("loggers", one) for one in _loggers(values.get("loggers"))]
    for block, one in [("algorithm", algorithm), ("policy", policy), *loggers]:
        known = is_known(one.name) if one.is_path else block != "algorithm"
        known = known or one.name in ("", *catalog.folders())
        refuse_unless(known, f"block {block!r}, name {one.name!r}", source)


def _written(part: Part) -> dict[str, Any]:
    return {"name": part.name, "cfg": dict(part.cfg)}


def _known(values: Mapping[str, Any], trainer_class: type[Any] | None) -> type[Any]:
    """The trainer class of the command line; ValueError if there is none."""
    if trainer_class is not None:
        return trainer_class
    for name in values:
        hint = nearest(name, BLOCKS)
        if name not in BLOCKS and hint.startswith("did"):
            raise ValueError(f"no block is called {name!r}: {hint}")
    raise ValueError(
        "no algorithm: name it in the block 'algorithm', or write yieldrl train"
        " ALGORITHM --config FILE"
    )


def _loggers(said: Any) -> tuple[Part, ...]:
    """The loggers of a block: a list, or a mapping of names to arguments."""
    if said is None:
        return LOGGERS
    if isinstance(said, dict):
        said = [{name: cfg} for name, cfg in said.items() if cfg is not False]
    if not isinstance(said, list):
        raise ValueError(f"block 'loggers': expected a list of names, got {said!r}")
    return tuple(map(_logger, said))


def _logger(said: Any) -> Part:
    """A logger: its name, `{name: ..., cfg: ...}`, or `{NAME: arguments}`."""
    if isinstance(said, dict) and len(said) == 1 and "name" not in said:
        ((name, cfg),) = said.items()
        said = {"name": name, "cfg": None if cfg is True else cfg}
    found = part("loggers", said)
    if not found.is_path:
        resolve.check_name("loggers", found.name)
    return found
