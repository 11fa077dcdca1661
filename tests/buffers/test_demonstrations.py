"""Demonstrations: no window leaves its episode, and returns know where it was cut."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from yieldrl.buffers import Demonstrations

NUMBER = Box(-np.inf, np.inf, (), np.float32)


def empty(rows, num_envs=1, **options):
    return Demonstrations(rows, NUMBER, NUMBER, num_envs=num_envs, **options)


def demonstrations(ends, num_envs=1, **options):
    """One step for each letter: `.` goes on, `x` terminates, `|` truncates, `r` resets.

    Observation and action of step t of environment n are 10 n + t, the reward is 1.
    """
    buffer = empty(len(ends), num_envs, **{"gamma": 0.5, **options})
    for t, end in enumerate(ends):
        number = 10.0 * torch.arange(num_envs) + t
        step = {
            "obs": number,
            "next_obs": number + 1,
            "action": number,
            "reward": torch.ones(num_envs),
            "terminated": torch.full((num_envs,), end == "x"),
            "truncated": torch.full((num_envs,), end == "|"),
        }
        if "r" in ends:
            step["valid"] = torch.full((num_envs,), end != "r")
        buffer.add(step)
    return buffer


def everything(buffer, **options):
    """An epoch in one minibatch, in the order of time."""
    batch = buffer.windows.minibatch(0, 10**6, **options)
    return batch[batch["obs"].argsort()]


class TestWindows:
    def test_they_end_with_their_episode(self):
        batch = everything(demonstrations("..x.|..", num_envs=2, chunk_length=3))
        assert batch["obs"].tolist() == [0, 1, 2, 3, 4, 5, 6, *range(10, 17)]
        assert batch["num_steps"].tolist() == 2 * [3, 2, 1, 2, 1, 2, 1]
        assert torch.equal(batch["action"][7:], batch["action"][:7] + 10)
        assert batch["action"][:7].tolist() == [
            [0, 1, 2],
            [1, 2, 2],
            [2, 2, 2],
            [3, 4, 4],
            [4, 4, 4],
            [5, 6, 6],  # cut where the demonstrations end
            [6, 6, 6],
        ]

    def test_whole_ones_alone(self):
        buffer = demonstrations("...x..", chunk_length=3)
        batch = everything(buffer, whole=True)
        assert batch["action"].tolist() == [[0, 1, 2], [1, 2, 3]]
        assert batch["num_steps"].tolist() == [3, 3]
        with pytest.raises(RuntimeError, match="no episode has 5 steps"):
            demonstrations("..x..", chunk_length=5).windows.minibatch(0, 1, whole=True)

    def test_without_chunks_they_are_single_actions(self):
        batch = everything(demonstrations(".x."))
        assert batch["action"].tolist() == [0, 1, 2]
        assert "num_steps" not in batch.keys()  # noqa: SIM118
        chunks = everything(demonstrations(".x.", chunk_length=1))
        assert chunks["action"].tolist() == [[0], [1], [2]]

    def test_steps_that_only_reset_are_none(self):
        batch = everything(demonstrations(".xr.|r", chunk_length=2))
        assert batch["obs"].tolist() == [0, 1, 3, 4]
        assert batch["action"].tolist() == [[0, 1], [1, 1], [3, 4], [4, 4]]


class TestValues:
    def test_returns_and_what_is_to_be_added(self):
        """1 + g + g^2, and g^k of the last observation where an episode was cut."""
        batch = everything(demonstrations("..x.|."))
        assert batch["returns"].tolist() == [1.75, 1.5, 1, 1.5, 1, 1]
        assert batch["discount"].tolist() == [0, 0, 0, 0.25, 0.5, 0.5]
        assert batch["next_obs"][3:].tolist() == [5, 5, 6]

    def test_they_may_be_left_out_and_what_is_to_be_added_where_all_terminated(self):
        without = everything(demonstrations(".|"), values=False)
        assert set(without.keys()) == {"obs", "action"}
        batch = everything(demonstrations(".x..x"))
        assert set(batch.keys()) == {"obs", "action", "returns"}


class TestMinibatches:
    def test_an_epoch_is_everything_once_in_an_order_of_its_own(self):
        buffer = demonstrations("." * 10)
        windows = buffer.windows
        assert windows.num_minibatches(4) == 3
        epochs = [
            torch.cat([windows.minibatch(3 * k + i, 4)["obs"] for i in range(3)])
            for k in range(2)
        ]
        assert all(sorted(e.tolist()) == list(range(10)) for e in epochs)
        assert epochs[0].tolist() != epochs[1].tolist()
        again = demonstrations("." * 10).windows.minibatch(4, 4)
        assert torch.equal(windows.minibatch(4, 4)["obs"], again["obs"])
        other = demonstrations("." * 10, seed=7).windows.minibatch(4, 4)
        assert not torch.equal(other["obs"], again["obs"])

    def test_they_outlive_the_buffer(self):
        buffer = demonstrations("...")
        batch = everything(buffer)
        buffer.rollout()["obs"].zero_()
        assert batch["obs"].tolist() == [0, 1, 2]


class TestState:
    def test_half_of_it_is_restored_and_goes_on(self):
        whole, half = demonstrations(".x.."), demonstrations(".x..")
        state = {**half.state_dict(), "row": 2}
        state["storage"] = half._storage.state_dict(2)
        half.load_state_dict(state)
        assert (len(half), half.full) == (2, False)
        for t in (2, 3):
            row = whole.rollout()[t]
            half.add(dict(row.items()))
        assert torch.equal(everything(half)["returns"], everything(whole)["returns"])

    def test_new_rows_are_seen(self):
        buffer, row = empty(2), dict(demonstrations(".").rollout()[0].items())
        buffer.add(row)
        assert len(buffer.windows.starts[False]) == 1
        buffer.end_episodes()
        assert buffer.rollout()["truncated"].all()
        buffer.add(row)
        assert len(buffer.windows.starts[False]) == 2
        with pytest.raises(RuntimeError, match="all 2 steps are written"):
            buffer.add(row)


def test_statistics_are_of_episodes_that_ended():
    logs = demonstrations("..x|..", num_envs=2).statistics()
    assert logs == {"episode_return": 2.0, "episode_length": 2.0, "episodes": 4.0}
    assert demonstrations("..").statistics() == {}
