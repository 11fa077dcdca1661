"""Worker processes: an interruption is survived, and closing always ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from worlds import Counter

from yieldrl.envs import processes
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.processes import ProcessVectorEnv

NOTHING = np.zeros(2, np.int64)


class Slow(Counter):
    """Its steps interrupt the program and take so many seconds, if the action is 1."""

    def __init__(self, unit: float = 1.0, length: int = 9) -> None:
        super().__init__(length)
        self.unit = unit

    def step(self, action: int) -> Any:
        if action:
            program: Any = multiprocessing.parent_process()
            time.sleep(0.1)  # or it may not wait yet, and closing takes longer
            os.kill(program.pid, signal.SIGINT)
            time.sleep(self.unit)
        return super().step(action)


class Odd(Counter):
    """One answer of it is not as it should be."""

    def __init__(self, what: str) -> None:
        super().__init__(9)
        self.what = what

    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        return obs if self.what == "pair" else (obs, info)

    def step(self, action: int) -> Any:
        obs, reward, *flags, info = super().step(action)
        if self.what == "shape":
            obs = obs[:1]
        return obs, reward, *flags, info


def interrupt(envs: AsyncVectorEnv) -> None:
    """Ctrl-C while they step: one has not answered."""
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.array([0, 1]))


def close_at_once(envs: Any) -> None:
    """Long before a step that takes an hour is done."""
    envs.close()
    for process in envs.processes:
        process.join()  # what was killed is gone when the system comes to it
    assert not any(process.is_alive() for process in envs.processes)


def test_after_ctrl_c_a_reset_begins_anew() -> None:
    envs = ProcessVectorEnv([lambda: Slow(1.0)] * 2)
    envs.reset(seed=0)
    interrupt(envs)
    with pytest.raises(RuntimeError, match=r"interrupted.*call reset\(\)"):
        envs.step(NOTHING)
    obs, _ = envs.reset()
    assert obs.tolist() == [[1, 0], [1, 0]]
    obs, reward, *_ = envs.step(NOTHING)
    assert obs.tolist() == [[1, 1], [1, 1]]
    assert reward.tolist() == [1, 1]
    close_at_once(envs)


def test_after_ctrl_c_closing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.1)
    envs = ProcessVectorEnv([lambda: Slow(3600.0)] * 2)
    envs.reset(seed=0)
    interrupt(envs)
    close_at_once(envs)


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_reaches_the_workers_too() -> None:
    """A terminal sends it to the whole group of processes."""
    program = """
import os, signal, threading
import numpy as np
from worlds import Counter
from yieldrl.envs import make
from yieldrl.foundations import Config
class Slow(Counter):
    def step(self, action):
        threading.Event().wait(2.0 * action)
        return super().step(action)

envs = make(Slow, Config(vectorization="async", num_envs=2))
envs.reset(seed=0)
threading.Timer(0.2, os.killpg, (0, signal.SIGINT)).start()
try:
    envs.step(np.array([0, 1]))
except KeyboardInterrupt:
    pass
print(envs.reset()[0].tolist())
envs.close()
"""
    folder = os.path.dirname(__file__)
    path = os.pathsep.join([folder, os.path.dirname(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[[1.0, 0.0], [1.0, 0.0]]"]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shape", r"environment 1.*observation of shape \(1,\), not \(2,\)"),
        ("pair", r"reset\(\) of environment 1, .* must return an observation and a di"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_odd_answers_are_refused_by_name(what: str, message: str) -> None:
    envs = ProcessVectorEnv([Counter, lambda: Odd(what)])

    def play() -> None:
        envs.reset(seed=0)
        envs.step(NOTHING)

    with pytest.raises((TypeError, ValueError), match=message):
        play()
    for again in (lambda: envs.step(NOTHING), envs.reset):
        with pytest.raises(RuntimeError, match=r"processes \[1\].*Make the enviro"):
            again()
    close_at_once(envs)


def test_what_is_recorded_is_known_of_worlds_in_processes() -> None:
    class Recorded(Counter):
        recorded_info = ("success",)

        def step(self, action: int) -> Any:
            obs, reward, *flags, _ = super().step(action)
            said = {"success": self.step_number == 3}
            return obs, np.array([reward]), *flags, said  # a reward of shape one

    envs = ProcessVectorEnv([lambda: Recorded(2), lambda: Recorded(3)])
    assert envs.recorded_info == ("success",)
    envs.reset(seed=0)
    steps = [envs.step([0, 0]) for _ in range(3)]
    said: Any = [final_info_entry(step[4], "success") for step in steps]
    assert [array.tolist() for array in said] == [[False] * 2] * 2 + [[False, True]]
    assert [step[1].tolist() for step in steps] == [[1, 1], [2, 2], [1, 3]]
    envs.close()


def test_a_killed_worker_is_named() -> None:
    envs: Any = ProcessVectorEnv([Counter] * 2)
    envs.reset(seed=0)
    os.kill(envs.processes[1].pid, signal.SIGKILL)
    envs.processes[1].join()
    with pytest.raises(RuntimeError, match=r"worker processes \[1\].* killed"):
        envs.step(NOTHING)
    close_at_once(envs)


def test_it_is_gymnasiums_otherwise() -> None:
    functions = [lambda: gym.make("CartPole-v1", max_episode_steps=5)] * 2
    gymnasiums = AsyncVectorEnv(functions, autoreset_mode=AutoresetMode.SAME_STEP)
    forked = ProcessVectorEnv(functions)
    assert isinstance(forked.single_observation_space, Box)
    np.testing.assert_array_equal(forked.reset(seed=1)[0], gymnasiums.reset(seed=1)[0])
    for _ in range(6):
        for a, b in zip(
            forked.step(NOTHING)[:4], gymnasiums.step(NOTHING)[:4], strict=True
        ):
            np.testing.assert_array_equal(a, b)
    assert forked.get_attr("spec")[0].id == "CartPole-v1"
    mask = np.array([True, False])
    kept = forked.observations[1].copy()
    assert forked.reset(options={"reset_mask": mask})[0][1].tolist() == kept.tolist()
    for envs in (forked, gymnasiums):
        envs.close()
