"""The LSTM against PyTorch's, and the memory."""

import pytest
import torch
from torch import nn

from yieldrl.networks import LSTM, Memory

CPU = torch.device("cpu")


def lstm_of(inputs=3, size=4, dtype=torch.float64):
    torch.manual_seed(0)
    return LSTM(inputs, size).to(dtype)


def random(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


class TestLSTM:
    def test_it_is_pytorchs(self):
        tested, torch_lstm = lstm_of(), nn.LSTM(3, 4, dtype=torch.float64)
        # PyTorch orders the gates i, f, g, o and has two biases.
        order = torch.tensor([0, 1, 3, 2])
        for name, own in (("ih", tested.input_weight), ("hh", tested.hidden_weight)):
            gates = own.data.view(4, 4, -1)[order].flatten(0, 1)
            getattr(torch_lstm, f"weight_{name}_l0").data = gates
        torch_lstm.bias_ih_l0.data = tested.bias.data.view(4, 4)[order].flatten()
        nn.init.zeros_(torch_lstm.bias_hh_l0)
        x, memory = random(7, 2, 3), random(2, 8)
        output, after = tested(x, memory, torch.zeros(7, 2, dtype=torch.bool))
        h, c = (part[None].contiguous() for part in memory.chunk(2, -1))
        expected, last = torch_lstm(x, (h, c))
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(after, torch.cat(last, dim=-1)[0])

    def test_no_gradient_flows_into_the_episode_before(self):
        lstm, x = lstm_of(), random(4, 1, 3).requires_grad_()
        memory = random(1, 8).requires_grad_()
        first = torch.tensor([[0], [0], [1], [0]]).bool()
        lstm(x, memory, first)[0][2:].sum().backward()
        assert x.grad is not None
        assert memory.grad is not None
        assert x.grad[:2].eq(0).all()
        assert memory.grad.eq(0).all()
        assert x.grad[2:].ne(0).all()

    def test_it_begins_by_remembering(self):
        lstm = lstm_of(size=5)
        assert lstm.bias.view(4, 5).unique(dim=1).flatten().tolist() == [0, 1, 0, 0]
        for gate in lstm.hidden_weight.detach().float().split(5):
            torch.testing.assert_close(gate @ gate.t(), torch.eye(5))


class TestMemory:
    def test_everything_begins(self):
        state, first = Memory(3, CPU).recall(2)
        assert state.tolist() == [[0, 0, 0]] * 2
        assert first.tolist() == [True, True]

    def test_it_says_whose_episode_begins(self):
        memory = Memory(1, CPU)
        memory.begin([True, False])  # nothing is under way yet: all of them begin
        assert memory.recall(2)[1].tolist() == [True, True]
        memory.keep(torch.tensor([[1.0], [2.0]]))
        assert memory.recall(2)[1].tolist() == [False, False]
        memory.begin(torch.tensor([False, True]))
        memory.begin([False, False])  # takes nothing back
        state, first = memory.recall(2)
        assert state.tolist() == [[1], [2]]  # to be counted as empty where it begins
        assert first.tolist() == [False, True]
        memory.begin(True)
        assert memory.recall(2)[1].tolist() == [True, True]

    def test_another_number_of_episodes_must_be_begun(self):
        memory = Memory(1, CPU)
        memory.recall(2)
        with pytest.raises(ValueError, match=r"3 observations, but 2 .* begin_episode"):
            memory.recall(3)
        memory.begin()
        assert len(memory.recall(3)[0]) == 3

    def test_it_is_saved(self):
        memory, other = Memory(1, CPU), Memory(1, CPU)
        assert memory.state_dict() == {}
        memory.recall(2)
        memory.keep(torch.tensor([[1.0], [2.0]]))
        memory.begin([True, False])
        other.load_state_dict(memory.state_dict())
        state, first = other.recall(2)
        assert state.tolist() == [[1], [2]]
        assert first.tolist() == [True, False]
        other.load_state_dict({})
        assert other.recall(1)[1].tolist() == [True]
