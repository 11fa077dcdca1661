"""Between a robot's units and [-1, 1]."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from yieldrl.vla import ActionBins, ActionStatistics, ProprioStatistics

FILE = {
    "robot": {
        "action": {
            "q01": [0.0, -2.0, 0.0],
            "q99": [1.0, 2.0, 1.0],
            "mask": [True, True, False],
        },
        "proprio": {"q01": [0.0], "q99": [4.0]},
    }
}


class TestActions:
    def test_bounds_become_minus_one_and_one_also_when_loaded(self):
        own = ActionStatistics(2).set_range([0, -10], [4, -8])
        torch.testing.assert_close(
            own.normalize(torch.tensor([[0.0, -10], [2, -9], [4, -8]])),
            torch.tensor([[-1.0, -1], [0, 0], [1, 1]]),
        )
        assert own.denormalize(torch.tensor([0.5, -1])).tolist() == [3.0, -10.0]
        loaded = ActionStatistics(2)
        loaded.load_state_dict(own.state_dict())
        assert loaded.fitted
        assert loaded.denormalize(torch.tensor([0.5, -1])).tolist() == [3.0, -10.0]

    @given(
        st.floats(-1e3, 1e3, width=32),
        st.floats(0, 1e3, width=32),
        st.sampled_from([2, 16, 256]),
    )
    @example(0.0, 2.0**-149, 16)  # the smallest numbers that there are
    @example(2.0**-149, 2.0**-149, 256)
    @example(0.0, 1e-30, 256)
    @example(0.0, 1e-29, 256)
    def test_a_bin_is_found_again_in_the_robots_units(self, low, width, count):
        own = ActionStatistics(1).set_range([low], [np.float32(low) + width])
        bins, ids = ActionBins(count), torch.arange(count).unsqueeze(1)
        action = own.denormalize(bins.decode(ids))
        assert torch.equal(bins.encode(own.normalize(action)), ids)

    def test_data_give_their_quantiles(self):
        data = torch.linspace(0, 100, 10_001).reshape(73, 137, 1).repeat(1, 1, 2)
        own = ActionStatistics(2).fit(data)
        torch.testing.assert_close(own.low, torch.full((2,), 1.0))
        torch.testing.assert_close(own.high, torch.full((2,), 99.0))
        assert not ActionStatistics(2).fit(data[:0]).fitted

    def test_what_never_changes_in_data_keeps_a_narrow_range(self):
        own = ActionStatistics(2).fit(torch.tensor([[0.0, 5.0]] * 4))
        torch.testing.assert_close(own.low, torch.tensor([-0.01, 4.995]))
        assert torch.isfinite(own.normalize(torch.tensor([0.0, 5.0]))).all()

    @pytest.mark.parametrize("usual", [0.0, -2.0])
    def test_where_quantiles_coincide_the_range_counts(self, usual):
        """A gripper that closes in one step of a thousand, beside a joint."""
        data = torch.full((100, 10, 2), usual)
        data[..., 1] = torch.linspace(0, 100, 1000).view(100, 10)
        data[50, 5, 0] = usual + 0.5
        own = ActionStatistics(2).fit(data)
        torch.testing.assert_close(own.low, torch.tensor([usual, 1.0]))
        torch.testing.assert_close(own.high, torch.tensor([usual + 0.5, 99.0]))
        rare = torch.tensor([usual + 0.5, 50.0])
        torch.testing.assert_close(own.normalize(rare), torch.tensor([1.0, 0.0]))
        torch.testing.assert_close(own.denormalize(own.normalize(rare)), rare)

    def test_a_rare_action_among_very_many_is_not_missed(self):
        data = torch.zeros(250_000, 1)
        data[1] = 0.5  # which every third row passes over
        assert ActionStatistics(1).fit(data).high.tolist() == [0.5]

    def test_the_file_of_openvla(self):
        own = ActionStatistics(3).from_openvla(FILE, None, "action")
        assert own.low[:2].tolist() == [0.0, -2.0]
        assert own.high[:2].tolist() == [1.0, 2.0]
        ActionStatistics(3).from_openvla({**FILE, "b": {}}, "robot", "action")

    @pytest.mark.parametrize("masked", [True, False])
    def test_a_gripper_is_turned_round_as_openvla_turns_it(self, masked):
        """-sign(2 x - 1), of which LIBERO takes the sign; 1 - clip(a, 0, 1) back."""
        own = {"q01": [-0.5] * 6 + [0.0], "q99": [0.5] * 6 + [1.0]}
        if masked:
            own["mask"] = [True] * 6 + [False]
        file = {"libero_spatial_no_noops": {"action": own}}
        statistics = ActionStatistics(7).from_openvla(file, None, "action")
        said = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
        scaled = torch.zeros(5, 7)
        scaled[:, 6] = said if masked else 2 * said - 1
        acted = statistics.denormalize(scaled)
        assert acted[:, 6].sign().tolist() == [1, 1, 0, -1, -1]
        assert acted[[0, 4], 6].tolist() == [1, -1]
        assert acted[:, :6].eq(0).all()
        torch.testing.assert_close(statistics.normalize(acted), scaled)
        own.pop("mask", None)  # what is felt stays as it is
        file["libero_spatial_no_noops"]["proprio"] = own
        statistics = ProprioStatistics(7).from_openvla(file, None, "proprio")
        assert statistics.low.tolist() == own["q01"]
        assert statistics.high.tolist() == own["q99"]

    def test_data_of_aloha_are_scaled_by_their_range_and_have_no_such_gripper(self):
        own = {"q01": [0.1], "q99": [0.8], "min": [0.0], "max": [1.0]}
        file = {"aloha1_fold_shirt": {"action": own, "proprio": own}}
        for kind, entry in (ActionStatistics, "action"), (ProprioStatistics, "proprio"):
            statistics = kind(1).from_openvla(file, None, entry)
            assert (statistics.low.item(), statistics.high.item()) == (0, 1)

    def test_a_file_that_does_not_fit_is_refused(self):
        with pytest.raises(ValueError, match="dataset = 'x': choose one of"):
            ActionStatistics(3).from_openvla(FILE, "x", "action")
        with pytest.raises(ValueError, match="no 'gaze'"):
            ActionStatistics(3).from_openvla(FILE, None, "gaze")
        with pytest.raises(ValueError, match="3 numbers for 7"):
            ActionStatistics(7).from_openvla(FILE, None, "action")


class TestProprioception:
    def test_it_passes_until_it_is_known(self):
        own, values = ProprioStatistics(2), torch.tensor([[3.0, -70.0]])
        assert torch.equal(own.normalize(values), values)
        own.set_range([0, 0], [4, 1])
        assert own.normalize(values).tolist() == [[0.5, -10.0]]

    def test_bounds_that_say_nothing_are_not_taken(self):
        for bound in (np.inf, 3.4e38):
            huge = np.full(1, bound, np.float32)
            assert not ProprioStatistics(1).from_bounds(-huge, huge).fitted
        assert ProprioStatistics(1).from_bounds(-np.ones(1), np.ones(1)).fitted
