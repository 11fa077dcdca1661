"""What remembers: resets against episodes apart; each kind by itself; the memory."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from yieldrl.networks import GRU, LSTM, Memory, WindowMLP

CPU = torch.device("cpu")


def random(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def window_of(window=3):
    torch.manual_seed(0)
    return WindowMLP(2, window, (5,), 4).double()


def gru_of():
    torch.manual_seed(0)
    return GRU(2, 6, 4).double()


def lstm_of(inputs=2, size=4):
    torch.manual_seed(0)
    return LSTM(inputs, size).double()


KINDS = {"window": window_of, "window of one": lambda: window_of(1), "gru": gru_of}
KINDS["lstm"] = lstm_of


def nothing(*shape):
    return torch.zeros(*shape, dtype=torch.bool)


@pytest.mark.parametrize("kind", KINDS)
class TestHistories:
    @settings(max_examples=30)
    @given(first=st.lists(st.lists(st.booleans(), min_size=2, max_size=2), min_size=1))
    def test_episodes_in_a_sequence_are_episodes_apart(self, kind, first):
        tested, begins = KINDS[kind](), torch.tensor(first)
        x, memory = random(len(first), 2, 2), random(2, tested.memory_size)
        output, after = tested(x, memory, begins)
        for n in range(2):
            cuts = [0, *(t for t in range(1, len(first)) if first[t][n]), len(first)]
            for start, end in pairwise(cuts):
                before = memory[n : n + 1] * float(not first[start][n])
                part = x[start:end, n : n + 1]
                apart = tested(part, before, nothing(end - start, 1))
                torch.testing.assert_close(output[start:end, n : n + 1], apart[0])
            torch.testing.assert_close(after[n : n + 1], apart[1])

    def test_step_by_step_is_all_at_once(self, kind):
        tested = KINDS[kind]()
        x, memory = random(5, 2, 2), random(2, tested.memory_size)
        first = torch.tensor([[0, 1], [0, 0], [1, 0], [0, 0], [0, 1]]).bool()
        output, after = tested(x, memory, first)
        for t in range(5):
            step, memory = tested(x[t : t + 1], memory, first[t : t + 1])
            torch.testing.assert_close(step[0], output[t])
        torch.testing.assert_close(memory, after)


def test_a_window_is_the_latest_inputs_and_zeros_before_the_episode():
    tested = window_of(3)
    x = torch.arange(1.0, 9).view(4, 1, 2).double()
    first = torch.tensor([[1], [0], [0], [0]]).bool()
    output, memory = tested(x, random(1, 4), first)
    zero = torch.zeros(2, dtype=torch.float64)
    for t, rows in enumerate([(zero, zero, x[0, 0]), (zero, x[0, 0], x[1, 0])]):
        window = torch.stack(rows, dim=-1).flatten()  # input by input, time last
        torch.testing.assert_close(output[t, 0], tested.mlp(window))
    assert memory.tolist() == [[5, 6, 7, 8]]


def test_the_gru_is_pytorchs():
    tested, other = gru_of(), nn.GRU(2, 6, dtype=torch.float64)
    for name, own in tested.cell.named_parameters():
        getattr(other, f"{name}_l0").data = own.data.uniform_()
    x, memory = random(7, 3, 2), random(3, 6)
    output, after = tested(x, memory, nothing(7, 3))
    expected, last = other(x, memory[None])
    torch.testing.assert_close(output, tested.head(expected))
    torch.testing.assert_close(after, last[0])


class TestLSTM:
    def test_it_is_pytorchs(self):
        tested, torch_lstm = lstm_of(3), nn.LSTM(3, 4, dtype=torch.float64)
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
        lstm, x = lstm_of(3), random(4, 1, 3).requires_grad_()
        memory = random(1, 8).requires_grad_()
        first = torch.tensor([[0], [0], [1], [0]]).bool()
        lstm(x, memory, first)[0][2:].sum().backward()
        assert x.grad is not None
        assert memory.grad is not None
        assert x.grad[:2].eq(0).all()
        assert memory.grad.eq(0).all()
        assert x.grad[2:].ne(0).all()

    def test_it_begins_by_remembering(self):
        lstm = lstm_of(3, 5).float()
        assert lstm.bias.view(4, 5).unique(dim=1).flatten().tolist() == [0, 1, 0, 0]
        for gate in lstm.hidden_weight.detach().split(5):
            torch.testing.assert_close(gate @ gate.t(), torch.eye(5))


class TestMemory:
    def test_it_says_whose_episode_begins(self):
        state, first = Memory(3, CPU).recall(2)
        assert state.tolist() == [[0, 0, 0]] * 2
        assert first.tolist() == [True, True]
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

    def test_another_number_of_episodes_must_be_begun_and_it_is_saved(self):
        memory = Memory(1, CPU)
        memory.recall(2)
        with pytest.raises(ValueError, match=r"3 observations, but 2 .* begin_episode"):
            memory.recall(3)
        memory.begin()
        assert len(memory.recall(3)[0]) == 3
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
