"""What an encoder read is told again: shapes, targets and losses."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from yieldrl.core import Utf8Text
from yieldrl.imagination import make_decoder, symlog
from yieldrl.networks import make_encoder


def decoder_of(space):
    """One whose answers are all zero."""
    decoder = make_decoder(make_encoder(space), 6, [8])
    for parameter in list(decoder.parameters()):
        torch.nn.init.zeros_(parameter)
    return decoder


@pytest.mark.parametrize(
    ("shape", "maps"), [((10, 10, 4), (4, 10, 10)), ((3, 64, 61), (3, 64, 61))]
)
def test_images_come_back_in_their_size(shape, maps):
    space = Box(0, 255, shape, np.uint8)
    encoder = make_encoder(space)
    decoder = make_decoder(encoder, 6, [8])
    own = {id(p) for p in decoder.parameters()}
    assert not own & {id(p) for p in encoder.parameters()}
    obs = torch.full((2, *shape), 51, dtype=torch.uint8)
    assert decoder(torch.zeros(2, 6)).shape == (2, *maps)
    torch.testing.assert_close(decoder.target(obs), torch.full((2, *maps), 0.2))


def test_an_images_loss_is_summed_over_its_pixels():
    decoder = decoder_of(Box(0, 1, (10, 10, 4), np.bool_))
    obs = torch.zeros(2, 10, 10, 4, dtype=torch.bool)
    obs[1, :3, 0, 0] = True
    assert decoder.loss(torch.zeros(2, 6), obs).tolist() == [0.0, 3.0]


def test_numbers_are_read_by_their_logarithm_and_entries_add_up():
    decoder = decoder_of(Box(-np.inf, np.inf, (2,), np.float32))
    obs = torch.tensor([[3.0, -100.0]])
    assert torch.equal(decoder.target(obs), symlog(obs))
    by_hand = np.log(4.0) ** 2 + np.log(101.0) ** 2
    assert decoder.loss(torch.zeros(1, 6), obs).item() == pytest.approx(by_hand)
    decoder = decoder_of(Dict({"a": Box(-1, 1, (2,), np.float32), "b": Discrete(3)}))
    obs = {"a": torch.zeros(1, 2), "b": torch.tensor([2])}
    assert decoder.loss(torch.zeros(1, 6), obs).item() == pytest.approx(np.log(2) ** 2)
    with pytest.raises(TypeError, match="not sentences"):
        decoder_of(Utf8Text(9))
