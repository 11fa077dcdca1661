"""A thread that collects ends when it is told to, whatever comes between."""

import signal
import threading
import time
from queue import SimpleQueue

import pytest
from factories import trainer_of
from interruptions import Recorded, count_threads

from yieldrl.algorithms import ppo

SECONDS = 60  # after which a test that waits has failed


@pytest.fixture
def background():
    with trainer_of(ppo, envs=Recorded(), collection="async", num_steps=4) as trainer:
        made = trainer.collector.segments
        made.start(seed=0)
        yield made


def taken(background):
    part = background.first()
    background.remove_first()
    return part


class Slow:
    """A step of the environments that waits to be let go."""

    def __init__(self, envs):
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.step, envs.step = envs.step, self

    def __call__(self, action):
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        return self.step(action)


def test_a_step_under_way_is_finished_and_its_segment_goes_on(background):
    envs = background.collector.envs
    slow = Slow(envs)
    background.ask(4, 0)
    assert slow.begun.wait(SECONDS)
    thread, stopper = background._thread, threading.Thread(target=background.stop)
    stopper.start()
    while not thread.ending:
        time.sleep(1e-3)
    assert not envs.taken
    slow.may_end.set()
    stopper.join(SECONDS)
    assert (len(envs.taken), count_threads()) == (1, 0)
    background.go_on()
    rows = taken(background).rows
    assert rows["next_obs"][:, 0, 0].tolist() == [1, 2, 3, 4]


def test_it_works_in_its_stream_and_leaves_it(background, monkeypatch):
    entered, within = [], background._in_stream

    def watched():
        entered.append(threading.current_thread())
        return within()

    monkeypatch.setattr(background, "_in_stream", watched)
    background.ask(1, 0)
    taken(background)
    background.stop()
    assert len(entered) == 1
    assert entered[0] is not threading.current_thread()


class Pressing(SimpleQueue):
    """Ctrl-C comes while somebody waits."""

    def get(self, timeout=None):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("waits", ["first", "stop"])
def test_ctrl_c_while_somebody_waits_leaves_it_whole(waits, background, monkeypatch):
    slow = Slow(background.collector.envs)
    background.ask(1, 0)
    assert slow.begun.wait(SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(background, "_done", Pressing())
        with pytest.raises(KeyboardInterrupt):
            getattr(background, waits)()
    assert count_threads() == 1
    slow.may_end.set()
    background.ask(1, 0)  # waits for the thread that is ending, and begins another
    found = [taken(background).rows["next_obs"][0, 0, 0] for _ in range(2)]
    assert found == [1, 2]
    background.stop()
    assert count_threads() == 0
