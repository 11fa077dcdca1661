"""Errors of outcomes, and the watch for exploitation, by hand."""

import warnings

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict

from yieldrl.imagination import (
    ExploitationWatch,
    Prediction,
    RewardAndEnd,
    WorldModel,
    outcome_errors,
)


class Told(WorldModel):
    """The action says the reward, and the first entry of the state the end."""

    def __init__(self):
        super().__init__(Box(-9, 9, (2,)), Box(-1, 1, (1,)))
        self.outcome = RewardAndEnd()

    def predict(self, obs, action, generator=None):
        no = torch.zeros_like(action)
        raw = torch.cat([no, obs[:, :1], action, no], 1)
        return Prediction(obs, raw, torch.zeros(len(obs)))


def test_outcome_errors():
    data = TensorDict(
        {
            "obs": torch.tensor([[9.0, 0], [-9.0, 0], [-9.0, 0]]),
            "action": torch.tensor([[1.0], [2.0], [3.0]]),
            "reward": torch.tensor([1.0, 1.0, 1.0]),
            "terminated": torch.tensor([True, True, False]),
        },
        [3],
    )
    found = outcome_errors(Told(), data)
    assert found["reward_error"] == 1.0
    assert found["end_recall"] == 0.5
    assert outcome_errors(Told(), data[2:])["end_recall"].isnan()


class TestWatch:
    def warned(self, pairs, span=3):
        watch = ExploitationWatch(span)
        return [watch.add(*pair) for pair in pairs]

    def test_it_warns_where_one_rises_and_the_other_falls(self):
        before = [(1.0, 5.0), (1.1, 5.1), (0.9, 4.9)]
        after = [(3.0, 2.0), (3.1, 2.1), (2.9, 1.9)]
        assert self.warned(before + after) == [False] * 5 + [True]

    @pytest.mark.parametrize("later", [(3.0, 8.0), (1.0, 2.0)])
    def test_it_does_not_where_both_go_the_same_way_or_one_stays(self, later):
        rng = np.random.default_rng(0)
        pairs = [(1.0, 5.0)] * 3 + [later] * 3
        noisy = [tuple(np.array(pair) + rng.normal(0, 0.1, 2)) for pair in pairs]
        assert not any(self.warned(noisy))

    def test_a_saved_one_goes_on(self):
        one, two = ExploitationWatch(2), ExploitationWatch(2)
        for pair in [(0.0, 5.0), (0.1, 5.1), (3.0, 1.0)]:
            assert not one.add(*pair)
        two.load_state_dict(one.state_dict())
        assert one.add(3.1, 0.9)
        assert two.add(3.1, 0.9)

    def test_it_says_so_once_also_where_it_was_saved(self):
        watch, resumed = ExploitationWatch(2), ExploitationWatch(2)
        for pair in [(0.0, 5.0), (0.1, 5.1), (3.0, 1.0)]:
            assert not watch.look(*pair)
        with pytest.warns(UserWarning, match="the policy exploits the mistakes"):
            assert watch.look(3.1, 0.9)
        resumed.load_state_dict(watch.state_dict())
        with warnings.catch_warnings(action="error"):
            for one in (watch, resumed):
                one.look(6.0, -3.0)
                assert one.look(6.1, -3.1)
