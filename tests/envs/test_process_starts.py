"""Worker processes begin afresh: what they know, draw and say, and that they end."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from worlds import Counter, Reusing

from yieldrl.envs import make, make_eval, processes
from yieldrl.envs.processes import ProcessVectorEnv
from yieldrl.foundations import Config

NOTHING = np.zeros(2, np.int64)


def in_worker() -> bool:
    return multiprocessing.parent_process() is not None


class Drawing(Counter):
    """Observes what it draws from the global generators of Python, NumPy and PyTorch.

    The first is what it drew when it was made.
    """

    def __init__(self) -> None:
        super().__init__(length=100)
        self.observation_space = Box(0, 1, (4,))
        self.first = random.random()

    def _obs(self) -> np.ndarray:
        drawn = random.random(), np.random.rand(), torch.rand(()).item()
        return np.array([self.first, *drawn], np.float32)


def drawn(envs: Any, seed: int, steps: int = 3) -> np.ndarray:
    """All that was drawn, `[steps + 1, N, 4]`."""
    every = [envs.reset(seed=seed)[0]]
    every += [envs.step(NOTHING)[0] for _ in range(steps)]
    return np.stack(every)


def drawing(maker: Any = make, seed: int = 1, **options: Any) -> Any:
    config = Config(num_envs=2, vectorization="async", seed=seed)
    return maker(Drawing, config, num_envs=2, **options)


def test_workers_draw_different_numbers_and_a_run_the_same_again() -> None:
    one, again, other, evaluation = (
        drawing(),
        drawing(),
        drawing(seed=2),
        drawing(make_eval),
    )
    numbers = drawn(one, seed=7)
    assert len(np.unique(numbers)) == 2 + 4 * 2 * 3  # none of them twice
    np.testing.assert_array_equal(drawn(again, seed=7), numbers)
    np.testing.assert_array_equal(drawn(one, seed=7), numbers)  # a reset seeds anew
    later = drawn(one, seed=70)
    assert not np.isin(later[..., 1:], numbers).any()
    firsts = [drawn(envs, seed=7)[0, :, 0] for envs in (one, other, evaluation)]
    assert len(np.unique(firsts)) == 6
    for envs in (one, again, other, evaluation):
        envs.close()


def test_workers_have_one_thread_and_what_the_program_set() -> None:
    class Telling(Counter):
        def told(self) -> Any:
            own = torch.get_num_threads(), torch.get_default_dtype()
            return *own, os.environ.get("TOLD")

    os.environ["TOLD"] = "yes"
    torch.set_default_dtype(torch.float64)
    try:
        envs = ProcessVectorEnv([Telling])
    finally:
        torch.set_default_dtype(torch.float32)
        del os.environ["TOLD"]
    assert envs.call("told") == ((1, torch.float64, "yes"),)
    envs.close()


SCRIPT = """
import multiprocessing, sys
print("runs")
if sys.argv[1] != "default":
    multiprocessing.set_start_method(sys.argv[1])
import gymnasium as gym, numpy as np, torch
from gymnasium.spaces import Box, Discrete
from yieldrl.algorithms import ppo

class Enough(ValueError): pass

class Mine(gym.Env):
    observation_space, action_space = Box(-9, 9, (300,)), Discrete(2)
    def __init__(self, size=3):
        self.size, self.net = size, torch.nn.Linear(300, 300)
    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.observe(), {}
    def observe(self):
        with torch.no_grad():
            return self.net(torch.rand(300, 300))[0].clip(-9, 9).numpy()
    def step(self, action):
        self.steps += 1
        if action == 9:
            raise Enough("it has enough")
        return self.observe(), 1.0, self.steps == 20, False, {}

count = 1 if sys.argv[1] == "spawn" else 2
gym.register("Mine-v0", entry_point="__main__:Mine", max_episode_steps=30)
config = ppo.Config(
    env_id="Mine-v0", env_kwargs={"size": 4}, vectorization="async", num_envs=count,
    threads=2, total_steps=8, num_steps=4, num_minibatches=1,
    eval_every=8, eval_episodes=1,
)
sources = [None, lambda **kwargs: gym.make("Mine-v0", **kwargs)]
for source in sources[:count]:
    with ppo.Trainer(config, envs=source) as trainer:
        logs = [log for log in trainer() if log["log_type"] == "evaluate"]
        trainer.envs.reset()
        print(logs[0]["logs"]["episode_return"], trainer.envs.get_attr("size"))
        try:
            trainer.envs.step(np.array([0, 9])[-count:])
        except ValueError as error:
            print(error)
print(multiprocessing.active_children())
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "spawn"])
def test_a_script_trains_in_processes_whatever_it_defines(
    tmp_path: Any, method: str
) -> None:
    """Without `if __name__`, after threads of PyTorch, with an id of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), method]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    count = 1 if method == "spawn" else 2  # of all: each process starts slowly there
    trained = [
        f"20.0 {(4,) * count}",
        f"Enough: it has enough (in environment {count - 1}, at step 1)",
    ]
    assert done.stdout.splitlines() == ["runs", *trained * count, "[]"]


def failing(how: str) -> Any:
    """Makes an environment here, and fails to do so in a process of its own."""

    def made() -> Any:
        if in_worker() and how == "error":
            raise KeyError("its file")
        if in_worker() and how == "crash":
            os._exit(3)
        if in_worker() and how == "wait":
            threading.Event().wait()
        return Counter()

    return made


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("error", r"environment 0 could not be made .*: KeyError: 'its file'\."),
        ("crash", r"processes \[0\] of .* have ended \(exit codes \[3\]\).*'sync'"),
        ("wait", r"environment 0 of .* not answered for 1 s: its constr.*'sync'"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_death_in_the_constructor_has_a_name(
    monkeypatch: pytest.MonkeyPatch, how: str, message: str
) -> None:
    if how == "wait":
        monkeypatch.setattr(processes, "PATIENCE", 1.0)
    before = multiprocessing.active_children()
    with pytest.raises((RuntimeError, TimeoutError), match=message):
        ProcessVectorEnv([failing(how)])
    assert multiprocessing.active_children() == before
    with pytest.raises(ValueError, match=r"context = 'fork': choose one of .*'spawn'"):
        ProcessVectorEnv([Counter], context="fork")


def test_several_threads_of_a_busy_program_may_start_processes() -> None:
    class Thinking(Counter):
        def step(self, action: int) -> Any:
            torch.nn.Linear(300, 300)(torch.rand(300, 300)).sum().backward()
            return super().step(action)

    main = sys.modules["__main__"]
    before = main.__spec__, getattr(main, "__file__", None)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        Thinking().step(0)
        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(lambda _: ProcessVectorEnv([Thinking] * 2), range(2)))
    finally:
        torch.set_num_threads(threads)
    assert (main.__spec__, getattr(main, "__file__", None)) == before
    for envs in made:
        envs.reset(seed=0)
        assert envs.step(NOTHING)[1].tolist() == [1, 1]
        envs.close()


def test_what_cannot_be_sent_is_refused() -> None:
    lock = threading.Lock()
    config = Config(num_envs=2, vectorization="async")
    with pytest.raises(TypeError, match=r"cannot pickle .*lock.*open .*inside of"):
        make(lambda: Counter(3 if lock else 4), config)


class Waiting(Counter):
    """Its second step never returns."""

    def step(self, action: int) -> Any:
        if self.step_number == 1:
            threading.Event().wait()
        return super().step(action)


def test_no_wait_for_an_answer_is_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.05)
    envs = ProcessVectorEnv([Waiting] * 2)
    envs.reset(seed=0)
    envs.step(NOTHING)
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    message = r"environment 0 of .* has not answered for 0 s: its constructor"
    with pytest.raises(TimeoutError, match=message):
        envs.step(NOTHING)
    envs.close()
    for process in envs.processes:
        process.join()  # what was killed is gone when the system comes to it
    assert not any(process.is_alive() for process in envs.processes)


@pytest.mark.filterwarnings("ignore")
def test_an_error_that_cannot_be_sent_is_not_waited_for() -> None:
    class Unsendable(Counter):
        def step(self, action: int) -> Any:
            raise ValueError(lambda: 0)

    envs = ProcessVectorEnv([Unsendable])
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="function"):
        envs.step(NOTHING[:1])
    envs.close()


@pytest.mark.filterwarnings("ignore")
def test_errors_are_of_a_class_that_the_trainer_has() -> None:
    class OwnError(ValueError):
        pass

    class Failing(Counter):
        def step(self, action: int) -> Any:
            errors = [KeyError("a"), gym.error.ResetNeeded("b"), OwnError("c")]
            raise [*errors, OSError(2, "d")][action]

    for action, (kind, text) in enumerate(
        (
            (KeyError, "a"),
            (RuntimeError, "ResetNeeded: b"),
            (ValueError, "OwnError: c"),
            (OSError, r"\[Errno 2\] d"),
        )
    ):
        envs = ProcessVectorEnv([Failing])
        envs.reset(seed=0)
        with pytest.raises(kind, match=rf"{text} \(in environment 0, at step 1\)"):
            envs.step(np.array([action]))
        envs.close()


def test_arrays_that_are_written_again_are_read_in_time() -> None:
    """The last observation of an episode, and its info, before the reset."""

    class Kept(Reusing):
        progress = np.zeros(1)

        def reset(self, **kwargs: Any) -> Any:
            self.progress[:] = -5
            return super().reset(**kwargs)

        def step(self, action: int) -> Any:
            *answer, _ = super().step(action)
            self.progress[:] = self.step_number
            return *answer, {"progress": self.progress}

    envs = ProcessVectorEnv([lambda: Kept(2)] * 2)
    envs.reset(seed=0)
    envs.step(NOTHING)
    obs, *_, info = envs.step(NOTHING)
    assert obs.tolist() == [[1, 0]] * 2
    assert [row.tolist() for row in info["final_obs"]] == [[0, 2]] * 2
    assert info["final_info"]["progress"].tolist() == [[2], [2]]
    envs.close()


class Saying(Counter):
    """Observes one value, whatever its space."""

    def __init__(self, space: Any, value: Any) -> None:
        super().__init__()
        self.observation_space, self.value = space, value

    def _obs(self) -> Any:
        return self.value


@pytest.mark.parametrize(
    ("space", "value", "message"),
    [
        (Box(0, 255, (2,), np.uint8), np.array([0, 300]), r"300, which uint8 cannot"),
        (Discrete(4), "left", r"'left', which is no real number"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_values_are_looked_at_before_they_are_shared(
    space: Any, value: Any, message: str
) -> None:
    envs = ProcessVectorEnv([lambda: Saying(space, value)])
    with pytest.raises(ValueError, match=rf"environment 0, .*, at step 0 .*{message}"):
        envs.reset(seed=0)
    envs.close()


@pytest.mark.slow
def test_workers_end_with_a_trainer_that_is_killed() -> None:
    program = """
import os, signal
from worlds import Counter
from test_process_starts import Waiting
from yieldrl.envs.processes import ProcessVectorEnv
envs = ProcessVectorEnv([Counter, Waiting])
envs.reset(seed=0)
envs.step([0, 0])
envs.step_async([0, 0])
print(*(process.pid for process in envs.processes), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    folder = os.path.dirname(__file__)
    path = os.pathsep.join([folder, os.path.dirname(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    workers = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert psutil.wait_procs(workers, timeout=100)[1] == []
