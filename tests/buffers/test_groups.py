"""The episodes of a rollout, by their groups: exact numbers."""

import torch
from tensordict import TensorDict

from yieldrl.buffers import EpisodeGroups


def flags(*columns):
    """Columns of marks, `x` for True, as bool `[T, N]`."""
    rows = zip(*columns, strict=True)
    return torch.tensor([[mark == "x" for mark in row] for row in rows])


def rollout_of(**changes):
    """Six steps of two groups of two; rewards are 1, 2, 3 ... in each column.

    The first group begins twice, the second once; its last episode is cut.
    """
    ends = flags(".x..x.", "..x.x.", "...x..", "......")
    entries = {
        "valid": flags("xx.xx.", "xxxxx.", "xxxx..", "xxxxxx"),
        "begins": flags("x..x..", "x..x..", "x.....", "x....."),
        "ends": ends,
        "terminated": ends,
        "truncated": flags("......", "......", "......", ".....x"),
        "reward": torch.arange(1.0, 7).unsqueeze(1).expand(6, 4).clone(),
        "episode": torch.tensor([[0, 0, 4, 4]] * 3 + [[1, 1, 4, 4]] * 3),
        "obs": torch.arange(24.0).view(6, 4),
    }
    return TensorDict({**entries, **changes}, [6, 4])


def test_every_time_that_a_group_begins_is_a_row():
    groups = EpisodeGroups.of(rollout_of(), group_size=2, gamma=1.0)
    assert groups.whole.tolist() == [[True, True], [True, True], [True, False]]
    assert groups.length.tolist() == [[2, 3], [2, 2], [4, 6]]
    assert groups.first.tolist() == [[0, 1], [12, 13], [2, 3]]
    assert groups.returns[groups.whole].tolist() == [3, 6, 9, 9, 10]
    assert groups.mixed.tolist() == [False] * 3
    values = torch.arange(1.0, 7).view(3, 2)  # of episodes, which go to their steps
    spread = groups.spread(values)
    assert spread[:, 0].tolist() == [1, 1, 0, 3, 3, 0]
    assert spread[:, 3].tolist() == [6] * 6


def test_rewards_are_discounted_by_a_number_or_by_step():
    groups = EpisodeGroups.of(rollout_of(), group_size=2, gamma=0.5)
    assert groups.returns[0].tolist() == [1 + 1, 1 + 1 + 0.75]
    discount = torch.full((6, 4), 0.5)
    groups = EpisodeGroups.of(rollout_of(discount=discount), group_size=2, gamma=1.0)
    assert groups.returns[0].tolist() == [1 + 1, 1 + 1 + 0.75]


def test_an_episode_that_was_given_up_is_not_whole():
    """Somebody else's truncation is no end, and there is no beginning without one."""
    ends, begins = rollout_of()["ends"].clone(), rollout_of()["begins"].clone()
    ends[1, 0] = False
    truncated = rollout_of()["truncated"] | flags(".x....", *["......"] * 3)
    begins[0, 2] = False
    given_up = rollout_of(ends=ends, begins=begins, truncated=truncated)
    groups = EpisodeGroups.of(given_up, group_size=2, gamma=1.0)
    assert groups.whole.tolist() == [[False, True], [True, True], [False, False]]


def test_several_policies_in_a_group_are_seen():
    version = torch.zeros(6, 4, dtype=torch.int64)
    version[3:, 3] = 7
    version[2, 0] = 9  # there it waits
    version[3:, :2] = 7
    groups = EpisodeGroups.of(rollout_of(policy_version=version), 2, 1.0)
    assert groups.mixed.tolist() == [False, False, True]


def test_episodes_are_rows_of_equal_length():
    rollout = rollout_of()
    groups = EpisodeGroups.of(rollout, group_size=2, gamma=1.0)
    which = torch.tensor([[True, True], [True, False], [False, False]])
    rows = groups.episodes(rollout.select("obs"), which)
    assert rows.batch_size == (3, 3)
    assert rows["valid"].tolist() == [
        [True, True, False],
        [True] * 3,
        [True, True, False],
    ]
    assert rows["obs"][0, :2].tolist() == [0, 4]
    assert rows["obs"][1].tolist() == [1, 5, 9]
    assert rows["obs"][2, :2].tolist() == [12, 16]
    assert len(groups.episodes(rollout, ~groups.whole & groups.whole)) == 0


def test_pairs_begin_with_the_better_episode_and_differ():
    """Rewards of 1 + 2 against 1 + 2 + 3, 4 + 5 against 4 + 5; the last is cut."""
    pairs = EpisodeGroups.of(rollout_of(), group_size=2, gamma=1.0).pairs(rollout_of())
    assert pairs.batch_size == (1, 2, 3)
    assert pairs["obs"][0].tolist() == [[1, 5, 9], [0, 4, 0]]
    assert pairs["valid"][0].tolist() == [[True] * 3, [True, True, False]]

    reward = rollout_of()["reward"].clone()
    reward[0, 0] = 9.0
    rollout = rollout_of(reward=reward)
    pairs = EpisodeGroups.of(rollout, group_size=2, gamma=1.0).pairs(rollout)
    assert pairs["obs"][0, :, 0].tolist() == [0, 1]

    rollout = rollout_of(reward=torch.zeros(6, 4))
    assert len(EpisodeGroups.of(rollout, group_size=2, gamma=1.0).pairs(rollout)) == 0
