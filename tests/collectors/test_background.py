"""A thread that works ends when it is told to, and says what it failed with."""

import signal
import threading
import traceback
from contextlib import contextmanager, nullcontext

import pytest

from yieldrl.collectors.background import Background

SECONDS = 60  # after which a test that waits has failed


class Work:
    """Counts steps, as many as it is allowed to."""

    def __init__(self, allowed=0):
        self.allowed, self.done, self.fails_at = allowed, 0, None
        self.threads = set()
        self.background = Background(self.step, self.ready, nullcontext)

    def step(self):
        if self.done == self.fails_at:
            self.fails_at = None
            raise ConnectionError("the cable")
        self.threads.add(threading.current_thread())
        self.done += 1

    def ready(self):
        return self.done < self.allowed

    def allow(self, count):
        self.allowed += count
        self.background.notify()

    def wait(self, count):
        self.background.wait(lambda: self.done >= count)


@pytest.fixture
def work():
    work = Work()
    yield work
    work.background.stop()


def count_threads():
    return sum(t.name == "yieldrl collector" for t in threading.enumerate())


def test_a_step_under_way_is_finished():
    begun, may_end, ended = threading.Event(), threading.Event(), []

    def step():
        begun.set()
        assert may_end.wait(SECONDS)
        ended.append(1)

    background = Background(step, lambda: True, nullcontext)
    background.start()
    assert begun.wait(SECONDS)
    stopper = threading.Thread(target=background.stop)
    stopper.start()
    assert not ended
    may_end.set()
    stopper.join(SECONDS)
    assert ended == [1]
    assert count_threads() == 0


def test_what_failed_is_raised_once_with_its_own_traceback(work):
    work.fails_at = 2
    work.allow(5)
    work.background.start()
    with pytest.raises(ConnectionError, match="the cable") as failure:
        work.wait(5)
    lines = traceback.format_tb(failure.tb)
    assert any("in step" in line and "the cable" in line for line in lines)
    work.background.check()
    assert not work.background.running
    assert work.done == 2
    assert count_threads() == 0
    work.background.start()
    work.wait(5)
    assert work.done == 5


def test_its_context_is_entered_and_left_in_the_thread():
    entered = []

    @contextmanager
    def context():
        entered.append(threading.current_thread())
        yield
        entered.append(threading.current_thread())

    background = Background(lambda: None, lambda: False, context)
    background.start()
    background.stop()
    assert len(entered) == 2
    assert entered[0] is entered[1] is not threading.current_thread()


def test_ctrl_c_while_it_waits_leaves_it_whole(work):
    """Not even a join that was cut short, after which there would be two threads."""

    def press_soon():
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        return False

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(2))
    try:
        for total in range(1, 20):
            work.background.start()
            with pytest.raises(KeyboardInterrupt):
                work.background.wait(press_soon)
            work.allow(1)
            work.background.start()
            work.wait(total)
            assert count_threads() == 1
    finally:
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_while_it_ends_leaves_it_whole(monkeypatch):
    begun, may_end, steps = threading.Event(), threading.Event(), []

    def step():
        begun.set()
        assert may_end.wait(SECONDS)
        steps.append(threading.current_thread())

    background = Background(step, lambda: len(steps) < 2, nullcontext)
    background.start()
    assert begun.wait(SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(background._done, "wait", lambda _: signal.raise_signal(2))
        with pytest.raises(KeyboardInterrupt):
            background.stop()
    assert count_threads() == 1
    may_end.set()
    background.start()  # waits for the one that is ending, and begins another
    background.wait(lambda: len(steps) == 2)
    assert steps[0] is not steps[1]
    assert not steps[0].is_alive()
    background.stop()
