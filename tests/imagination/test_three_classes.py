"""The three classes on every combination, their weights, and symlog two-hot."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from yieldrl.imagination import (
    RewardAndEnd,
    ThreeClasses,
    TwoHot,
    class_weights,
    encode_reward_termination,
    outcome_head,
    recall_of_ends,
    symexp,
    symlog,
)
from yieldrl.imagination.outcomes import LOG_VAR, soft_clamp


def test_every_combination_of_reward_and_end():
    reward, terminated = (
        torch.tensor([0.0, 0.0, 1.0]),
        torch.tensor([False, True, True]),
    )
    classes = encode_reward_termination(reward, terminated)
    assert classes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"reward of 1 and goes on.*end the"):
        encode_reward_termination(torch.ones(1), torch.tensor([False]))
    with pytest.raises(ValueError, match=r"got 0.5: choose.*'symlog'"):
        encode_reward_termination(torch.tensor([0.0, 0.5]), torch.tensor([False, True]))


class TestBalance:
    def test_weights_by_hand(self):
        classes = torch.tensor([0] * 90 + [1] * 6 + [2] * 4)
        expected = [100 / 270, 100 / 18, 100 / 12]
        assert class_weights(classes, 3).tolist() == pytest.approx(expected)
        # So each class adds up to a third of the loss.
        totals = class_weights(classes, 3) * torch.tensor([90, 6, 4])
        assert totals.tolist() == pytest.approx([100 / 3] * 3)

    def test_a_rare_one_is_bounded_and_a_missing_one_counts_as_one(self):
        classes = torch.tensor([0] * 999 + [2])
        found = class_weights(classes, 3, most=20).tolist()
        assert found == pytest.approx([1000 / 2997, 1, 20])
        end = torch.tensor([[0.9, 0.4], [0.6, 0.1]])
        ended = torch.tensor([[True, True], [True, False]])
        assert recall_of_ends(end, ended).item() == pytest.approx(2 / 3)
        assert recall_of_ends(end, ended & False).isnan()

    def test_loss_and_probabilities_by_hand(self):
        head = ThreeClasses()
        head.weights.copy_(torch.tensor([0.5, 2.0, 4.0]))
        logits = torch.tensor([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]]).log()
        found = head.class_loss(logits, torch.tensor([1, 0]))
        expected = -2 * torch.tensor(0.3).log(), -0.5 * torch.tensor(0.7).log()
        torch.testing.assert_close(found, torch.stack(expected))
        # 0.2 / 0.5, 0.3 / 2, 0.5 / 4, of which the sum is 0.675.
        torch.testing.assert_close(
            head.probabilities(logits)[0], torch.tensor([0.4, 0.15, 0.125]) / 0.675
        )


class TestSymlog:
    @given(st.floats(-1e6, 1e6, width=32))
    def test_the_inverse(self, number):
        x = torch.tensor(number, dtype=torch.float64)
        torch.testing.assert_close(symexp(symlog(x)), x, rtol=1e-9, atol=1e-9)

    @given(st.floats(-20_000, 20_000, width=32))
    def test_the_mean_of_the_code_is_the_number(self, number):
        two_hot = TwoHot()
        code = two_hot.encode(torch.tensor([number]))
        assert code.sum().item() == pytest.approx(1)
        assert (code > 0).sum() <= 2
        found = (code * two_hot.bins).sum().item()
        assert found == pytest.approx(number, rel=1e-4, abs=1e-4)

    def test_bins_and_a_code_by_hand(self):
        two_hot = TwoHot(bins=5, limit=2.0)
        e = 2.718281828
        bins = [1 - e**2, 1 - e, 0, e - 1, e**2 - 1]
        assert two_hot.bins.tolist() == pytest.approx(bins)
        share = (3 - bins[3]) / (bins[4] - bins[3])
        code = two_hot.encode(torch.tensor([[3.0, 0.0, 99.0]]))[0]
        assert code[0].tolist() == pytest.approx([0, 0, 0, 1 - share, share])
        assert code[1].tolist() == pytest.approx([0, 0, 1, 0, 0])
        assert code[2].tolist() == pytest.approx([0, 0, 0, 0, 1])


class TestHeads:
    def test_a_soft_clamp(self):
        x = torch.tensor([-1e3, -5.0, 1e3, 0.5])
        found = soft_clamp(x, -10.0, 0.5).tolist()
        middle = 0.5 - math.log1p(1)
        assert found == pytest.approx([-10, -5, 0.5, middle], abs=0.02)

    def test_three_classes(self):
        head = ThreeClasses()
        head.fit_to(torch.tensor([0.0, 0, 1]), torch.tensor([False, True, True]))
        assert head.weights.tolist() == [1.0, 1.0, 1.0]
        raw = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]).log()
        found = head(raw)
        assert found.reward.tolist() == pytest.approx([0.5, 0.1])
        assert found.end.tolist() == pytest.approx([0.8, 0.4])
        assert found.terminated.tolist() == [True, False]
        assert found.certain_reward.tolist() == [1.0, 0.0]
        reward, ended = torch.tensor([1.0, 0.0]), torch.tensor([True, False])
        loss = head.loss(raw, reward, ended)
        torch.testing.assert_close(loss, -torch.tensor([0.5, 0.6]).log())

    def test_classes_are_drawn_as_often_as_they_come(self):
        head = ThreeClasses()
        raw = torch.tensor([0.7, 0.1, 0.2]).log().expand(20_000, 3)
        assert not head(raw).certain_reward.any()
        found = head(raw, torch.Generator().manual_seed(0))
        assert found.certain_reward.mean().item() == pytest.approx(0.2, abs=0.01)
        assert found.terminated.float().mean().item() == pytest.approx(0.3, abs=0.01)
        assert found.terminated[found.certain_reward > 0].all()

    def test_a_number_and_an_end(self):
        head = RewardAndEnd()
        reward = torch.tensor([1.0, 5.0])
        head.fit_to(reward, torch.tensor([False, True]))
        assert (head.mean.item(), head.std.item()) == (3.0, 2.0)
        raw = torch.tensor([[0.0, 0.0, 0.5, 0.0], [0.0, 1.0, 1.0, -math.log(2)]])
        found = head(raw)
        assert found.reward.tolist() == [4.0, 5.0]
        assert found.end.tolist() == pytest.approx([0.5, 0.7310586])
        assert found.terminated.tolist() == [False, True]
        ended = torch.tensor([False, True])
        # (1 - 3) / 2 = -1 and .5 predicted; log 2 and -log .731 of the ends.
        found = head.error(raw, reward, ended)
        assert found.tolist() == pytest.approx([0.6931472 + 2.25, 0.3132617])
        low, high = (soft_clamp(raw[i, 3], *LOG_VAR).item() for i in (0, 1))
        expected = [
            0.6931472 + 0.5 * (2.25 * math.exp(-low) + low),
            0.3132617 + high / 2,
        ]
        found = head.loss(raw, reward, ended)
        assert found.tolist() == pytest.approx(expected)

        head.fit_to(torch.ones(3), torch.zeros(3).bool())  # which never vary
        assert head(torch.zeros(1, 4)).reward.tolist() == [1.0]

    def test_symlog(self):
        head = outcome_head("symlog")
        assert head.outputs == 2 + len(head.two_hot.bins)
        raw = torch.zeros(1, head.outputs)
        raw[0, 2:] = head.two_hot.encode(torch.tensor(-7.0)).clamp(min=1e-30).log()
        assert head(raw).reward.item() == pytest.approx(-7.0, rel=1e-4)
        expected = head.two_hot.loss(raw[:, 2:], torch.tensor([2.0])) + 0.6931472
        for compared in (head.loss, head.error):
            found = compared(raw, torch.tensor([2.0]), torch.tensor([False]))
            torch.testing.assert_close(found, expected)
