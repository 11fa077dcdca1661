"""An algorithm and its agent count in one place."""

import copy

from yieldrl.foundations import Counters, Counting


class Counts(Counting):
    def __init__(self, counters):
        self.counters = counters


def test_who_shares_counters_counts_together():
    counters = Counters()
    one, other = Counts(counters), Counts(counters)
    one.count_steps(8)
    other.count_steps(4)
    other.learn_step += 1
    one.policy_version = 7
    one.sync_step = 3
    assert (one.sample_step, one.learn_step) == (12, 1)
    assert (other.policy_version, other.sync_step) == (7, 3)
    assert counters == Counters(12, 1, 3, 7)


def test_a_copy_counts_for_itself():
    one = Counts(Counters(sample_step=5))
    other = Counts(copy.copy(one.counters))
    other.count_steps(1)
    assert (one.sample_step, other.sample_step) == (5, 6)


def test_what_is_saved_is_restored_in_place():
    one = Counts(Counters(1, 2, 3, 4, 5))
    state = one.counters_state()
    names = ("sample_step", "learn_step", "sync_step", "policy_version")
    assert state == dict(zip((*names, "acted_version"), range(1, 6), strict=True))
    counters = Counters()
    other = Counts(counters)
    other.restore_counters({**state, "generator": None})
    assert other.counters is counters
    assert counters == one.counters
