"""Nothing that a thread says is lost, and nothing follows twice."""

import threading

import pytest

from yieldrl.buffers.exchange import Exchange


def test_every_change_of_every_thread_counts():
    count = Exchange(0)

    def work():
        for _ in range(5000):
            count.change(lambda value: value + 1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.now == 15_000


def test_who_comes_second_looks_anew():
    count, seen = Exchange(1), []

    def double(value):
        seen.append(value)
        if len(seen) == 1:
            count.change(lambda value: value + 10)
        return 2 * value

    assert count.change(double) == 22
    assert seen == [1, 11]


def test_what_fails_changes_nothing():
    count = Exchange(1)
    with pytest.raises(ZeroDivisionError):
        count.change(lambda value: value // 0)
    assert count.now == 1
