"""One task of LIBERO, built once and reset for each episode."""

import atexit
import contextlib
import importlib
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from yieldrl.envs.libero import benchmark
from yieldrl.envs.libero.suites import Task

WAITING = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""The action that waits, as OpenVLA-OFT has it: no motion, the gripper open."""

ATTEMPTS = 100  # to place objects so that they do not touch

Observations = dict[str, np.ndarray]


class Simulator:
    """The benchmark's own simulation of a task.

    LIBERO's evaluation builds the whole model anew for each episode, which takes
    seconds. This one keeps it, and puts back what the benchmark's reset forgets: the
    gripper's command. An episode equals, bit by bit, the first one of a new process
    that was given the same seed.

    A first state has the poses of things that move; furniture is placed by NumPy's
    global generator, of which this object keeps its own state.

    Args:
        task: The task.
        cameras: The benchmark's cameras that observations have.
        size: Side of their images in pixels.
        steps: The most steps of an episode.
        rendering: Whether `render` is called.
        shadows: Whether images have shadows and smooth edges, as the benchmark's.

    Raises:
        ImportError: If the benchmark, or a renderer, is missing.
    """

    def __init__(
        self,
        task: Task,
        cameras: Sequence[str],
        size: int,
        steps: int,
        rendering: bool = False,
        shadows: bool = True,
    ) -> None:
        envs = benchmark.import_benchmark()
        errors = importlib.import_module("robosuite.utils.errors")
        self._no_room: type[Exception] = errors.RandomizationError
        offscreen = bool(cameras) or rendering
        if offscreen and benchmark.renderer() == benchmark.NO_RENDERER:
            raise ImportError(benchmark.missing_renderer())
        self.task, self.cameras = task, tuple(cameras)
        self._looking = False
        self._blank = np.zeros((size, size, 3), np.uint8)
        self._numbers = np.random.RandomState(0).get_state()
        with self._own_numbers():
            self.control: Any = envs.env_wrapper.ControlEnv(
                bddl_file_name=str(task.file),
                use_camera_obs=bool(cameras),
                has_offscreen_renderer=offscreen,
                camera_names=list(cameras) or "agentview",
                camera_heights=size,
                camera_widths=size,
                horizon=steps,
                hard_reset=False,
            )
        self.domain: Any = self.control.env
        # As in the reset of a newly built model, which lists and draws them twice.
        self.domain.object_property_initializers *= 2
        for camera in self.cameras:
            self._look_on_demand(f"{camera}_image")
        if offscreen and not shadows:
            benchmark.paint_roughly(self.domain.sim)
        benchmark.release_context()
        # Before EGL's exit function, which was registered earlier and after which
        # contexts cannot be freed.
        atexit.register(_close, weakref.ref(self))

    def seed(self, seed: int) -> None:
        """Seed the random placement of things."""
        self._numbers = np.random.RandomState(seed % 2**32).get_state()

    def reset(self, state: np.ndarray | None, waiting_steps: int) -> Observations:
        """Begin an episode in a first state, or where everything is placed at random;
        wait until dropped things lie still, and observe."""
        for robot in self.domain.robots:
            robot.gripper.current_action = np.zeros(robot.gripper.dof)
        with benchmark.painting(self.domain.sim):
            self._place()
            self._looking = waiting_steps == 0
            if state is None:
                obs = self.domain._get_observations(force_update=True)
            else:
                obs = self.control.set_init_state(state)
            for i in range(waiting_steps):
                self._looking = i == waiting_steps - 1
                obs, *_ = self.domain.step(WAITING)
        self._looking = True
        return obs

    def step(self, action: np.ndarray) -> tuple[Observations, float, bool]:
        """The benchmark's observation, its reward, and whether the task is done."""
        with benchmark.painting(self.domain.sim):
            obs, reward, done, _ = self.domain.step(action)
        return obs, float(reward), bool(done)

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of things that can be moved."""
        return tuple(thing.name for thing in self.domain.objects)

    def render(self, size: int) -> np.ndarray:
        """An upright image for people, uint8 `[size, size, 3]`."""
        sim, view = self.domain.sim, {"width": size, "height": size}
        with benchmark.painting(sim):
            return sim.render(**view, camera_name="agentview")[::-1].copy()

    def close(self) -> None:
        """Free its memory."""
        if self.domain is not None:
            with benchmark.painting(self.domain.sim):
                self.domain = None
                self.control.close()

    def _place(self) -> None:
        """Place everything at random, with at most `ATTEMPTS` attempts."""
        self._looking = False
        reset = self.domain.reset  # not the benchmark's outer one, which hides errors
        with self._own_numbers():
            for _ in range(ATTEMPTS - 1):
                with contextlib.suppress(self._no_room):
                    reset()
                    return
            reset()

    def _look_on_demand(self, name: str) -> None:
        """Render only images that are read: none while an episode begins."""
        see = self.domain._observables[name]._sensor

        def look(cache: Any) -> np.ndarray:
            return see(cache) if self._looking else self._blank

        vars(look)["__modality__"] = see.__modality__
        self.domain.modify_observable(name, "sensor", look)

    @contextlib.contextmanager
    def _own_numbers(self) -> Iterator[None]:
        theirs = np.random.get_state()
        np.random.set_state(self._numbers)
        try:
            yield
        finally:
            self._numbers = np.random.get_state()
            np.random.set_state(theirs)


def _close(reference: weakref.ref[Simulator]) -> None:
    simulator = reference()
    if simulator is not None:
        simulator.close()
