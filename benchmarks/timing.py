"""Timing of sides that take turns in one process, as what else runs changes."""

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def in_turns(sides: Mapping[str, Callable[[], T]], count: int) -> dict[str, list[T]]:
    """What `count` calls of every side give, after one that warms up; even rounds are
    in the reverse order."""
    found: dict[str, list[T]] = {side: [] for side in sides}
    for turn in range(count + 1):
        for side in sides if turn % 2 else reversed([*sides]):
            answer = sides[side]()
            if turn > 0:
                found[side].append(answer)
    return found


def trainers_in_turns(
    trainers: Mapping[str, Any], one: Callable[[Any], T], count: int
) -> dict[str, list[T]]:
    """What `count` calls of `one` with every trainer give, as `in_turns`."""
    with ExitStack() as stack:
        for trainer in trainers.values():
            stack.enter_context(trainer)
        return in_turns(
            {side: partial(one, of) for side, of in trainers.items()}, count
        )


def learn_rollouts(trainer: Any, count: int) -> float:
    """Seconds in which PPO collects so many rollouts and learns from them."""
    agent, buffer = trainer.agent, trainer.buffer
    end = agent.sample_step + count * trainer.config.batch_size
    begin = time.perf_counter()
    with closing(trainer()) as loop:
        for _ in loop:
            if agent.sample_step >= end and len(buffer) == 0:
                break
    return time.perf_counter() - begin


def time_method(
    owner: Any, name: str, seconds: MutableMapping[str, float], part: str
) -> None:
    """Let an object add up the seconds that its method takes."""
    function: Callable[..., Any] = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[part] += time.perf_counter() - begin

    setattr(owner, name, timed)


def looks(
    trainer: Any, every: int, look: Callable[[Any], T], first: int | None = None
) -> Iterator[tuple[int, T]]:
    """Train to the end; the environment step and what `look` finds of the trainer,
    every so many steps."""
    due = every if first is None else first
    with trainer:
        for log in trainer():
            if log["sample_step"] >= due:
                due += every
                yield log["sample_step"], look(trainer)
