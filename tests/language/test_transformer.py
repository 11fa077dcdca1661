"""The small transformer: what depends on what, with and without a cache."""

import pytest
import torch

from yieldrl.language import Transformer
from yieldrl.vla.backends.decoder import visible

VOCABULARY = 11


def model(**options):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "num_layers": 2, "num_heads": 2, **options}
    made = Transformer(VOCABULARY, 12, **sizes)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():  # also what begins at zero
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return made.eval()


def tokens(batch=3, length=7, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (batch, length), generator=generator)


def shown(lengths, length=7):
    return torch.arange(length - 1, -1, -1) < torch.tensor(lengths).unsqueeze(1)


def test_who_attends_to_whom_by_hand():
    mask = visible(torch.tensor([[False, True, True, True]]), None, 3)
    assert mask.shape == (1, 1, 3, 4)
    expected = [[0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]
    assert mask[0, 0].int().tolist() == expected
    padding = visible(torch.tensor([[False, False, True]]), None, 3)[0, 0]
    assert padding.int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("place", [0, 3, 6])
def test_nothing_depends_on_what_comes_later(place):
    network, first = model(), tokens()
    second = first.clone()
    second[:, place] = (second[:, place] + 1) % VOCABULARY
    everything = torch.ones(3, 7, dtype=torch.bool)
    before, after = network(first, everything), network(second, everything)
    assert torch.equal(before[:, :place], after[:, :place])
    assert (before[:, place:] != after[:, place:]).any(-1).all()


def test_padding_on_the_left_changes_nothing():
    network, whole = model(), tokens()
    batch = network(whole, shown([7, 4, 1]))
    for row, length in enumerate([7, 4, 1]):
        alone = whole[row : row + 1, -length:]
        expected = network(alone, torch.ones_like(alone, dtype=torch.bool))
        torch.testing.assert_close(batch[row : row + 1, -length:], expected)
    other = whole.clone()
    other[1, :3] = 5
    assert torch.equal(network(other, shown([7, 4, 1]))[1, 3:], batch[1, 3:])
    assert batch.isfinite().all()


def test_a_cache_gives_what_one_pass_gives():
    network, whole, there = model(), tokens(), shown([7, 5, 2])
    expected, cache = network(whole, there), network.new_cache(7)
    found = [network(whole[:, :4], there[:, :4], cache)]
    for place in range(4, 7):
        new = whole[:, place : place + 1]
        found.append(network(new, there[:, : place + 1], cache))
    torch.testing.assert_close(torch.cat(found, 1), expected)
    torch.testing.assert_close(network(whole, there, last=2), expected[:, -2:])
