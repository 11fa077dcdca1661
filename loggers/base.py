"""Base class of loggers: generators around the trainer's generator."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import inspect
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from pydantic import ConfigDict

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

Stream = Generator["LogData", None, None]
Target = TypeVar("Target")


class Logger(ABC):
    """A decorator of the trainer's generator. Write your own by writing `run`.

    A logger object holds only settings; the state of a loop lives in local variables of
    `run`, so one logger works for many trainers. State that must outlive a loop goes to
    `trainer.run.attach`, which puts it into checkpoints.

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

    __pydantic_config__ = ConfigDict(extra="forbid")  # of loggers that are dataclasses

    steers: ClassVar[bool] = False
    """Whether it controls the loop. If several processes train together, such a logger
    runs in all of them, and must make the same decisions in each; other loggers run
    only in the first process, which writes all files."""

    destination: Any = None
    """What it is about: of one class and one of these the later replaces the other."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if args and hasattr(args[0], "agent"):
            raise TypeError(
                "a logger is called before it decorates: write"
                f" loggers.{cls.__name__}()(trainer)"
            )
        return super().__new__(cls)

    @abstractmethod
    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield every log of `logs`; do the logger's work before each `yield`.

        Work at the end belongs into `finally`, which runs after the last step, a
        `break`, an error or Ctrl-C. `logs` itself is closed by the caller.
        """

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
            def decorated(trainer: Any) -> Stream:
                return start_loop(trainer, lambda: self.wrap(trainer, target(trainer)))

            return cast(Target, decorated)
        if isinstance(target, type | Generator) or not callable(target):
            raise TypeError(
                f"{type(self).__name__} decorates a trainer, or __call__ in the body of"
                f" its class; got {target!r}. Loop over logger(trainer)()"
            )
        trainer: Any = target
        around: Any = ()
        if type(trainer) is Decorated:
            trainer, around = trainer.__reduce__()[1]
        mine = type(self), self.destination
        others = (one for one in around if (type(one), one.destination) != mine)
        return cast(Target, Decorated(trainer, (*others, self)))


class Decorated:
    """Proxy of a trainer with loggers around its generator, the outermost last."""

    __slots__ = ("__loggers", "__trainer")
    __loggers: tuple[Logger, ...]
    __trainer: Any

    def __init__(self, trainer: Any, loggers: tuple[Logger, ...]) -> None:
        object.__setattr__(self, "_Decorated__trainer", trainer)
        object.__setattr__(self, "_Decorated__loggers", loggers)

    def __call__(self) -> Stream:
        """The trainer's generator, wrapped by each logger in order."""
        trainer = self.__trainer

        def start() -> Stream:
            logs = trainer()
            for logger in self.__loggers:
                logs = logger.wrap(trainer, logs)
            return logs

        return start_loop(trainer, start)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self.__trainer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__trainer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__trainer, name, value)

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


_loops: weakref.WeakKeyDictionary[Any, weakref.ref[Stream]] = (
    weakref.WeakKeyDictionary()
)
"""Trainer -> the outermost generator of its loop, until it is collected."""


def start_loop(trainer: Any, start: Callable[[], Stream]) -> Stream:
    """Start a loop; close the trainer's suspended loop and its files first."""
    alone = close_loop(trainer)
    logs = start()
    if alone:  # not inside the active loop, by `super().__call__()`
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


@atexit.register
def close_all_loops() -> None:
    """Close suspended loops before the libraries that they need shut down."""
    for trainer in list(_loops):
        close_loop(trainer)


def default(trainer: Target) -> Target:
    """Add the command line's loggers: checkpoints, CSV, TensorBoard, progress bar."""
    from yieldrl import loggers

    usual = loggers.checkpoint(), loggers.csv(), loggers.tensorboard()
    for logger in (*usual, loggers.progress()):
        trainer = logger(trainer)
    return trainer


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
