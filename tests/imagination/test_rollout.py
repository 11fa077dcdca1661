"""Imagined segments by hand, their returns, and the buffer that keeps them."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from yieldrl.buffers import ImaginationBuffer
from yieldrl.imagination import (
    Prediction,
    RewardAndEnd,
    ThreeClasses,
    WorldModel,
    imagine,
    imagined_return,
)

LINE, PUSH = Box(-np.inf, np.inf, (1,)), Box(-1, 1, (1,))
GENERATOR = torch.Generator()


class Line(WorldModel):
    """`s' = s + a`, the reward is `s'`, and it ends at 3 and beyond."""

    def __init__(self, sharpness=1e3):
        super().__init__(LINE, PUSH)
        self.outcome = RewardAndEnd()
        self.sharpness = sharpness

    def predict(self, obs, action, generator=None):
        after = obs + action
        end = (after - 2.5) * self.sharpness
        raw = torch.cat([-end / 2, end / 2, after, 0 * after], 1)
        return Prediction(after, raw, torch.full((len(obs),), 0.25))


class Chance(Line):
    """Goes on, ends or succeeds, which is all as likely."""

    def __init__(self):
        super().__init__()
        self.outcome = ThreeClasses()

    def predict(self, obs, action, generator=None):
        raw = torch.zeros(len(obs), 3)
        return super().predict(obs, action)._replace(outcome=raw)


def onward(obs, generator):
    return {"action": torch.ones_like(obs), "value": 10 * obs[:, 0]}


def segment_of(start=(0.0, 1.0, 2.0), horizon=3, **options):
    obs = torch.tensor(start).unsqueeze(1)
    parts = {"gamma": 0.5, "generator": GENERATOR, **options}
    return imagine(Line(), onward, obs, horizon, **parts)


def column(segment, name):
    return segment[name].squeeze(-1).T.tolist()


class TestImagine:
    def test_by_hand(self):
        segment = segment_of(model_version=4, policy_version=7)
        assert segment.batch_size == (3, 3)
        assert column(segment, "obs")[0] == [0, 1, 2]
        assert column(segment, "next_obs")[1] == [2, 3, 4]
        assert segment["reward"].T.tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
        end = [[False, False, True], [False, True, False], [True, False, False]]
        assert segment["terminated"].T.tolist() == end
        # The first ends in the last row, so that nothing is cut.
        assert not segment["truncated"].any()
        valid = [[True] * 3, [True, True, False], [True, False, False]]
        assert segment["valid"].T.tolist() == valid
        assert (segment["discount"] == 0.5).all()
        assert (segment["disagreement"] == 0.25).all()
        assert (segment["model_version"] == 4).all()
        assert (segment["policy_version"] == 7).all()
        assert segment["value"].T.tolist()[0] == [0, 10, 20]
        assert imagined_return(segment).tolist() == [6, 5, 3]
        segment = segment_of(horizon=2)  # which cuts what goes on
        assert segment["truncated"].T.tolist() == [[False, True]] + [[False] * 2] * 2
        assert segment["terminated"].T.tolist() == [row[:2] for row in end]

    def test_of_three_classes_the_reward_is_that_of_the_drawn_one(self):
        parts = {"gamma": 0.5, "generator": torch.Generator().manual_seed(0)}
        segment = imagine(Chance(), onward, torch.zeros(300, 1), 1, **parts)
        reward, ended = segment["reward"], segment["terminated"]
        assert reward.unique().tolist() == [0.0, 1.0]
        assert reward[~ended].eq(0).all()
        assert 0 < reward[ended].mean() < 1

    def test_an_uncertain_end_discounts(self):
        options = {"gamma": 0.5, "generator": GENERATOR, "soft": True}
        segment = imagine(Line(1.0), onward, torch.zeros(1, 1), 3, **options)
        end = torch.sigmoid(torch.tensor([-1.5, -0.5, 0.5]))
        torch.testing.assert_close(segment["discount"][:, 0], 0.5 * (1 - end))
        reached = [1.0, 1 - end[0], (1 - end[0]) * (1 - end[1])]
        torch.testing.assert_close(segment["reached"][:, 0], torch.tensor(reached))
        assert not segment["terminated"].any()
        assert segment["valid"].all()
        assert segment["truncated"].tolist() == [[False], [False], [True]]

    def test_gradients_flow_into_the_first_action(self):
        push = torch.tensor([[0.5]], requires_grad=True)
        policy = lambda obs, generator: {"action": push.expand_as(obs)}  # noqa: E731
        options = {"gamma": 0.5, "generator": GENERATOR}
        segment = imagine(Line(), policy, torch.zeros(1, 1), 3, **options)
        segment["reward"].sum().backward()
        assert push.grad is not None
        assert push.grad.item() == 1 + 2 + 3


def buffer_of(capacity=12, num_branches=3, **options):
    options = {"gamma": 0.5, **options}
    return ImaginationBuffer(capacity, LINE, PUSH, num_envs=num_branches, **options)


class TestBuffer:
    def test_only_steps_that_were_taken_are_drawn(self):
        buffer = buffer_of()
        buffer.add(segment_of(horizon=3))
        batch = buffer.sample(200)
        assert batch["valid"].all()
        seen = set(
            zip(batch["obs"][:, 0].tolist(), batch["reward"].tolist(), strict=True)
        )
        assert seen == {(0, 1), (1, 2), (2, 3)}
        assert len(buffer.every_step()) == 6

    def test_sequences_stay_in_their_branch(self):
        buffer = buffer_of(100)
        for start in (0.0, -10.0):
            buffer.add(segment_of((start, start, start), horizon=2))
        batch = buffer.sequences(100, 2)
        steps = batch["obs"].squeeze(-1)
        assert (steps[1] - steps[0] == 1).all()
        assert set(steps[0].tolist()) == {0.0, -10.0}
        with pytest.raises(RuntimeError, match="no episode has 3 steps"):
            buffer.sequences(1, 3)

    def test_each_step_has_its_own_discount_and_versions(self):
        buffer = buffer_of()
        for version in (1, 2):
            versions = {"model_version": version, "policy_version": 10 * version}
            segment = segment_of(horizon=2, **versions)
            segment["discount"] = torch.tensor([[0.1, 0.2, 0.3]] * 2)
            buffer.add(segment)
        batch = buffer.sample(100)
        assert torch.equal(batch["policy_version"], 10 * batch["model_version"])
        assert set(batch["model_version"].tolist()) == {1, 2}
        found = batch["discount"].unique().tolist()
        assert found == pytest.approx([0.1, 0.2, 0.3])

    def test_a_saved_one_goes_on(self):
        one, two = buffer_of(seed=1), buffer_of(seed=2)
        one.add(segment_of(horizon=3))
        two.load_state_dict(one.state_dict())
        assert torch.equal(one.sample(30)["obs"], two.sample(30)["obs"])

    def test_what_does_not_fit_is_refused(self):
        for segment, word in (
            (segment_of((0.0,) * 3, horizon=3)[:2], "mark them as truncated"),
            (segment_of((-9.0,) * 3, horizon=5), "capacity of 15 or more"),
        ):
            with pytest.raises(ValueError, match=word):
                buffer_of().add(segment)
        with pytest.raises(ValueError, match="horizon = 0"):
            segment_of(horizon=0)
