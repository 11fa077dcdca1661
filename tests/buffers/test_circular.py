"""The ring of segments against a plain list, alone and with two threads."""

import io
import random
import threading
import time

import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import CircularBuffer, Minibatches, RolloutBuffer, transitions

ENVS = 2
SPACE = Dict(a=Box(-np.inf, np.inf, (2,)), camera=Box(0, 255, (2, 2), np.uint8))


def step(number, **changes):
    """Every entry follows from the number, so that a torn row would show."""
    column = np.full(ENVS, number)
    obs = {
        "a": np.stack([column, -column], 1).astype(np.float32),
        "camera": np.full((ENVS, 2, 2), number % 251, np.uint8),
    }
    return {
        "obs": obs,
        "next_obs": obs,
        "action": column,
        "reward": column.astype(np.float64),
        "terminated": np.zeros(ENVS, bool),
        "truncated": np.zeros(ENVS, bool),
        "log_prob": torch.full((ENVS,), float(number)),
        **changes,
    }


def number_of(row):
    """The number of a row or of rows, all of whose entries agree on it."""
    number = torch.as_tensor(row["action"])
    assert torch.equal(torch.as_tensor(row["reward"]), number.float())
    assert torch.equal(torch.as_tensor(row["log_prob"]), number.float())
    for name in ("obs", "next_obs"):
        a, camera = (torch.as_tensor(row[name][key]) for key in ("a", "camera"))
        assert torch.equal(a, torch.stack([number, -number], -1).float())
        assert torch.equal(camera[..., 0, 0], (number % 251).to(torch.uint8))
        assert torch.equal(camera[..., 1, 1], camera[..., 0, 0])
    assert (number[..., 0] == number[..., 1]).all()
    return number[..., 0].tolist()


def ring_of(steps=3, segments=3, **options):
    options = {"num_envs": ENVS, "num_segments": segments, **options}
    return CircularBuffer(steps, SPACE, Discrete(100_000), **options)


class Model:
    """What the ring must do, as lists of numbers; a list is a segment."""

    def __init__(self, steps, segments):
        self.steps, self.segments = steps, segments
        self.memory, self.unread = [], []  # the oldest first
        self.claimed, self.row, self.open = None, 0, None
        self.number = self.dropped = 0
        self.latest, self.ended = -1, set()

    def write(self):
        if self.open is None:
            if len(self.memory) == self.segments:
                oldest = next(s for s in self.memory if s is not self.claimed)
                self.memory.remove(oldest)
                if any(s is oldest for s in self.unread):
                    self.unread.remove(oldest)
                    self.dropped += len(oldest)
            self.open = []
            self.memory.append(self.open)
            self.unread.append(self.open)
        self.open.append(self.number)
        self.number += 1
        if len(self.open) == self.steps:
            self.open = None

    def claim(self):
        if self.claimed is None and self.unread:
            self.claimed, self.row = self.unread.pop(0), 0

    def hand_over(self):
        self.claim()
        self.latest = self.claimed[self.row]
        self.row += 1

    def give_up(self, segment, row=0):
        self.dropped += len(segment) - row
        if segment is self.open:
            self.open = None
            self.memory.remove(segment)

    def skip(self):
        if self.claimed is not None and self.row == 0:
            self.give_up(self.claimed)
            self.claimed = None
        else:
            self.give_up(self.unread.pop(0))

    def clear(self):
        if self.claimed is not None:
            self.give_up(self.claimed, self.row)
        self.claimed, self.row = None, 0

    def keep(self, segments):
        self.memory = [s for s in [self.claimed] if s is not None] + self.unread
        self.segments = segments

    @property
    def waiting(self):
        rest = [] if self.claimed is None else self.claimed[self.row :]
        return rest + [n for segment in self.unread for n in segment]

    @property
    def due(self):
        if self.claimed is not None:
            return self.claimed[self.row :]
        return self.unread[0] if self.unread else []

    @property
    def skippable(self):
        return bool(self.unread) or (self.claimed is not None and self.row == 0)

    @property
    def room(self):
        if self.open is not None or len(self.memory) < self.segments:
            return True
        oldest = next(s for s in self.memory if s is not self.claimed)
        return not any(s is oldest for s in self.unread)

    def continues(self, number):
        return number == self.latest + 1 and number not in self.ended


def check(ring, model):
    assert len(ring) == model.row
    assert ring.full == (model.row == model.steps)
    assert ring.dropped == model.dropped
    assert ring.waiting == len(model.waiting)
    assert ring.room == model.room
    seen = [] if model.claimed is None else model.claimed[: model.row]
    rollout = ring.rollout()
    assert rollout.batch_size == (len(seen), ENVS)
    if seen:
        assert number_of(rollout) == seen
        for number, truncated in zip(seen, rollout["truncated"], strict=True):
            assert truncated.all() == (number + 1 in model.ended)
    if model.row == 0:
        first = (model.due or [model.number])[0]
        assert ring.continues == model.continues(first)


def write(ring, model):
    ring.write(step(model.number))
    model.write()


def add(ring, model):
    ring.add(step(model.number))
    model.write()
    model.claim()
    while model.due:
        model.hand_over()


def hand_over(ring, model):
    if not model.due:
        with pytest.raises(RuntimeError, match="full" if ring.full else "no row"):
            ring.hand_over()
        return
    assert number_of(ring.peek()) == model.due[0]
    assert ring.gap == (not model.continues(model.due[0]))
    ring.hand_over()
    model.hand_over()


def peek(ring, model):
    if model.due:
        model.claim()
        assert number_of(ring.peek()) == model.due[0]


def skip(ring, model):
    if not model.skippable:
        with pytest.raises(RuntimeError, match="no segment is there to skip"):
            ring.skip()
        return
    ring.skip()
    model.skip()


def clear(ring, model):
    ring.clear()
    model.clear()


def end_episodes(ring, model):
    ring.end_episodes()
    model.ended.add(model.number)


def learn(ring, _):
    if not ring.full:
        return
    if ring.passes is None:
        ring.begin(Minibatches(transitions(ring.rollout()), 1, 2, 0))
    elif not ring.exhausted:
        ring.passes.minibatch()
        ring.passes.advance()


MOVES = [write, write, write, add, hand_over, hand_over, peek, skip, clear, learn]
MOVES += [end_episodes]


@settings(max_examples=80)
@given(
    steps=st.integers(1, 3),
    segments=st.integers(2, 4),
    moves=st.lists(st.sampled_from([*MOVES, "save"]), max_size=60),
)
def test_it_is_a_list_of_segments(steps, segments, moves):
    ring, model = ring_of(steps, segments), Model(steps, segments)
    for move in moves:
        if move != "save":
            move(ring, model)
            check(ring, model)
            continue
        state, before = saved_and_loaded(ring.state_dict()), ring
        segments += model.number % 2
        ring = ring_of(steps, segments)
        ring.load_state_dict(state)
        if before.exhausted:
            model.clear()
        elif before.passes is not None:
            assert ring.passes.position == before.passes.position
            assert (ring.passes.minibatch() == before.passes.minibatch()).all()
        assert (ring.passes is None) == (before.passes is None or before.exhausted)
        model.keep(segments)
        check(ring, model)


def test_rows_that_went_elsewhere_are_none_of_the_readers():
    ring = ring_of(steps=3, segments=3)
    for number in range(5):
        ring.write(step(number))
    ring.hand_over()
    ring.hand_over()
    ring.set_aside()
    assert (len(ring), ring.full, ring.taken, ring.waiting) == (0, False, 2, 3)
    assert ring.rollout().batch_size == (0, ENVS)
    other = ring_of(steps=3, segments=3)
    other.load_state_dict(saved_and_loaded(ring.state_dict()))
    for one in (ring, other):
        assert number_of(one.peek()) == 2
        one.hand_over()
        assert (len(one), one.full, one.used_up) == (1, False, True)
        one.set_aside()  # of a whole segment nothing is left
        assert (one.taken, one.dropped, one.waiting) == (0, 0, 2)
        one.hand_over()
        one.set_aside()
        one.clear()
        assert (one.taken, one.dropped, one.waiting, len(one)) == (0, 1, 0, 0)


def test_a_row_that_is_discarded_ends_the_episodes_before_it():
    ring = ring_of(steps=3, segments=3)
    for number in range(4):
        ring.write(step(number))
    ring.hand_over()
    assert not ring.gap
    ring.discard()
    assert ring.gap
    assert number_of(ring.peek()) == 2
    ring.discard()
    ring.clear()
    assert ring.gap
    assert number_of(ring.peek()) == 3
    assert ring.dropped == 2


def test_a_row_is_handed_out_without_a_copy():
    ring = ring_of()
    ring.write(step(7))
    row = ring.peek()
    assert isinstance(row["obs"]["camera"], np.ndarray)
    assert row["obs"]["camera"].dtype == np.uint8
    ring.hand_over()
    row["reward"][:] = 5
    assert ring.rollout()["reward"].tolist() == [[5, 5]]
    other = RolloutBuffer(3, SPACE, Discrete(9), num_envs=ENVS)
    other.add({**row, "reward": np.full(ENVS, 7)})
    assert number_of(other.rollout()) == [7]


def test_extras_come_with_the_first_row():
    ring = ring_of()
    ring.add(step(0, policy_version=torch.tensor([3, 3])))
    with pytest.raises(ValueError, match=r"lacks \['policy_version'\]"):
        ring.write(step(1))
    assert (len(ring), ring.waiting) == (1, 0)
    assert ring.rollout()["policy_version"].tolist() == [[3, 3]]
    ring.clear()
    ring.add(step(1))  # nothing is kept, so that other extras may come
    assert "policy_version" not in ring.rollout().keys()  # noqa: SIM118


def test_steps_that_only_reset_are_marked():
    ring = ring_of(2)
    ring.add(step(0))
    ring.add(step(1, valid=np.array([True, False])))
    assert ring.rollout()["valid"].tolist() == [[True, True], [True, False]]
    assert transitions(ring.rollout())["action"].tolist() == [0, 0, 1]
    ring.add(step(2))
    ring.clear()
    ring.hand_over()
    assert ring.rollout()["valid"].tolist() == [[True, True]]


def filled(rows=8):
    ring = ring_of(3, 4)
    for number in range(rows):
        ring.add(step(number))
    return ring


def test_a_checkpoint_is_a_copy_of_what_is_needed():
    ring = filled()  # a segment, one that waits, and half of another
    state = ring.state_dict()
    assert state["storage"]["reward"].shape == (8, ENVS)
    before = state["storage"]["reward"].clone()
    for number in range(20):
        ring.write(step(100 + number))
    assert torch.equal(state["storage"]["reward"], before)
    large = ring_of(5000, 2)
    large.add(step(0))
    file = io.BytesIO()
    torch.save(large.state_dict(), file)
    assert file.tell() < 30_000


def test_an_empty_ring_may_become_one_of_other_segments():
    ring, other = filled(rows=3), ring_of(2, 2)
    ring.clear()
    other.load_state_dict(saved_and_loaded(ring.state_dict()))
    for number in (3, 4):
        other.add(step(number))
    assert number_of(other.rollout()) == [3, 4]
    assert other.continues


@pytest.mark.parametrize("give_up", ["clear", "skip"])
def test_a_row_whose_segment_is_given_up_meanwhile_goes_into_the_next(
    give_up, monkeypatch
):
    ring = ring_of()
    ring.write(step(0))
    if give_up == "clear":
        ring.hand_over()
    write_row, calls = ring._storage.write, []

    def interleaved(place, *args, **options):
        write_row(place, *args, **options)
        calls.append(place)
        if len(calls) == 1:
            getattr(ring, give_up)()

    monkeypatch.setattr(ring._storage, "write", interleaved)
    ring.write(step(1))
    assert calls == [1, 0]
    assert ring.slots == [1, None, None]
    assert (ring.waiting, ring.dropped) == (1, int(give_up == "skip"))
    assert ring.continues == (give_up != "skip")
    ring.add(step(2))
    assert number_of(ring.rollout()) == [1, 2]


def written_by_a_thread(ring, rows, waits, seed):
    """Writes rows, some with the end of all episodes before; those are returned."""
    ends, rng = set(), random.Random(seed)

    def work():
        for number in range(rows):
            while waits and not ring.room:
                time.sleep(1e-5)
            if rng.random() < 0.02:
                ends.add(number)
                ring.end_episodes()
            ring.write(step(number))
            if rng.random() < 0.02:
                time.sleep(1e-4 * rng.random())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, ends


@pytest.mark.parametrize(("waits", "segments"), [(True, 2), (False, 4)])
@pytest.mark.parametrize("rows", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_two_threads_lose_tear_and_repeat_nothing(waits, segments, rows):
    rng = random.Random(segments)
    ring = ring_of(4, segments)
    thread, ends = written_by_a_thread(ring, rows, waits, segments)
    latest, handed, segment = -1, 0, []
    while thread.is_alive() or ring.waiting:
        if ring.full:
            assert number_of(ring.rollout()) == segment
            ring.clear()
        if not ring.waiting:
            time.sleep(1e-5)
            continue
        if not waits and len(ring) == 0 and rng.random() < 0.1:
            ring.skip()
            continue
        row = ring.peek()
        number = number_of(row)
        segment = [*(segment if len(ring) else []), number]
        assert ring.gap == (number != latest + 1 or number in ends)
        ring.hand_over()
        latest, handed = number, handed + 1
        if rng.random() < (0.02 if waits else 0.1):
            time.sleep(1e-3 * rng.random())
    thread.join()
    assert handed + ring.dropped == rows
    assert (ring.dropped == 0) == waits
    assert handed > 0
