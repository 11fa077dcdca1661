"""However a loop ends: its reason surfaces at once, no thread is left, it goes on."""

import gc
import os
import signal
import subprocess
import sys
import threading
import traceback

import factories
import pytest
import torch
from factories import fails_once
from interruptions import (
    CASES,
    PlannedError,
    Recorded,
    Watched,
    count_threads,
    interrupt,
    waiting,
)
from pacing import Paced
from worlds import Counter

from yieldrl.algorithms import dqn, n_step_dqn, ppo, ppo_lstm
from yieldrl.collectors import background
from yieldrl.envs import SerialVectorEnv


def trainer_of(module, envs=None, **options):
    envs = envs or SerialVectorEnv([lambda: Counter(5)] * 2)
    own = {**CASES[module], "total_steps": 10**6, "collection": "async", **options}
    return factories.trainer_of(module, envs=envs, **own)


def take(trainer, count):
    logs = trainer()
    for _ in range(count):
        next(logs)
    return logs


@pytest.mark.parametrize(
    ("module", "kind"), [(dqn, PlannedError), (ppo, KeyboardInterrupt)]
)
def test_what_is_raised_in_an_environment_surfaces_and_nothing_is_lost(module, kind):
    watched = Watched(module, max_policy_lag=1)
    trainer, envs = watched.trainer, watched.envs
    take(trainer, 10).close()
    step = envs.envs[1].step

    def failing(action):
        envs.envs[1].step = step
        raise kind("the wheel came off")

    envs.envs[1].step = failing
    with pytest.raises(kind, match="the wheel came off") as failure:
        list(trainer())
    lines = [frame.name for frame in traceback.extract_tb(failure.tb)]
    assert "failing" in lines  # the background's own
    assert count_threads() == 0
    watched.check()
    waiting, before = watched.waiting, len(watched.seen)
    take(trainer, 60).close()  # once, and it goes on
    watched.check()
    assert len(watched.seen) > before + waiting


def test_after_an_error_the_episodes_before_it_count_as_truncated():
    trainer = trainer_of(dqn, Recorded(), max_policy_lag=0, learning_starts=100)
    trainer.collector.rows_ahead = lambda _: 1
    take(trainer, 3).close()
    trainer.envs.envs[0].unwrapped.fails_in = 1
    with pytest.raises(PlannedError, match="environment"):
        take(trainer, 1)
    take(trainer, 2).close()
    storage = trainer.buffer._storage
    assert storage["truncated"][:5, 0].tolist() == [False, False, True, False, False]
    assert storage["next_obs"][:5, 0, 0].int().tolist() == [1, 2, 3, 4, 5]


def test_it_surfaces_while_the_learner_learns():
    """Before the next gradient step, though a rollout is there to learn from."""
    trainer = trainer_of(ppo, Recorded(), max_policy_lag=1, num_epochs=4)
    paced, steps = Paced(trainer, 4), []
    learn, background = trainer.algorithm.learn, trainer.collector.segments

    def learned(data):
        steps.append(1)
        trainer.envs.envs[0].unwrapped.fails_in = 2
        paced.allowed = 100
        background._thread.join(60)
        return learn(data)

    trainer.algorithm.learn = learned
    with pytest.raises(PlannedError, match="environment"):
        list(trainer())
    assert len(steps) == 1
    trainer.algorithm.learn = learn
    assert len(background._writer.rows) == 1  # the step that did not fail
    assert len(trainer.buffer) == 4
    take(trainer, 30).close()


@pytest.mark.parametrize("where", ["policy", "learner", "logger", "buffer"])
def test_what_fails_elsewhere_surfaces_once_and_loses_nothing(where):
    watched = Watched(dqn, max_policy_lag=0)
    trainer, failed = watched.trainer, []
    owner, name = {
        "policy": (trainer.collector.segments.actor, "sample"),
        "learner": (trainer.algorithm, "learn"),
        "logger": (trainer, "_log"),
        "buffer": (trainer.buffer, "add"),
    }[where]
    fails_once(owner, name, 7, PlannedError(where))
    for _ in range(3):
        try:
            take(trainer, 20).close()
        except PlannedError:
            failed.append(len(watched.seen))
            assert count_threads() == 0
        watched.check()
    assert len(failed) == 1
    assert len(watched.seen) > failed[0] + 10


def reach_the_end(trainer):
    list(trainer())


def close_the_trainer(trainer):
    with trainer:
        logs = take(trainer, 5)
        assert count_threads() == 1
    assert count_threads() == 0
    logs.close()


def go_on_after_a_checkpoint_and_a_reset(trainer):
    logs = take(trainer, 5)
    for stop in (trainer.state_dict, lambda: trainer.collector.reset(3)):
        stop()
        assert count_threads() == 0
        for _ in range(8):
            next(logs)
        assert count_threads() == 1
    logs.close()


def fail_in_the_body(trainer):
    def loop():
        for _ in trainer():
            raise PlannedError

    with pytest.raises(PlannedError):
        loop()
    gc.collect()


ENDS = [fail_in_the_body, reach_the_end, close_the_trainer]


@pytest.mark.parametrize("end", [*ENDS, go_on_after_a_checkpoint_and_a_reset])
def test_no_thread_is_left(end):
    trainer = trainer_of(ppo, total_steps=32 if end is reach_the_end else 10**6)
    end(trainer)
    assert count_threads() == 0


@pytest.mark.parametrize("by_hand", [True, False])
def test_no_thread_is_left_of_a_trainer_that_is_forgotten(by_hand):
    trainer, logs = trainer_of(ppo), None
    if by_hand:
        trainer.collector.step()
    else:
        logs = take(trainer, 5)
    assert count_threads() == 1
    del trainer, logs
    gc.collect()
    assert count_threads() == 0


PROGRAM = """
from yieldrl.algorithms import ppo

trainer = ppo.Trainer(ppo.Config(collection="async", eval_every=0, device="cpu"))
logs = trainer()
for _ in range(20):
    next(logs)
print("collected", flush=True)
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("end", "code"), [("", 0), ("1 / 0", 1)])
def test_a_program_ends_though_it_collects(end, code):
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(end=end)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert done.stdout == "collected\n"
    assert ("ZeroDivisionError" in done.stderr) == (code == 1)
    assert code == 1 or done.stderr == ""


# A signal that comes while the garbage collector calls back is dropped by Python.
DROPPED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
CALM = [(ppo, "wait", 8), (ppo_lstm, "drop", 3), (dqn, "drop", 3)]
CALM += [(n_step_dqn, "wait", 4)]
WILD = [(ppo, "drop", 100), (dqn, "wait", 100), (n_step_dqn, "wait", 100)]


@DROPPED
@pytest.mark.parametrize(
    ("module", "stale", "rounds"),
    [*CALM, *(pytest.param(*one, marks=pytest.mark.slow) for one in WILD)],
)
def test_random_interruptions_lose_repeat_and_tear_nothing(module, stale, rounds):
    done = interrupt(rounds, module, seed=1, max_policy_lag=1, when_stale=stale)
    assert sum(done.happened.values()) == rounds


def test_ctrl_c_surfaces_from_a_wait_for_a_slow_environment():
    """At once: it does not wait for the step, only the end of the loop does."""
    may_go_on, envs, done = threading.Event(), Recorded(), []
    trainer = trainer_of(ppo, envs)
    take(trainer, 3).close()
    whole, stop = envs.step, trainer.collector.stop

    def slow(actions):
        if not may_go_on.is_set():
            os.kill(os.getpid(), signal.SIGINT)
        may_go_on.wait(60)
        return whole(actions)

    def stopped():
        done.append(may_go_on.is_set())
        may_go_on.set()
        stop()

    envs.step, trainer.collector.stop = slow, stopped
    with pytest.raises(KeyboardInterrupt):
        list(trainer())
    assert done == [False]  # it surfaced while the step was under way
    assert count_threads() == 0
    take(trainer, 30).close()


@DROPPED
@pytest.mark.parametrize("part", ["environment", "policy"])
def test_one_ctrl_c_comes_back_from_a_step_that_never_returns(part, monkeypatch):
    monkeypatch.setattr(background, "PATIENCE", 0.1)
    may_return, envs = threading.Event(), Recorded()
    trainer = trainer_of(ppo, envs)
    take(trainer, 3).close()
    acting = trainer.collector.segments.actor
    owner, name = {"environment": (envs, "step"), "policy": (acting, "sample")}[part]
    whole = getattr(owner, name)

    def stuck(argument):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        may_return.wait()
        return whole(argument)

    setattr(owner, name, stuck)
    with (
        pytest.warns(RuntimeWarning, match="left behind"),
        pytest.raises(KeyboardInterrupt),
    ):
        list(trainer())
    for go_on in (trainer.state_dict, lambda: take(trainer, 30)):
        with pytest.raises(RuntimeError, match="has not returned"):
            go_on()
    thread = trainer.collector.segments._thread
    setattr(owner, name, whole)
    may_return.set()
    thread.join(60)
    take(trainer, 30).close()  # and nothing was lost
    assert count_threads() == 0
    taken = trainer.agent.sample_step // 2
    assert len(envs.taken) == taken + waiting(trainer.collector) > 10


def test_an_interrupted_learner_keeps_its_gradients_and_acts_in_eval_mode():
    """Ctrl-C on the way into `no_grad` would leave gradients off for good."""
    trainer = trainer_of(n_step_dqn)
    learn = trainer.algorithm.learn

    def interrupted(_):
        torch.set_grad_enabled(False)  # as `no_grad` does on its way in
        trainer.model.train()
        trainer.algorithm.learn = learn
        raise KeyboardInterrupt

    trainer.algorithm.learn = interrupted
    with pytest.raises(KeyboardInterrupt):
        list(trainer())
    assert torch.is_grad_enabled()
    assert not trainer.model.training
    take(trainer, 30).close()
    assert trainer.agent.learn_step > 5
