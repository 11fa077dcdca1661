"""Ctrl-C waits for the end of a few lines."""

import signal
import threading

import pytest

from yieldrl.core import defer_keyboard_interrupt


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("once", "expected"), [(False, [1, 2]), (True, [1])])
def test_ctrl_c_comes_after_the_last_line(once, expected):
    """But a second one does not wait for a long block."""
    done = []

    def work():
        with defer_keyboard_interrupt(once=once):
            with defer_keyboard_interrupt():
                press()
                done.append(1)
            press()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == expected
    with pytest.raises(KeyboardInterrupt):
        press()


def test_ctrl_c_is_not_lost_where_an_error_came_too():
    def work():
        with defer_keyboard_interrupt():
            press()
            raise ValueError("mine")

    with pytest.raises(KeyboardInterrupt) as failure:
        work()
    assert isinstance(failure.value.__context__, ValueError)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="mine"), defer_keyboard_interrupt():
        raise ValueError("mine")
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_of_somebody_else_hears_of_it_once():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *call: heard.append(call))
    try:
        with defer_keyboard_interrupt():
            press()
            press()
            assert not heard
        assert len(heard) == 1
        assert heard[0][0] == signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_ctrl_c_raises_nothing_there_is_nothing_to_do():
    """As outside of the main thread."""
    for handler in (signal.SIG_IGN, signal.SIG_DFL):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with defer_keyboard_interrupt():
                assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)
    handlers = []

    def work():
        with defer_keyboard_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [before]
