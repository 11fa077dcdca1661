"""LIBERO's suites of tasks: their sentences and horizons, and which is played next."""

import functools
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from yieldrl.envs.libero.benchmark import check_installed

HORIZONS = {
    "libero_spatial": 220,
    "libero_object": 280,
    "libero_goal": 300,
    "libero_10": 520,
    "libero_90": 400,
}
"""Steps of an episode, by suite, as OpenVLA-OFT evaluates (`run_libero_eval.py`; of the
longest demonstrations in each: 193, 254, 270, 505 and 373 steps)."""

PERTURBED = ("lan", "object", "swap", "task")
"""LIBERO-PRO's suites: other words, other looks, exchanged places, other tasks."""

SUITES = (
    *HORIZONS,
    *(f"{suite}_{kind}" for suite in [*HORIZONS][:4] for kind in PERTURBED),
)
"""Suites of LIBERO and of LIBERO-PRO whose tasks have all their files."""

LONGEST_SENTENCE = 96  # characters

WAYS = ("ordered", "drawn", "placed")


class Task(NamedTuple):
    """A task of a suite.

    Attributes:
        suite: The suite's name.
        number: Its place in the suite.
        name: The base name of its files.
        sentence: The instruction to the robot.
        file: The task in BDDL, the language of its definition.
        states_file: Its first states, in NPZ.
        num_objects: Number of things that can be moved.
    """

    suite: str
    number: int
    name: str
    sentence: str
    file: Path
    states_file: Path
    num_objects: int

    def states(self) -> np.ndarray:
        """Its fixed first states, float64 `[50, S]`: time, positions, velocities."""
        with np.load(self.states_file, allow_pickle=False) as arrays:
            return arrays["states"]


@functools.cache
def tasks_of(suite: str) -> tuple[Task, ...]:
    """The tasks of a suite, in its own order; nothing is simulated.

    Names and sentences of tasks are LIBERO's, `task.language`; where LIBERO-PRO has
    others, in its suites `_lan` and `_task`, they are read from the file.

    Raises:
        ValueError: If there is no such suite.
        ImportError: If the benchmark is not installed.
    """
    if suite not in SUITES:
        raise ValueError(f"suite = {suite!r}: there are {', '.join(SUITES)}")
    check_installed()
    libero: Any = importlib.import_module("libero.libero")
    benchmark: Any = importlib.import_module("libero.libero.benchmark")
    files = Path(libero.get_libero_path("bddl_files"), suite)
    states = Path(libero.get_libero_path("init_states"), suite)
    return tuple(
        _task(suite, number, files, states, task)
        for number, task in enumerate(benchmark.task_maps[suite].values())
    )


def find_tasks(suite: str, task: int | str | Iterable[int | str] | None) -> list[Task]:
    """Tasks by number or name, one or several; None for all of the suite.

    Raises:
        ValueError: If there is no such task.
    """
    tasks = tasks_of(suite)
    if task is None:
        return list(tasks)
    wanted = [task] if isinstance(task, int | str | np.integer) else list(task)
    by_name = {**dict(enumerate(tasks)), **{each.name: each for each in tasks}}
    if not wanted or not by_name.keys() >= set(wanted):
        raise ValueError(
            f"task = {task!r}: {suite} has the tasks 0 to {len(tasks) - 1}; name some"
            " of them, or None for all"
        )
    return [by_name[each] for each in wanted]


def one_by_one(suite: str) -> dict[str, dict[str, Any]]:
    """Name -> arguments of an environment with the fixed first states, by task."""
    ordered = {"suite": suite, "initial_state": "ordered"}
    return {one.name: {**ordered, "task": one.number} for one in tasks_of(suite)}


def horizon_of(suite: str) -> int:
    """Steps of an episode of a suite; LIBERO-PRO's are those of LIBERO's."""
    base = max((name for name in HORIZONS if suite.startswith(name)), key=len)
    return HORIZONS[base]


class Episodes:
    """Chooses tasks by seeds and options, and goes through their first states.

    Args:
        tasks: The tasks, at least one.
        initial_state: One of `WAYS`, or always the same number.

    Raises:
        ValueError: If it is none of them.

    Attributes:
        task: Of the current episode.
        number: Of its first state; None where everything is placed at random.
        state: The first state, float64 `[S]`; or None.
    """

    def __init__(self, tasks: Sequence[Task], initial_state: int | str) -> None:
        number = isinstance(initial_state, int) and initial_state >= 0
        if not number and initial_state not in WAYS:
            raise ValueError(
                f"initial_state = {initial_state!r}: one of {WAYS}, or a number from 0"
            )
        self.tasks, self.initial_state = list(tasks), initial_state
        self.task = self.tasks[0]
        self.number: int | None = None
        self.state: np.ndarray | None = None
        self._following = 0

    def begin(
        self, seed: int | None, options: Mapping[str, Any], rng: np.random.Generator
    ) -> None:
        """Take the next episode: `seed % len(tasks)` is its task and
        `seed // len(tasks)` its first state, unless the options say another.

        Raises:
            ValueError: If there is no such task, or first state.
        """
        count = len(self.tasks)
        if seed is not None:
            self.task, self._following = self.tasks[seed % count], seed // count
        if "task" in options:
            at = options["task"]
            if not 0 <= at < count:
                raise ValueError(f"options: task = {at}: there are 0 to {count - 1}")
            self.task = self.tasks[at]
        way = options.get("initial_state", self.initial_state)
        if way == "placed":
            self.number = self.state = None
            return
        states = self.task.states()
        if way == "drawn":
            way = rng.integers(len(states))
        number = self._following % len(states) if way == "ordered" else int(way)
        if not 0 <= number < len(states):
            raise ValueError(
                f"initial_state = {number}: {self.task.name} has 0 to {len(states) - 1}"
            )
        self.number, self.state = number, states[number]
        self._following = number + 1


def _task(suite: str, number: int, files: Path, states: Path, task: Any) -> Task:
    file = files / task.bddl_file
    text = file.read_text(encoding="utf-8")
    told = suite.endswith(("_lan", "_task"))
    sentence = _part(text, "language") if told else task.language
    sentence = sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    lines = [line.split(" - ")[0] for line in _part(text, "objects").splitlines()]
    return Task(
        suite=suite,
        number=number,
        name=task.name,
        sentence=sentence,
        file=file,
        states_file=states / f"{task.init_states_file}.npz",
        num_objects=sum(len(line.split()) for line in lines),
    )


def _part(text: str, name: str) -> str:
    """The entry of that name in the text of a BDDL file; empty without one."""
    match = re.search(rf"\(:{name}\s+(.*?)\)", text, re.DOTALL)
    return match.group(1).strip() if match else ""
