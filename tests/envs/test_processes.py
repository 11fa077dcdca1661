"""Worker processes: what they know, draw and say, and that they end."""

import multiprocessing
import os
import pickle
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import numpy as np
import psutil
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from worlds import Counter, Odd, Reusing

from yieldrl.core import Config
from yieldrl.envs import make, make_eval, processes
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.processes import (
    ProcessVectorEnv,
    WorkerEnv,
    _Errors,
    _Maker,
    _packed,
    _start_method,
)

NOTHING = np.zeros(2, np.int64)


def python(*arguments, **kwargs):
    """What a program says that may import these tests and their worlds."""
    folder = os.path.dirname(__file__)
    path = os.pathsep.join([folder, os.path.dirname(folder), *sys.path])
    env = {**os.environ, "PYTHONPATH": path}
    command, options = [sys.executable, *arguments], {"capture_output": True}
    options |= {"text": True, "timeout": 200, "check": False, **kwargs}
    return subprocess.run(command, env=env, **options)


class Drawing(Counter):
    """Observes what it draws from the global generators of Python, NumPy and PyTorch.

    The first is what it drew when it was made.
    """

    def __init__(self):
        super().__init__(length=100)
        self.observation_space = Box(0, 1, (4,))
        self.first = random.random()

    def _obs(self):
        drawn = random.random(), np.random.rand(), torch.rand(()).item()
        return np.array([self.first, *drawn], np.float32)


def drawn(envs, seed, steps=3):
    """All that was drawn, `[steps + 1, N, 4]`."""
    every = [envs.reset(seed=seed)[0]]
    every += [envs.step(NOTHING)[0] for _ in range(steps)]
    return np.stack(every)


def drawing(maker=make, seed=1, **options):
    config = Config(num_envs=2, vectorization="async", seed=seed)
    return maker(Drawing, config, num_envs=2, **options)


def test_workers_draw_different_numbers_and_a_run_the_same_again():
    one, again, other = drawing(), drawing(), drawing(seed=2)
    evaluation = drawing(make_eval)
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


def test_workers_have_one_thread_and_what_the_program_set(monkeypatch):
    class Telling(Counter):
        def told(self):
            own = torch.get_num_threads(), torch.get_default_dtype()
            return *own, os.environ.get("TOLD")

    monkeypatch.setenv("TOLD", "yes")
    torch.set_default_dtype(torch.float64)
    try:
        envs = ProcessVectorEnv([Telling])
    finally:
        torch.set_default_dtype(torch.float32)
    assert envs.call("told") == ((1, torch.float64, "yes"),)
    envs.close()


SCRIPT = """
import multiprocessing, sys
print("runs")
if sys.argv[1] != "default":
    multiprocessing.set_start_method(sys.argv[1])
import gymnasium as gym, torch
from gymnasium.spaces import Box, Discrete
from yieldrl.algorithms import ppo

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
        return self.observe(), 1.0, self.steps == 20, False, {}

gym.register("Mine-v0", entry_point="__main__:Mine", max_episode_steps=30)
config = ppo.Config(
    env_id="Mine-v0", env_kwargs={"size": 4}, vectorization="async", num_envs=2,
    threads=2, total_steps=8, num_steps=4, num_minibatches=1,
    eval_every=8, eval_episodes=1,
)
with ppo.Trainer(config) as trainer:
    logs = [log for log in trainer() if log["log_type"] == "evaluate"]
    print(logs[0]["logs"]["episode_return"], trainer.envs.get_attr("size"))
print(multiprocessing.active_children())
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "spawn"])
def test_a_script_trains_in_processes_whatever_it_defines(tmp_path, method):
    """Without `if __name__`, after threads of PyTorch, with an id of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = python(str(script), method, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["runs", "20.0 (4, 4)", "[]"]


def failing(how):
    """Makes an environment here, and fails to do so in a process of its own."""

    def made():
        in_worker = multiprocessing.parent_process() is not None
        if in_worker and how == "error":
            raise KeyError("its file")
        if in_worker and how == "crash":
            os._exit(3)
        if in_worker and how == "wait":
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
def test_a_death_in_the_constructor_has_a_name(monkeypatch, how, message):
    if how == "wait":
        monkeypatch.setattr(processes, "PATIENCE", 1.0)
    before = multiprocessing.active_children()
    with pytest.raises((RuntimeError, TimeoutError), match=message):
        ProcessVectorEnv([failing(how)])
    assert multiprocessing.active_children() == before


def test_several_threads_of_a_busy_program_may_start_processes():
    class Thinking(Counter):
        def step(self, action):
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


def test_what_cannot_be_sent_is_refused():
    lock = threading.Lock()
    config = Config(num_envs=2, vectorization="async")
    with pytest.raises(TypeError, match=r"cannot pickle .*lock.*open .*inside of"):
        make(lambda: Counter(3 if lock else 4), config)


class Waiting(Counter):
    """Its second step never returns."""

    def step(self, action):
        if self.step_number == 1:
            threading.Event().wait()
        return super().step(action)


def test_no_wait_for_an_answer_is_endless(monkeypatch):
    monkeypatch.setattr(processes, "GRACE", 0.05)
    envs = ProcessVectorEnv([Waiting] * 2)
    envs.reset(seed=0)
    envs.step(NOTHING)
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    message = r"environment 0 of .* has not answered for 0 s: its constructor"
    with pytest.raises(TimeoutError, match=message):
        envs.step(NOTHING)
    close_at_once(envs)


class OwnError(ValueError):
    pass


class Failing(Counter):
    def step(self, action):
        raise OwnError(lambda: 0)  # which cannot be sent


@pytest.mark.filterwarnings("ignore")
def test_errors_are_of_a_class_that_the_trainer_has_and_name_their_environment():
    envs = ProcessVectorEnv([Failing])
    envs.reset(seed=0)
    said = r"OwnError: .*function.* \(in environment 0, at step 1\)"
    with pytest.raises(ValueError, match=said):
        envs.step(np.array([0]))
    envs.close()
    reports, env = queue.Queue(), WorkerEnv(Counter(), 3)
    place, own = "(in environment 3, at step 0)", OwnError("environment 3 is odd")
    for error, kind, text in (
        (KeyError("a"), KeyError, f"a {place}"),
        (own, ValueError, "OwnError: environment 3 is odd"),  # named once
        (gym.error.ResetNeeded("b"), RuntimeError, f"ResetNeeded: b {place}"),
        (OSError("d"), OSError, f"d {place}"),
    ):
        _Errors(reports, env).put((3, type(error), error, "trace"))
        assert reports.get() == (3, kind, text, "trace")


def test_arrays_that_are_written_again_are_read_in_time():
    """The last observation of an episode, and its info, before the reset."""

    class Kept(Reusing):
        progress = np.zeros(1)

        def reset(self, **kwargs):
            self.progress[:] = -5
            return super().reset(**kwargs)

        def step(self, action):
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


def test_a_worker_seeds_copies_and_names_as_it_should_wherever_it_is():
    """Its environment, in this process."""
    drawn = []
    env = WorkerEnv(Drawing(), 1)
    for seed in (7, 7, 8, None):
        obs, _ = env.reset(seed=seed)
        drawn.append(obs[1:].tolist())
    assert drawn[0] == drawn[1]
    assert drawn[2] != drawn[0]
    assert drawn[3] not in drawn[:3], "without a seed the generators go on"
    reusing = WorkerEnv(Reusing(2), 0)
    reusing.reset()
    first, *_ = reusing.step(0)
    last, _, ended, *_ = reusing.step(0)
    assert ended
    assert first.tolist() == last.tolist() == [0, 2], "one array, written again"
    reusing.reset()
    assert last.tolist() == [0, 2]


def test_a_maker_brings_what_the_program_registered(monkeypatch):
    """Also classes of the program itself, which no worker runs."""
    threads, main = torch.get_num_threads(), sys.modules["__main__"]
    monkeypatch.setattr(main, "Mine", Counter, raising=False)
    gym.register("OfTheProgram-v0", entry_point="__main__:Mine")
    make_one = lambda: gym.make("OfTheProgram-v0", disable_env_checker=True)  # noqa: E731
    here = _Maker(make_one, _packed(make_one), 2, seed=5)
    assert not isinstance(here(), WorkerEnv), "here it is what it is"
    sent = pickle.dumps(here)
    del gym.registry["OfTheProgram-v0"]
    monkeypatch.delattr(main, "Mine")
    try:
        env = pickle.loads(sent)()
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
        gym.registry.pop("OfTheProgram-v0", None)
    assert isinstance(env, WorkerEnv)
    assert env.index == 2
    assert type(env.unwrapped).__name__ == "Counter"


@pytest.mark.parametrize(
    ("platform", "chosen", "started"),
    [
        ("linux", None, "forkserver"),
        ("linux", "spawn", "spawn"),
        ("linux", "fork", "forkserver"),
        ("darwin", "fork", "spawn"),
    ],
)
def test_workers_are_never_forked(monkeypatch, platform, chosen, started):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: chosen)
    assert _start_method() == started


BYTES = Box(0, 255, (2,), np.uint8)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"obs": np.zeros(1)}, r"ment 1.*observation of shape \(1,\), not \(3,\)"),
        ({"reset": None}, r"reset\(\) of environment 1, .* must return an observation"),
        ({"space": BYTES, "obs": np.array([0, 300])}, r"1, .* 1.*300, which uint8 ca"),
        ({"space": Discrete(4), "obs": "left"}, r"1, .* 1.*'left', which is no real"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_odd_answers_are_refused_by_name(said, message):
    space = {"space": said["space"]} if "space" in said else {}
    envs = ProcessVectorEnv([lambda: Odd(**space), lambda: Odd(**said)])

    def play():
        envs.reset(seed=0)
        envs.step(NOTHING)

    with pytest.raises((TypeError, ValueError), match=message):
        play()
    for again in (lambda: envs.step(NOTHING), envs.reset):
        with pytest.raises(RuntimeError, match=r"processes \[1\].*Make the enviro"):
            again()
    close_at_once(envs)


class Slow(Counter):
    """Its steps interrupt the program and take a second, if the action is 1."""

    def step(self, action):
        if action:
            program = multiprocessing.parent_process()
            time.sleep(0.1)  # or it may not wait yet, and closing takes longer
            os.kill(program.pid, signal.SIGINT)
            time.sleep(1.0)
        return super().step(action)


def close_at_once(envs):
    """Long before a step that never ends is done."""
    envs.close()
    for process in envs.processes:
        process.join()  # what was killed is gone when the system comes to it
    assert not any(process.is_alive() for process in envs.processes)


def test_after_ctrl_c_a_reset_begins_anew():
    envs = ProcessVectorEnv([lambda: Slow(9)] * 2)
    envs.reset(seed=0)
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.array([0, 1]))  # one has not answered
    with pytest.raises(RuntimeError, match=r"interrupted.*call reset\(\)"):
        envs.step(NOTHING)
    obs, _ = envs.reset()
    assert obs.tolist() == [[1, 0], [1, 0]]
    obs, reward, *_ = envs.step(NOTHING)
    assert obs.tolist() == [[1, 1], [1, 1]]
    assert reward.tolist() == [1, 1]
    close_at_once(envs)


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_reaches_the_workers_too():
    """A terminal sends it to the whole group of processes."""
    program = """
import os, signal, threading
import numpy as np
from worlds import Counter
from yieldrl.envs import make
from yieldrl.core import Config
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
    done = python("-c", program, start_new_session=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[[1.0, 0.0], [1.0, 0.0]]"]


def test_what_is_recorded_is_known_of_worlds_in_processes():
    class Recorded(Counter):
        recorded_info = ("success",)

        def step(self, action):
            obs, reward, *flags, _ = super().step(action)
            said = {"success": self.step_number == 3}
            return obs, np.array([reward]), *flags, said  # a reward of shape one

    envs = ProcessVectorEnv([lambda: Recorded(2), lambda: Recorded(3)])
    assert envs.recorded_info == ("success",)
    envs.reset(seed=0)
    steps = [envs.step([0, 0]) for _ in range(3)]
    said = [final_info_entry(step[4], "success") for step in steps]
    assert [array.tolist() for array in said] == [[False] * 2] * 2 + [[False, True]]
    assert [step[1].tolist() for step in steps] == [[1, 1], [2, 2], [1, 3]]
    envs.close()


def test_a_killed_worker_is_named():
    envs = ProcessVectorEnv([Counter] * 2)
    envs.reset(seed=0)
    os.kill(envs.processes[1].pid, signal.SIGKILL)
    envs.processes[1].join()
    with pytest.raises(RuntimeError, match=r"worker processes \[1\].* killed"):
        envs.step(NOTHING)
    close_at_once(envs)


def test_it_is_gymnasiums_otherwise():
    functions = [lambda: gym.make("CartPole-v1", max_episode_steps=5)] * 2
    gymnasiums = AsyncVectorEnv(functions, autoreset_mode=AutoresetMode.SAME_STEP)
    forked = ProcessVectorEnv(functions)
    assert isinstance(forked.single_observation_space, Box)
    np.testing.assert_array_equal(forked.reset(seed=1)[0], gymnasiums.reset(seed=1)[0])
    for _ in range(6):
        answers = [envs.step(NOTHING)[:4] for envs in (forked, gymnasiums)]
        for a, b in zip(*answers, strict=True):
            np.testing.assert_array_equal(a, b)
    assert forked.get_attr("spec")[0].id == "CartPole-v1"
    mask = np.array([True, False])
    kept = forked.observations[1].copy()
    assert forked.reset(options={"reset_mask": mask})[0][1].tolist() == kept.tolist()
    for envs in (forked, gymnasiums):
        envs.close()


@pytest.mark.slow
def test_workers_end_with_a_trainer_that_is_killed():
    program = """
import os, signal
from worlds import Counter
from test_processes import Waiting
from yieldrl.envs.processes import ProcessVectorEnv, WorkerEnv
envs = ProcessVectorEnv([Counter, Waiting])
envs.reset(seed=0)
envs.step([0, 0])
envs.step_async([0, 0])
print(*(process.pid for process in envs.processes), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = python("-c", program)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    workers = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert psutil.wait_procs(workers, timeout=100)[1] == []
