"""LIBERO's tasks as a Gymnasium environment."""

import dataclasses
import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.batched.inputs import check_choice, check_range
from yieldrl.envs.libero import benchmark, suites
from yieldrl.envs.libero.simulator import Observations, Simulator
from yieldrl.envs.make import vectorize
from yieldrl.envs.wrappers import ActionChunks

LARGE = 512  # side in pixels of images for people
LETTERS = "".join(map(chr, range(32, 127)))

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Names of cameras, here and in the benchmark; others keep the benchmark's."""


class LiberoEnvWrapper(gym.Env[Any, Any]):
    """Moves things on a table with a robot's arm, by instruction (extra `[libero]`).

    Liu et al. 2023, "LIBERO", arXiv:2306.03310, and its perturbed suites, Zhou et al.
    2025, "LIBERO-PRO", arXiv:2510.03827, as OpenVLA-OFT (arXiv:2502.19645) evaluates in
    them: 10 steps of waiting after each reset, which do not count, episodes cut after
    the suite's number of steps (`HORIZONS`), the benchmark's own reward, 1 when the
    task is done and 0 before, and the end of the episode with it.

    An action is float32 `[7]` in [-1, 1], at 20 Hz: how the hand moves (up to 5 cm) and
    turns (axis-angle, up to 0.5 rad), and the gripper, which a positive number closes
    and a negative one opens. Observations are a Dict of

    - `rgb`, of each camera uint8 `[size, size, 3]`;
    - `proprio`, float32 `[8]`: position of the hand (m), its rotation as axis-angle,
      positions of the two fingers (m);
    - `language`, the sentence.

    With `cameras=()` nothing is rendered, and there are `proprio` and `objects`,
    float32 `[K, 7]`: position and quaternion (x, y, z, w) of everything that can be
    moved, and zeros up to the K things of the task that has most.

    `info` has `success` at each step, and at a reset `task` and `initial_state`.

    A seed determines the episode of a reset. Of several tasks it takes number
    `seed % len(task)`, so that each environment of a batch plays its own, and of the 50
    first states number `seed // len(task)`; without a seed the task stays and the next
    first state follows. A task's simulation is built at the reset that first needs it,
    which takes seconds, and gigabytes with cameras, and kept until another one is
    needed. `options` are `task`, its place among those given, and `initial_state`.

    Args:
        suite: One of `SUITES`.
        task: A number or name of the suite's tasks, or several of them; None for all.
        cameras: `"agentview"` and `"wrist"`, or the benchmark's names of others.
        size: Side of the images in pixels; OpenVLA-OFT takes 256.
        seed: Of the first reset, if that has none: by default 0, as published.
        initial_state: `"ordered"` takes the fixed first states one after the other,
            `"drawn"` at random, a number always that one; `"placed"` takes none, and
            places things at random within the task's bounds.
        mirrored: Whether images are turned by 180 degrees, which exchanges left and
            right, as OpenVLA, openpi and LeRobot do for training; if not, they are as
            people see the table. Both are upright.
        shadows: Whether images have shadows and smooth edges, as the benchmark's.
            Without them rendering is several times faster, and images differ: for
            policies that were trained on such images.
        waiting_steps: Steps of waiting after a reset.
        horizon: Steps of an episode, instead of the suite's.
        render_mode: None, or "rgb_array" for large images from `render`.

    Raises:
        ValueError: If an argument is not as above.
        ImportError: If the benchmark is missing, or one of its versions wrong; at the
            first reset, if nothing renders.

    Attributes:
        episodes: Task and first state of the current episode.
        simulator: That of the current task; None before the first reset.

    Example:
        ```python
        env = gymnasium.make("yieldrl/LIBERO-v1", suite="libero_object", task=3)
        obs, info = env.reset(seed=0)
        ```
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    metadata["most_eval_envs"] = 1  # each takes gigabytes
    tasks_of_suite = staticmethod(suites.one_by_one)

    def __init__(
        self,
        *,
        suite: str = "libero_spatial",
        task: int | str | Sequence[int | str] | None = 0,
        cameras: Sequence[str] = ("agentview", "wrist"),
        size: int = 256,
        seed: int = 0,
        initial_state: int | str = "ordered",
        mirrored: bool = True,
        shadows: bool = True,
        waiting_steps: int = 10,
        horizon: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_choice("render_mode", render_mode, (None, "rgb_array"))
        check_range("size", size, 16)
        check_range("waiting_steps", waiting_steps, 0)
        check_range("horizon", horizon, 1)
        self.episodes = suites.Episodes(suites.find_tasks(suite, task), initial_state)
        self.cameras = (cameras,) if isinstance(cameras, str) else tuple(cameras)
        self.size, self.waiting_steps = size, waiting_steps
        self.render_mode, self.mirrored, self.shadows = render_mode, mirrored, shadows
        self.horizon = suites.horizon_of(suite) if horizon is None else horizon
        self.simulator: Simulator | None = None
        self.steps = 0  # taken in this episode
        self._first_seed: int | None = seed
        self._spec: Any = None
        self.action_space = spaces.Box(-1, 1, (7,), np.float32)
        self._rows = max(one.num_objects for one in self.episodes.tasks)
        parts: dict[str, Any]
        parts = {"proprio": spaces.Box(-np.inf, np.inf, (8,), np.float32)}
        if self.cameras:
            image = spaces.Box(0, 255, (size, size, 3), np.uint8)
            parts["rgb"] = spaces.Dict(dict.fromkeys(self.cameras, image))
            parts["language"] = spaces.Text(suites.LONGEST_SENTENCE, charset=LETTERS)
        else:
            shape = self._rows, 7
            parts["objects"] = spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = spaces.Dict(parts)

    @property
    def spec(self) -> Any:
        """The registered spec, with the time limit of its suite."""
        return self._spec

    @spec.setter
    def spec(self, spec: Any) -> None:
        limit = {"max_episode_steps": self.horizon}
        self._spec = None if spec is None else dataclasses.replace(spec, **limit)

    @property
    def renderer(self) -> str:
        """The renderer: `"egl"`, `"osmesa"`, or `"disabled"`."""
        return benchmark.renderer()

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        seed, self._first_seed = self._first_seed if seed is None else seed, None
        super().reset(seed=seed)
        self.episodes.begin(seed, options or {}, self.np_random)
        simulator = self._simulator()
        if seed is not None:
            simulator.seed(seed)
        obs = simulator.reset(self.episodes.state, self.waiting_steps)
        self.steps = 0
        info: dict[str, Any] = {"task": self.episodes.task.number, "success": False}
        if self.episodes.number is not None:
            info["initial_state"] = self.episodes.number
        return self._seen(obs), info

    def step(self, action: Any) -> StepResult:
        if self.simulator is None:
            raise RuntimeError("step() before reset(): begin an episode first")
        given = np.asarray(action, np.float64)
        if given.shape != (7,) or not np.isfinite(given).all():
            raise ValueError(f"action {action!r}: give 7 finite numbers in [-1, 1]")
        obs, reward, done = self.simulator.step(given)
        self.steps += 1
        truncated = not done and self.steps >= self.horizon
        return self._seen(obs), reward, done, truncated, {"success": done}

    def render(self) -> np.ndarray | None:
        """The table as people see it: uint8 `[512, 512, 3]`."""
        if self.render_mode is None or self.simulator is None:
            return None
        return self.simulator.render(LARGE)

    def close(self) -> None:
        """Free the simulation; the next reset builds it anew."""
        if self.simulator is not None:
            self.simulator.close()
            self.simulator = None

    def _seen(self, obs: Observations) -> dict[str, Any]:
        """A policy's observation, from that of the benchmark."""
        seen: dict[str, Any] = {"proprio": proprioception(obs)}
        if not self.cameras:
            names = self._simulator().objects
            seen["objects"] = object_poses(obs, names, self._rows)
            return seen
        for_policy = partial(picture, obs, mirrored=self.mirrored)
        pictures = {name: for_policy(CAMERAS.get(name, name)) for name in self.cameras}
        return seen | {"rgb": pictures, "language": self.episodes.task.sentence}

    def _simulator(self) -> Simulator:
        """The simulator of this episode's task."""
        task = self.episodes.task
        if self.simulator is None or self.simulator.task is not task:
            self.close()
            names = [CAMERAS.get(camera, camera) for camera in self.cameras]
            steps = self.horizon + self.waiting_steps + 1
            given = task, names, self.size, steps, self.render_mode is not None
            self.simulator = Simulator(*given, self.shadows)
        return self.simulator


class LiberoEnvChunk(ActionChunks):
    """A batch of `LiberoEnvWrapper` that takes chunks of L actions, `[N, L, 7]`.

    It is `ActionChunks` around them. OpenVLA-OFT decides 8 actions and executes all of
    them; a trainer does the same with `chunk_length=8`.

    Args:
        num_envs: N. Each plays a task of its own if there are several.
        length: L.
        vectorization: `"sync"` simulates them one after the other, `"async"` in
            processes of their own, which start side by side.
        **kwargs: Those of `LiberoEnvWrapper`.

    Raises:
        ValueError: If an argument is out of its range.
        ImportError: If the benchmark is missing.
    """

    def __init__(
        self,
        num_envs: int = 1,
        length: int = 8,
        *,
        vectorization: str = "async",
        **kwargs: Any,
    ) -> None:
        make_one: partial[gym.Env] = partial(LiberoEnvWrapper, **kwargs)
        super().__init__(vectorize(make_one, num_envs, vectorization), length)


def picture(obs: Observations, camera: str, mirrored: bool) -> np.ndarray:
    """A camera's image, uint8 `[S, S, 3]`, upright.

    The benchmark's images are upside down, as in OpenGL. Mirrored ones are turned by
    180 degrees, others flipped.
    """
    image = obs[f"{camera}_image"][::-1]
    return np.ascontiguousarray(image[:, ::-1] if mirrored else image)


def proprioception(obs: Observations) -> np.ndarray:
    """Position of the hand, its rotation, and both fingers, float32 `[8]`.

    The rotation is its axis times its angle, as robosuite has it: up to 2 pi.
    """
    transforms: Any = importlib.import_module("robosuite.utils.transform_utils")
    rotation = transforms.quat2axisangle(np.array(obs["robot0_eef_quat"]))
    parts = obs["robot0_eef_pos"], rotation, obs["robot0_gripper_qpos"]
    return np.concatenate(parts).astype(np.float32)


def object_poses(obs: Observations, names: Sequence[str], rows: int) -> np.ndarray:
    """Positions and quaternions (x, y, z, w) of things, float32 `[rows, 7]`, with zeros
    after them."""
    poses = np.zeros((rows, 7), np.float32)
    for row, name in zip(poses, names, strict=False):
        row[:3], row[3:] = obs[f"{name}_pos"], obs[f"{name}_quat"]
    return poses
