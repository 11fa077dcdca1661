"""Resolve names in config files: registered ones, or `package.module:Class`.

A missing object raises ImportError, one that does not fit ValueError; messages address
the author of the file.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from yieldrl.abstractions import Trainer
from yieldrl.cli import catalog, models
from yieldrl.foundations.config_blocks import NAMES, VLA, Part, nearest
from yieldrl.foundations.named_code import is_function_of_user
from yieldrl.loggers.base import Logger

DEFAULT = "default"
"""The name of an algorithm's own model."""


def importable_from_here() -> None:
    """Make modules of the working directory importable."""
    here = str(Path.cwd())
    if here not in sys.path[:1]:
        sys.path.insert(0, here)


def trainer_class(name: str) -> type[Any]:
    """The trainer: of `yieldrl list`, of a module that has one, or at a path."""
    if name in catalog.folders():
        return importlib.import_module(f"{catalog.PACKAGE}.{name}").Trainer
    if ":" in name or "." in name:
        found = _find("algorithm", name, inside="Trainer", kind=Trainer)
    else:
        home = module(name)
        if home is None:
            catalog.folder(name)  # raises, with all names
        found = getattr(home, "Trainer", None)
    if isinstance(found, type) and issubclass(found, Trainer):
        return found
    raise ValueError(
        f"block 'algorithm': {name!r} is {found!r}, not a Trainer: name a subclass of"
        " yieldrl.abstractions.Trainer, or a module that has one called Trainer"
    )


def model(policy: Part, trainer_class: type[Any]) -> Callable[..., Any] | None:
    """The function that makes the networks; None for the default."""
    if policy.is_path:
        made = _find("policy", policy.name, kind=nn.Module)
        first = ("observation_space", "action_space", "config")
        _check_arguments("policy", policy, made, first)
        return functools.partial(made, **policy.cfg)
    check_name("policy", policy.name)
    if policy.name == DEFAULT:
        return None
    if policy.name == VLA:
        return models.vision_language_action(policy.cfg, trainer_class)
    return models.of_algorithm(policy.name, trainer_class)


def logger(part: Part) -> Any:
    """The logger, ready to decorate a trainer."""
    if part.is_path:
        made = _find("loggers", part.name, kind=Logger)
    else:
        check_name("loggers", part.name)
        made = _loggers()[part.name]
    _check_arguments("loggers", part, made)
    try:
        return made(**part.cfg)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"block 'loggers': {part.name}: {reason}") from reason


def check_name(block: str, name: str) -> None:
    """Refuse the name of a model (block `policy`) or logger that does not exist."""
    kind = block.removesuffix("s")
    known = {*_loggers()} if kind == "logger" else {DEFAULT, VLA, *catalog.folders()}
    if name not in known:
        hint = nearest(name, known | NAMES[block].keys())
        raise ValueError(
            f"block {block!r}: no {kind} is called {name!r}: {hint}; one of your own is"
            " written package.module:Class"
        )


def _loggers() -> dict[str, Any]:
    """Name -> class of each logger that a file may name."""
    from yieldrl import loggers

    public = {name: getattr(loggers, name) for name in loggers.__all__}
    return {k: v for k, v in public.items() if k.islower() and inspect.isclass(v)}


def _check_arguments(
    block: str, part: Part, made: Callable[..., Any], first: tuple[str, ...] = ()
) -> None:
    """Refuse arguments that a class or function does not take after the first ones."""
    signature = inspect.signature(made)
    parameters = signature.parameters
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    known = list(parameters)[len(first) :]
    for key in part.cfg:
        if key not in known and not any_name:
            hint = nearest(key, known) if known else "it takes none"
            raise ValueError(
                f"block {block!r}: {part.name} has no argument {key!r}: {hint}"
            )
    try:
        signature.bind(*first, **part.cfg)
    except TypeError as reason:
        wanted = ", ".join([*first, "**cfg"])
        raise ValueError(
            f"block {block!r}: {part.name} is called with ({wanted}): {reason}"
        ) from None


def _find(block: str, path: str, kind: type[Any], inside: str = "") -> Any:
    """The object at `package.module:Class` or `package.module.Class`.

    If the path is that of a module, its attribute `inside` is taken, if given. It is of
    this `kind`, or a function of the user's that makes one.
    """
    name, colon, attribute = path.partition(":")
    home = module(name) if colon or inside else None
    if not colon:
        attribute = inside
        if home is None:
            name, _, attribute = path.rpartition(".")
            home = module(name)
    if home is None:
        package = name.partition(".")[0]
        raise ImportError(
            f"block {block!r}: {path!r} is not found from here, there is no module"
            f" {name!r}: run this in the folder that holds {package}, or install it"
        )
    if not hasattr(home, attribute):
        public = [known for known in vars(home) if not known.startswith("_")]
        raise ValueError(
            f"block {block!r}: the module {name!r} has no {attribute!r}:"
            f" {nearest(attribute, public)}"
        )
    found = getattr(home, attribute)
    is_class = isinstance(found, type) and issubclass(found, kind)
    if is_class or is_function_of_user(found):
        return found
    raise ValueError(
        f"block {block!r}: {path!r} is {found!r}: name a class derived from"
        f" {kind.__module__}.{kind.__qualname__}, or a function of your own"
    )


def module(name: str) -> ModuleType | None:
    """A module; None if there is none. Errors while it is imported pass through."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as reason:
        if reason.name is not None and f"{name}.".startswith(f"{reason.name}."):
            return None
        raise
