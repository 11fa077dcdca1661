"""What remembers: resets against episodes apart; windows and the GRU by themselves."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from yieldrl.networks import GRU, LSTM, WindowMLP


def random(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def window_of(window=3):
    torch.manual_seed(0)
    return WindowMLP(2, window, (5,), 4).double()


def gru_of():
    torch.manual_seed(0)
    return GRU(2, 6, 4).double()


def lstm_of():
    torch.manual_seed(0)
    return LSTM(2, 4).double()


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
