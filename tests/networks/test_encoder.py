"""Encoders: every kind of observation becomes features, none is mixed up."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from tensordict import TensorDict
from torch import nn

from yieldrl.networks import DictEncoder, NatureCNN, make_encoder


def image(*shape, dtype=np.uint8):
    return Box(0, 255 if dtype == np.uint8 else 1, shape, dtype)


def convolutions(encoder):
    return [layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bool])
def test_features_are_float32(dtype):
    features = make_encoder(Box(-1, 1, (3,)))(torch.ones(2, 3, dtype=dtype))
    assert features.dtype == torch.float32
    assert (features == 1).all()


@pytest.mark.parametrize("shape", [(), (2, 3, 4), (20, 20, 20)])
def test_arrays_that_are_no_images_are_flattened(shape):
    encoder = make_encoder(Box(-1, 1, shape))
    obs = torch.randn(5, *shape)
    assert not convolutions(encoder)
    assert encoder.size == int(np.prod(shape))
    assert torch.equal(encoder(obs), obs.reshape(5, -1))


@pytest.mark.parametrize(
    "space", [Discrete(3), MultiDiscrete([2, 3]), Box(-1, 1, (2, 2))], ids=str
)
def test_an_exported_encoder_takes_batches_of_any_size(space):
    encoder = make_encoder(space)
    five = torch.from_numpy(np.stack([space.sample() for _ in range(5)]))
    batch = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(encoder, (five[:2],), dynamic_shapes=batch)
    assert torch.equal(program.module()(five), encoder(five))


def test_choices_may_start_elsewhere_and_bits_pass_as_numbers():
    table = MultiDiscrete([[2, 3], [2, 2]], start=[[0, 5], [1, 0]])
    for space, obs, features in (
        (Discrete(3, start=-1), [-1, 1], [[1, 0, 0], [0, 0, 1]]),
        (table, [[[1, 7], [1, 0]]], [[0, 1, 0, 0, 1, 1, 0, 1, 0]]),
        (MultiBinary((2, 2)), [[[1, 0], [1, 1]]], [[1, 0, 1, 1]]),
    ):
        assert make_encoder(space)(torch.tensor(obs)).tolist() == features


NESTED = Dict(
    camera=image(4, 40, 36),  # gymnasium keeps this order
    body=Dict(joints=Box(-1, 1, (3,)), mode=Discrete(2, start=1)),
)


@pytest.mark.parametrize("kind", [dict, lambda obs: TensorDict(obs, [5])])
def test_leaves_of_a_dict_are_concatenated(kind):
    encoder = make_encoder(NESTED)
    assert isinstance(encoder, DictEncoder)
    obs = {
        "body": {"joints": torch.randn(5, 3), "mode": torch.ones(5, dtype=torch.int64)},
        "camera": torch.randint(255, (5, 4, 40, 36), dtype=torch.uint8),
    }
    features = encoder(kind(obs))
    assert features.shape == (5, encoder.size)
    assert encoder.size == 512 + 3 + 2
    assert torch.equal(features[:, 512:515], obs["body"]["joints"])
    assert features[:, 515:].tolist() == [[1, 0]] * 5


@pytest.mark.parametrize(
    ("shape", "channels_last"),
    [
        ((4, 84, 84), False),  # frames stacked first, as ALE does
        ((84, 84, 4), True),
        ((10, 10, 4), True),  # MinAtar's Breakout
        ((10, 10, 10), True),  # MinAtar's Seaquest: Gymnasium's images end in channels
        ((16, 10, 10), False),  # more channels than pixels
    ],
)
def test_which_axis_is_channels(shape, channels_last):
    encoder = make_encoder(image(*shape))
    assert isinstance(encoder, NatureCNN)
    assert encoder.channels_last is channels_last
    channels = shape[2] if channels_last else shape[0]
    assert convolutions(encoder)[0].in_channels == channels
    obs = torch.zeros(2, *shape, dtype=torch.uint8)
    assert encoder(obs).shape == (2, encoder.size)


def test_layouts_are_the_same_network():
    """One picture, channels first or last, gives the same features."""
    first, last = make_encoder(image(4, 84, 84)), make_encoder(image(84, 84, 4))
    state = first.state_dict()
    maps = state["head.0.weight"].unflatten(1, (64, 7, 7))  # channels come last there
    last.load_state_dict(state | {"head.0.weight": maps.permute(0, 2, 3, 1).flatten(1)})
    picture = torch.randint(255, (2, 4, 84, 84), dtype=torch.uint8)
    torch.testing.assert_close(last(picture.permute(0, 2, 3, 1)), first(picture))


def test_large_images_go_through_the_nature_network_which_begins_orthogonal():
    encoder = make_encoder(image(4, 84, 84))
    found = convolutions(encoder)
    layers = [(c.out_channels, c.kernel_size[0], c.stride[0]) for c in found]
    assert layers == [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
    assert encoder.size == 512
    head = [m for m in encoder.modules() if isinstance(m, nn.Linear)]
    assert head[0].in_features == 64 * 7 * 7, "3136 in the paper"
    # Of Gymnasium's wrappers GrayscaleObservation and FrameStackObservation.
    with pytest.warns(UserWarning, match="pictures have three axes"):
        assert make_encoder(image(84, 84)).size == 84 * 84
    for layer in found:
        values = torch.linalg.svdvals(layer.weight.detach().flatten(1))
        torch.testing.assert_close(values, torch.full_like(values, 2**0.5))
        assert (layer.bias == 0).all()


@pytest.mark.parametrize("shape", [(36, 36, 3), (35, 84, 3), (5, 5, 3)])
def test_small_images_go_through_one_convolution(shape):
    encoder = make_encoder(image(*shape))
    large = min(shape[:2]) >= 36
    assert encoder.size == (512 if large else 128)
    assert len(convolutions(encoder)) == (3 if large else 1)
    assert encoder(torch.zeros(3, *shape, dtype=torch.uint8)).isfinite().all()


def unscaled_like(encoder, shape):
    """The same network for images of floats within [-1, 1]."""
    other = make_encoder(Box(-1, 1, shape, np.float32))
    other.load_state_dict(encoder.state_dict())
    return other


@pytest.mark.parametrize(
    ("low", "high", "dtype", "divisor"),
    [
        (0, 1, np.uint8, 1),
        (0, 255, np.uint8, 255),
        (-1, 1, np.int8, 1),
        (-4, 2, np.int16, 4),
        (0, 0, np.uint8, 1),
        (-np.inf, np.inf, np.int32, 255),  # no bounds, so as bytes are
        (0, 0.5, np.float32, 1),
        (-np.inf, np.inf, np.float32, 1),
    ],
)
def test_images_are_divided_by_their_bound(low, high, dtype, divisor):
    shape = (3, 10, 10)
    encoder = make_encoder(Box(low, high, shape, dtype))
    bottom, top = (0, 100) if np.isinf(high) else (int(low), int(high))
    picture = torch.randint(bottom, top + 1, (2, *shape))
    scaled = picture.float() / divisor
    torch.testing.assert_close(encoder(picture), unscaled_like(encoder, shape)(scaled))


@pytest.mark.parametrize("shape", [(10, 10, 3), (3, 10, 10)])
def test_channels_are_divided_by_their_own_bounds(shape):
    highs = torch.tensor([1, 15, 255]).view([3 if size == 3 else 1 for size in shape])
    highs = highs.expand(shape).numpy()
    encoder = make_encoder(Box(0 * highs, highs, dtype=np.int64))
    picture = torch.randint(2, (2, *shape)) * torch.from_numpy(highs)
    scaled = (picture != 0).float()
    torch.testing.assert_close(encoder(picture), unscaled_like(encoder, shape)(scaled))
    assert not [name for name in encoder.state_dict() if "scale" in name]
