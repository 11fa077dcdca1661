"""Base class of loggers: generators around the trainer's generator."""

from __future__ import annotations

import atexit
import copy
import functools
import importlib.util
import inspect
import math
import os
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

Stream = Generator["LogData", None, None]
Target = TypeVar("Target")


class Logger(ABC):
    """A decorator of the trainer's generator. Write your own by writing `run`.

    A logger object holds only settings; the state of a loop lives in local variables of
    `run`, so one logger works for many trainers. State that must outlive a loop goes to
    `attach`, which puts it into checkpoints.

    Example:
        >>> class PrintReturns(Logger):
        ...     def run(self, trainer, logs):
        ...         for log in logs:
        ...             if "episode_return" in log["logs"]:
        ...                 print(log["sample_step"], log["logs"]["episode_return"])
        ...             yield log
        >>> class Trainer:
        ...     @PrintReturns()
        ...     def __call__(self):
        ...         yield {"sample_step": 8, "logs": {"episode_return": 20.0}}
        >>> for log in Trainer()():
        ...     pass
        8 20.0
    """

    adds_logs: ClassVar[bool] = False
    """Whether `run` yields logs of its own: then it is placed innermost around a
    trainer, so that all other loggers see these logs, in any order of decoration."""

    steers: ClassVar[bool] = False
    """Whether it controls the loop. If several processes train together, such a logger
    runs in all of them, and must make the same decisions in each; other loggers run
    only in the first process, which writes all files."""

    destination: Any = None
    """Where it writes, hashable: of equal ones around a trainer the later replaces."""

    @abstractmethod
    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield every log of `logs`; do the logger's work before each `yield`.

        Work at the end belongs into `finally`, which runs after the last step, a
        `break`, an error or Ctrl-C. `logs` itself is closed by the caller.
        """

    def attach(
        self, trainer: Any, name: str, part: Any, *, restore: bool = True
    ) -> None:
        """Save a part with the trainer; restore it from the last saved of its name.

        Parts have `state_dict` and `load_state_dict`. A trainer without a `run` (of
        `yieldrl.experiments.Run`) saves nothing.
        """
        if (run := getattr(trainer, "run", None)) is not None:
            run.attach(name, part, restore=restore)

    def wrap(self, trainer: Any, logs: Stream) -> Stream:
        """Call `run`, and always close the wrapped generator after it."""
        from yieldrl.core import ranks  # imports PyTorch, which is loaded by now

        at_work = self.steers or ranks().first
        try:
            yield from self.run(trainer, logs) if at_work else logs
        finally:
            logs.close()

    def __call__(self, target: Target) -> Target:
        """Decorate a trainer, or `__call__` in a class body; otherwise TypeError."""
        if inspect.isfunction(target):

            @functools.wraps(target)
            def decorated(trainer: Any, *args: Any, **kwargs: Any) -> Stream:
                logs = functools.partial(target, trainer, *args, **kwargs)
                return start_loop(trainer, lambda: self.wrap(trainer, logs()))

            return cast(Target, decorated)
        if isinstance(target, type | Generator) or not callable(target):
            raise TypeError(
                f"{type(self).__name__} decorates a trainer, or __call__ in the body of"
                f" its class; got {target!r}. Write loggers.{type(self).__name__}(...)"
                "(trainer), then loop over trainer()"
            )
        if isinstance(target, Decorated):
            return target._with(self)
        return cast(Target, Decorated(target, (self,)))


class Decorated:
    """Proxy of a trainer with loggers around its generator."""

    __slots__ = ("__loggers", "__trainer", "__weakref__")
    __loggers: tuple[Logger, ...]
    __trainer: Any

    def __init__(self, trainer: Any, loggers: tuple[Logger, ...]) -> None:
        object.__setattr__(self, "_Decorated__trainer", trainer)
        object.__setattr__(self, "_Decorated__loggers", loggers)

    def __call__(self, *args: Any, **kwargs: Any) -> Stream:
        """The trainer's generator, wrapped by each logger in order."""
        trainer = self.__trainer

        def start() -> Stream:
            logs = trainer(*args, **kwargs)
            for logger in sorted(self.__loggers, key=lambda one: not one.adds_logs):
                logs = logger.wrap(trainer, logs)
            return logs

        return start_loop(trainer, start)

    def _with(self, logger: Logger) -> Any:
        """This trainer with one more logger; replaces one of equal destination."""
        loggers = {(type(one), one.destination): one for one in self.__loggers}
        loggers[type(logger), logger.destination] = logger
        return Decorated(self.__trainer, tuple(loggers.values()))

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.__trainer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__trainer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__trainer, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__trainer, name)

    def __dir__(self) -> list[str]:
        return dir(self.__trainer)

    def __enter__(self) -> Any:
        self.__trainer.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        close_loop(self.__trainer)
        return self.__trainer.__exit__(*error)

    def __repr__(self) -> str:
        return " over ".join(repr(x) for x in (*self.__loggers[::-1], self.__trainer))

    def __reduce__(self) -> Any:
        return Decorated, (self.__trainer, self.__loggers)

    # Defined here, because the trainer's own would copy it without the loggers.
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return Decorated(*copy.deepcopy((self.__trainer, self.__loggers), memo))


_loops: weakref.WeakKeyDictionary[Any, weakref.ref[Stream]] = (
    weakref.WeakKeyDictionary()
)
"""Trainer -> the outermost generator of its loop, until it is collected."""


def start_loop(trainer: Any, start: Callable[[], Stream]) -> Stream:
    """Start a loop; close the trainer's suspended loop and its files first."""
    if not close_loop(trainer):
        return start()  # inside the active loop, by `super().__call__()`
    logs = start()
    _loops[trainer] = weakref.ref(logs)
    return logs


def close_loop(trainer: Any) -> bool:
    """Close the trainer's suspended loop, if any; False if it is running."""
    if (reference := _loops.get(trainer)) is None or (logs := reference()) is None:
        return True
    if inspect.getgeneratorstate(logs) == inspect.GEN_RUNNING:
        return False
    logs.close()
    return True


def _close_all_loops() -> None:
    for trainer in list(_loops):
        close_loop(trainer)


def close_first_at_exit() -> None:
    """Close suspended loops at exit, before the libraries that they need shut down."""
    atexit.unregister(_close_all_loops)
    atexit.register(_close_all_loops)


close_first_at_exit()

_HINT = "a logger is called before it decorates: loggers.csv()(trainer)"


def check_number(
    name: str, value: Any, low: float = -math.inf, kind: type[Any] = Real
) -> None:
    """ValueError unless an argument is a finite number of `kind`, at least `low`."""
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not (is_number and low <= value < math.inf and value > -math.inf):
        sort = "whole" if kind is Integral else "finite"
        least = "" if low == -math.inf else f", at least {low}"
        raise ValueError(f"{name} = {value!r}: give a {sort} number{least} ({_HINT})")


check_whole = functools.partial(check_number, kind=Integral)


def check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """ValueError unless an argument is one of the `known` words."""
    if value not in known:
        raise ValueError(f"{name} = {value!r}: choose one of {list(known)} ({_HINT})")


def absolute(name: str, value: Any) -> Path | None:
    """An absolute path, so that a later `chdir` does not move it; None for None."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} = {value!r}: give a path or None ({_HINT})")
    return Path(value).absolute()


def require_package(module: str, extra: str) -> None:
    """Raise ImportError if an optional package is missing; does not import it."""
    spec = importlib.util.find_spec(module)
    # A folder of the same name (wandb makes one) is found too, without an origin.
    if spec is None or spec.origin is None:
        raise ImportError(
            f"{module} is not installed: pip install 'yieldrl[{extra}]'", name=module
        )


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; imports nothing to find out."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
