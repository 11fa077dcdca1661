"""What is due at a step."""

from hypothesis import given
from hypothesis import strategies as st

from yieldrl.functional import linear, updates_due

steps = st.integers(0, 60)


@given(steps, steps, st.integers(1, 9), st.integers(0, 4))
def test_updates_are_due_at_the_first_step_and_every_so_often(now, first, every, count):
    moments = [step for step in range(now + 1) if step in range(first, 10**3, every)]
    assert updates_due(now, first, every, count) == count * len(moments)


@given(st.floats(-5, 5), st.floats(-5, 5), steps, steps)
def test_a_linear_schedule_stays_between_its_ends(start, end, now, length):
    value = linear(start, end, now, length)
    assert min(start, end) - 1e-9 <= value <= max(start, end) + 1e-9
    if now >= length:
        assert abs(value - end) < 1e-9
