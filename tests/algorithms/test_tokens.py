"""Which tokens of an action count, and where they lie in an episode."""

from types import SimpleNamespace

import torch
from tensordict import TensorDict

from yieldrl.algorithms.tokens import in_rows, sum_executed, tokens_taken, where_taken

STEPS = TensorDict({"action": torch.tensor([[5, 0, 0], [5, 5, 0]])}, [2])
PLAIN = SimpleNamespace()


def test_every_number_counts_where_nobody_says_otherwise():
    assert tokens_taken(PLAIN, STEPS, torch.zeros(2)).tolist() == [True, True]
    assert tokens_taken(PLAIN, STEPS, torch.zeros(2, 3, 2)).all()


def test_a_policy_that_writes_says_which():
    writer = SimpleNamespace(written=lambda action: action > 0)
    written = [[True, False, False], [True, True, False]]
    assert tokens_taken(writer, STEPS, torch.zeros(2, 3)).tolist() == written
    assert tokens_taken(writer, STEPS, torch.zeros(2)).all(), "one number for all"


def test_of_chunks_the_executed_actions_count():
    chunks = STEPS.copy().set("num_steps", torch.tensor([1, 3]))
    taken = tokens_taken(PLAIN, chunks, torch.zeros(2, 3, 2))
    assert taken.tolist() == [[[True] * 2, [False] * 2, [False] * 2], [[True] * 2] * 3]
    numbers = torch.arange(12.0).view(2, 3, 2)
    assert sum_executed(numbers, chunks).tolist() == [0 + 1, 6 + 7 + 8 + 9 + 10 + 11]
    assert sum_executed(numbers, STEPS).tolist() == [15, 51]
    assert sum_executed(numbers[:, 0, 0], chunks).tolist() == [0, 6], "of whole chunks"


def test_of_a_step_any_token_is_enough():
    mask = torch.tensor([[[True, False], [False, False]]])
    assert where_taken(torch.ones(1, 2, 2), mask).tolist() == [[[1, 0], [0, 0]]]
    assert where_taken(torch.ones(1, 2, 1), mask).tolist() == [[[1], [0]]]


def test_steps_go_to_their_places_in_episodes_and_gradients_through():
    valid = torch.tensor([[True, False], [True, True]])
    said = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    rows = in_rows(said, valid)
    assert rows.tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]
    rows.square().sum().backward()
    assert torch.equal(said.grad, 2 * said.detach())
    assert in_rows(torch.ones(3), valid).shape == (2, 2, 1)
    assert in_rows(torch.ones(3, 1, 2) > 0, valid).dtype == torch.bool
