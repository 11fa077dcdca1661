"""The counters that an algorithm shares with its agent."""

from dataclasses import asdict

from yieldrl.core import Counters


def test_what_is_saved_is_restored_in_place():
    state, counters = asdict(Counters(1, 2, 3, 4, 5, 6)), Counters()
    assert [*state.values()] == [1, 2, 3, 4, 5, 6]
    counters.restore({**state, "generator": None})
    assert counters == Counters(1, 2, 3, 4, 5, 6)
