"""The ring of rollouts: read in order, written over when full, never while read."""

from functools import partial

from factories import VECTOR, saved_and_loaded, transition
from gymnasium.spaces import Discrete
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yieldrl.buffers import CircularBuffer


def ring(num_steps=2, **options):
    return CircularBuffer(num_steps, VECTOR, Discrete(2), num_envs=2, **options)


step = partial(transition, num_envs=2)


def numbers(buffer):
    return (buffer.rollout()["reward"][:, 0] / 2).tolist()


@settings(max_examples=60, deadline=None)
@example([*["add"] * 6, "read", *["add"] * 3, "read"])  # what is read is kept
@given(st.lists(st.sampled_from(["add", "add", "add", "read", "clear"]), max_size=60))
def test_it_is_a_queue_that_loses_the_oldest(actions):
    buffer, written, queue, held, lost = ring(2, num_segments=3), 0, [], None, 0
    for action in actions:
        if action == "add":
            if written % 2 == 0:
                if len(queue) == 3:
                    queue.remove(next(x for x in queue if x != held))
                    lost += 1
                queue.append(written)
            buffer.add(step(written))
            written += 1
        elif queue and (len(queue) > 1 or written % 2 == 0):
            if action == "read":
                held = queue[0]
                assert numbers(buffer) == [held, held + 1]
            else:
                buffer.clear()
                queue.pop(0)
                held = None
        rows = 2 * len(queue) - written % 2
        assert (len(buffer), buffer.dropped) == (rows, 2 * lost)
        assert buffer.full == (len(queue) > written % 2)


def test_a_checkpoint_goes_on_bitwise():
    one, other = ring(num_segments=3), ring(num_segments=3)
    for number in range(5):
        one.add(step(number))
    other.load_state_dict(saved_and_loaded(one.state_dict()))
    for buffer in (one, other):
        buffer.add(step(5))
        buffer.add(step(6))
    assert other.dropped == one.dropped == 2
    while one.full:
        assert numbers(one) == numbers(other)
        one.clear()
        other.clear()


def test_unfinished_episodes_end_where_they_are_told_to():
    buffer = ring(2, num_segments=2)
    buffer.add(step(0))
    buffer.end_episodes()
    buffer.add(step(1))
    assert buffer.rollout()["truncated"][:, 0].tolist() == [True, False]
