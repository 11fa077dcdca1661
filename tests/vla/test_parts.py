"""Parts of models: attention pools, crops, layouts of actions, bins, sampling."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict

from yieldrl.vla import ActionBins, AttentionPool, VLAPolicy, action_layout
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.heads import BinsHead
from yieldrl.vla.observations import (
    ObservationReader,
    centre_cropped,
    lanczos_resized,
)


def pool(width=8):
    torch.manual_seed(0)
    head = AttentionPool(width)
    torch.nn.init.normal_(head.query)
    return head


def test_padding_changes_nothing_whatever_it_holds():
    head, hidden = pool(), torch.randn(4, 5, 8)
    plain = head(hidden, torch.ones(4, 5, dtype=torch.bool))
    for filler in (0.0, 1e9, torch.nan):
        padded = torch.cat([hidden[:, :2], torch.full((4, 3, 8), filler)], 1)
        padded = torch.cat([padded, hidden[:, 2:]], 1)
        mask = torch.tensor([1, 1, 0, 0, 0, 1, 1, 1]).bool().expand(4, 8)
        torch.testing.assert_close(head(padded, mask), plain)
    head(padded, mask).sum().backward()  # gradients are finite where padding is not
    assert all(
        p.grad is not None and p.grad.isfinite().all() for p in head.parameters()
    )


def test_it_weighs_by_the_query_and_without_one_is_the_mean():
    """A query of (s, 0, ...) weighs positions by softmax(s norm(h)_0 / sqrt(W))."""
    head = AttentionPool(4)
    hidden, mask = torch.randn(1, 2, 4), torch.ones(1, 2, dtype=torch.bool)
    states = head.norm(hidden)
    mean = head.mlp(states.mean(1)).squeeze(-1)
    torch.testing.assert_close(head(hidden, mask), mean)
    with torch.no_grad():
        head.query.copy_(torch.tensor([3.0, 0, 0, 0]))
    a, b = (1.5 * states[0, :, 0]).softmax(0)
    pooled = (a * states[0, 0] + b * states[0, 1]).unsqueeze(0)
    torch.testing.assert_close(head(hidden, mask), head.mlp(pooled).squeeze(-1))


PICTURE = torch.arange(64, dtype=torch.uint8).view(1, 8, 8, 1)


def test_a_quarter_of_the_area_is_half_of_each_side():
    picture = PICTURE[:, :7, :7]
    seen = centre_cropped(picture, 0.25)
    assert (seen.shape, seen.dtype) == (picture.shape, torch.uint8)
    corners = [seen[0, y, x, 0].item() for y in (0, -1) for x in (0, -1)]
    assert corners == [13, 16, 37, 40]  # between rows and columns 1 and 2, 4 and 5
    flat = centre_cropped(torch.full((2, 7, 5, 3), 0.3), 0.9)
    torch.testing.assert_close(flat, torch.full((2, 7, 5, 3), 0.3))


# Of 8 x 8 bytes, what TensorFlow's `image.resize` to 6 x 6 makes by `lanczos3` with
# `antialias=True`, and of that `image.crop_and_resize` and `convert_image_dtype`, as in
# OpenVLA's code, for a share of 0.9.
RESIZED = """
158 39 173 123 126 166 46 134 221 112 78 132 126 184 156 171 92 87
84 139 163 159 154 125 145 104 102 194 159 141 84 212 87 222 111 161"""
CROPPED = """
132 61 178 123 120 156 63 144 213 119 82 122 132 181 156 170 99 88
92 142 163 159 153 127 136 106 109 189 161 142 105 190 92 215 125 153"""


def test_images_are_resized_and_cropped_as_openvlas():
    random = np.random.default_rng(0).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    image = torch.from_numpy(random)[None]
    resized, cropped = (
        torch.tensor([*map(int, text.split())]).view(6, 6)
        for text in (RESIZED, CROPPED)
    )
    assert torch.equal(lanczos_resized(image, 6)[0, ..., 0], resized.byte())
    space = Dict(rgb=Box(0, 255, (8, 8, 3), np.uint8))
    reader = ObservationReader(space, {}, centre_crop=0.9, image_size=6)
    assert torch.equal(reader({"rgb": image})["rgb"][0, ..., 0], cropped.byte())
    in_floats = lanczos_resized(image / 255, 6)
    assert (255 * in_floats[0, ..., 0] - resized).abs().max() < 0.5 + 1e-3


def test_a_policy_resizes_to_what_its_model_sees():
    """Of a prime side the tiny model sees five patches of whole pixels."""
    space = Dict(rgb=Box(0, 255, (11, 11, 3), np.uint8))
    policy = VLAPolicy.from_config(space, Box(-1, 1, (1,)), VLAConfig(centre_crop=0.9))
    obs = {"rgb": torch.from_numpy(space["rgb"].sample()[None])}
    expected = centre_cropped(lanczos_resized(obs["rgb"], 15), 0.9)
    assert torch.equal(policy.reader(obs)["rgb"], expected)


def test_a_model_reads_the_centre_of_every_camera():
    eye = Box(0, 255, (8, 8, 3), np.uint8)
    space = Dict(rgb=Dict(a=eye, b=eye))
    random = np.random.default_rng(0).integers(0, 256, (2, 2, 8, 8, 3), np.uint8)
    images = dict(zip("ab", torch.from_numpy(random), strict=True))
    obs = TensorDict({"rgb": images}, [2])
    seen = ObservationReader(space, {}, centre_crop=0.5)(obs)["rgb"]
    for name, image in images.items():
        assert torch.equal(seen[name], centre_cropped(image, 0.5))
        assert not torch.equal(seen[name], image)


LAID_OUT = [
    (Discrete(4), None, (1, 1, (4,))),
    (MultiDiscrete([4] * 8), 8, (8, 1, (4,))),
    (MultiDiscrete([[3, 4]] * 5), None, (5, 2, (3, 4))),
    (MultiBinary(3), None, (1, 3, (2, 2, 2))),
    (Box(-1, 1, (7,)), None, (1, 7, None)),
    (Box(-1, 1, (8, 7)), 8, (8, 7, None)),
    (Box(-1, 1, (3, 4)), 1, (1, 12, None)),
]


@pytest.mark.parametrize(("space", "length", "wanted"), LAID_OUT)
def test_length_size_and_options(space, length, wanted):
    layout = action_layout(space, length)
    assert (layout.length, layout.size, layout.counts) == wanted
    actions = torch.randn(3, *(space.shape or ()))
    chunks = layout.inside(actions)
    assert chunks.shape == (3, *wanted[:2])
    assert layout.tokens == wanted[0] * wanted[1]
    assert torch.equal(layout.outside(chunks), actions)


def test_what_is_no_chunk_of_that_length_or_no_bins_is_refused():
    with pytest.raises(ValueError, match="count = 0"):
        ActionBins(0)
    with pytest.raises(ValueError, match="needs at least 2"):
        ActionBins(1, edges=True)
    with pytest.raises(ValueError, match="4 bins do not fit a vocabulary of 3"):
        BinsHead(action_layout(Discrete(2)), ActionBins(4), 3)
    for space in (Box(-1, 1, (7,)), Discrete(4), MultiDiscrete([3, 3])):
        with pytest.raises(ValueError, match=r"chunk_length = 4.*ActionChunks"):
            action_layout(space, 4)
    with pytest.raises(ValueError, match="different options"):
        action_layout(MultiDiscrete([3, 4]), 2)
    with pytest.raises(TypeError, match="is not supported"):
        action_layout(Tuple([Discrete(2)]))


COUNTS = st.integers(2, 2**16)


@given(COUNTS, st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20))
def test_what_is_decoded_is_off_by_half_a_bin_at_most(count, values):
    bins, action = ActionBins(count), torch.tensor(values)
    ids = bins.encode(action)
    assert ids.dtype == torch.int64
    assert ids.min() >= 0
    assert ids.max() < count
    rounding = 2e-7  # of float32 near 1
    assert (bins.decode(ids) - action).abs().max() <= bins.error_bound + rounding
    every = torch.arange(count)  # each that of its centre
    assert torch.equal(bins.encode(bins.decode(every)), every)
    ids = bins.encode(torch.tensor([-5.0, -1.0, 1.0, 5.0]))
    assert ids.tolist() == [0, 0, count - 1, count - 1]
    outer = bins.decode(ids)[2:] - (1 - 1 / count)
    assert outer.abs().max() <= rounding


@pytest.mark.parametrize("descending", [False, True])
def test_they_are_the_last_entries_of_the_vocabulary(descending):
    bins = ActionBins(3, descending=descending)
    entries = bins.entries(torch.arange(3), vocab_size=10)
    assert entries.tolist() == ([9, 8, 7] if descending else [7, 8, 9])
    logits = torch.arange(12.0).expand(2, 5, 12)  # two more than entries
    assert bins.of_vocabulary(logits, 10)[0, 0].tolist() == entries.tolist()


@pytest.mark.parametrize(("count", "dtype"), [(2, np.float32), (33, np.float64)])
def test_with_edges_they_are_those_of_numpy_digitize(count, dtype):
    """OpenVLA's ActionTokenizer, in its own words."""
    edges = np.linspace(-1, 1, count)
    centres = (edges[1:] + edges[:-1]) / 2
    beside = np.nextafter(edges, 2), np.nextafter(edges, -2)
    numbers = [np.linspace(-1.2, 1.2, 10_001), edges, centres, *beside]
    action = np.concatenate(numbers).astype(dtype)
    digit = np.digitize(np.clip(action, -1, 1), edges)
    bins = ActionBins(count, descending=True, edges=True)
    ids = bins.encode(torch.from_numpy(action))
    assert ids.dtype == torch.int64
    assert ids.tolist() == (digit - 1).tolist()
    entries = bins.entries(ids, vocab_size=32_000)
    assert entries.tolist() == (32_000 - digit).tolist()
    decoded = centres[np.clip(32_000 - entries.numpy() - 1, 0, count - 2)]
    np.testing.assert_allclose(bins.decode(ids), decoded, rtol=0, atol=2e-7)
    inside = np.abs(action) <= 1
    error = np.abs(bins.decode(ids).numpy() - action)[inside].max()
    assert error <= bins.error_bound + 2e-7


def test_temperature_divides_the_logits():
    head = BinsHead(action_layout(Discrete(2)), ActionBins(2), 2, temperature=2.0)
    backbone = SimpleNamespace(logits=lambda hidden: hidden)
    policy = head.policy(backbone, torch.tensor([[0.0, 2.0 * math.log(3)]]))
    assert policy.log_prob(torch.tensor([1])).exp().item() == pytest.approx(0.75)
    entropy = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert policy.entropy().item() == pytest.approx(entropy)
