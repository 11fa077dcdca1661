"""Between Gymnasium's spaces and tensors."""

import hypothesis
import numpy as np
import pytest
import torch
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)
from hypothesis import settings
from hypothesis import strategies as st
from tensordict import TensorDict

from yieldrl.core import Utf8Text, spaces
from yieldrl.core.spaces import choice_ranges
from yieldrl.core.trees import map_tensors

CPU = torch.device("cpu")
VECTOR = Box(-1, 1, (3,))
IMAGE = Box(0, 255, (4, 84, 84), np.uint8)
NESTED = Dict(b=Dict(c=Discrete(3), d=VECTOR), a=IMAGE)


def test_examples_are_two_observations_that_fit():
    space = Dict(NESTED.spaces, f=Discrete(3, start=5), g=MultiDiscrete([2, 3]))
    found = spaces.examples(space)
    assert found["f"].tolist() == [5, 5]
    assert found["b"]["d"].dtype == torch.float32
    for row in range(2):
        arrays = map_tensors(lambda leaf, row=row: leaf[row].numpy(), found)
        arrays["f"], arrays["b"]["c"] = int(arrays["f"]), int(arrays["b"]["c"])
        assert space.contains(arrays)


REFUSED = [Text(5), Tuple([VECTOR]), Sequence(VECTOR), Dict(), Dict({0: VECTOR})]
REFUSED += [Dict({("a", "b"): VECTOR}), Box(-1, 1, (3, 0)), MultiDiscrete([])]


def test_other_spaces_are_refused_by_name_and_place():
    for space in REFUSED:
        kind = type(space).__name__
        said = rf"{kind}.* at the top is not supported: use"
        with pytest.raises(TypeError, match=said):
            list(spaces.leaves(space))
        with pytest.raises(TypeError, match=rf"{kind}.* at b\.c is not supported: use"):
            list(spaces.leaves(Dict(a=VECTOR, b=Dict(c=space))))


def test_dtypes_and_shapes():
    for space, dtype, shape in (
        (VECTOR, torch.float32, (3,)),
        (Box(-1, 1, (), np.float64), torch.float32, ()),
        (Box(-1, 1, (2, 3), np.float16), torch.float32, (2, 3)),
        (Box(-9, 9, (2,), np.int64), torch.float32, (2,)),
        (IMAGE, torch.uint8, (4, 84, 84)),
        (Box(0, 1, (2,), np.bool_), torch.bool, (2,)),
        (Discrete(4), torch.int64, ()),
        (MultiDiscrete([[2, 3]]), torch.int64, (1, 2)),
        (MultiBinary((2, 2)), torch.int8, (2, 2)),
    ):
        assert spaces.tensor_dtype(space) == dtype
        assert spaces.shape_of(space) == shape


def test_what_is_an_image():
    images = [(4, 84, 84), (210, 160, 3), (10, 10, 4)]
    for shape in (
        *images,
        (84, 84),
        (2, 7, 2),
        (3, 4, 5),
        (20, 20, 20),
        (4, 84, 84, 3),
    ):
        space = Box(0, 255, shape, np.uint8)
        assert spaces.is_image(space) is (shape in images)
        assert spaces.has_images(Dict(a=VECTOR, b=Dict(c=space))) is (shape in images)
    assert not spaces.is_image(MultiBinary((10, 10, 4)))
    assert not spaces.has_images(Dict(a=Discrete(2), b=VECTOR))


def test_numbers_lists_and_nested_arrays_become_tensors_and_float64_float32():
    for number in (3, 2.5, True, np.int64(3), np.float64(2.5)):
        tensor = spaces.to_tensor(number, CPU)
        assert tensor.shape == ()
        assert tensor.item() == number
        assert tensor.dtype != torch.float64
    for given in ([1.0] * 3, np.ones(3), torch.ones(3, dtype=torch.float64)):
        tensor = spaces.to_tensor(given, CPU)
        assert tensor.dtype == torch.float32
        assert tensor.tolist() == [1, 1, 1]
    for dtype in (np.float32, np.uint8, np.int64, np.bool_, np.int8):
        array = np.ones(3, dtype)
        tensor = spaces.to_tensor(array, CPU)
        assert torch.equal(tensor, torch.from_numpy(array))
        array[0] = 0
        assert tensor[0] == 0, "the same memory"
    assert spaces.to_tensor(tensor, CPU) is tensor
    obs = {"a": np.ones(2), "b": {"c": torch.zeros(1), "d": 3}}
    expected = {"a": [1, 1], "b": {"c": [0], "d": 3}}
    for given in (obs, TensorDict({"a": torch.ones(2), "b": obs["b"]}, [])):
        got = spaces.to_tensor(given, CPU)
        assert type(got) is dict
        assert got["a"].tolist() == expected["a"]
        assert got["b"]["c"].tolist() == expected["b"]["c"]
        assert got["b"]["d"].item() == 3


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_pictures_that_were_flipped_or_are_read_only(dtype):
    """`frame[::-1]` is how a camera's picture is turned, `frombuffer` how it comes."""
    array = np.arange(6, dtype=dtype).reshape(3, 2)
    assert spaces.to_tensor(array[::-1], CPU).tolist() == [[4, 5], [2, 3], [0, 1]]
    fixed = np.frombuffer(array.tobytes(), dtype).reshape(3, 2)
    tensor = spaces.to_tensor(fixed, CPU)  # a warning would fail this test
    tensor[0, 0] = 9
    assert fixed[0, 0] == 0
    strided = spaces.to_tensor(array[:, 1], CPU)
    assert strided.tolist() == [1, 3, 5]


def test_with_or_without_a_batch_axis():
    choices = [Discrete(3), MultiDiscrete([[2, 3]])]
    for space in (VECTOR, IMAGE, Box(-1, 1, ()), Box(0, 1, (1,)), *choices):
        one = spaces.to_tensor(np.asarray(space.sample()), CPU)
        assert spaces.is_batched(space, one) is False
        assert spaces.is_batched(space, spaces.add_batch_axis(one)) is True
        for batch in (1, 2, 3):
            many = one.expand(batch, *one.shape)
            assert spaces.is_batched(space, many) is True
    one = spaces.to_tensor({"a": IMAGE.sample(), "b": NESTED["b"].sample()}, CPU)
    assert spaces.is_batched(NESTED, one) is False
    many = spaces.add_batch_axis(one)
    assert spaces.is_batched(NESTED, many) is True
    assert many["b"]["c"].shape == (1,)
    assert many["b"]["d"].shape == (1, 3)
    assert spaces.is_batched(NESTED, TensorDict(many, [1])) is True


def test_a_wrong_shape_or_structure_is_refused():
    with pytest.raises(ValueError, match=r"shape \(4,\) fits neither one.*\(3,\).*'B'"):
        spaces.is_batched(VECTOR, torch.ones(4))
    with pytest.raises(ValueError, match=r"shape \(2, 5, 3\) fits neither"):
        spaces.is_batched(VECTOR, torch.ones(2, 5, 3))
    with pytest.raises(ValueError, match=r"expected a dict with keys \['b', 'a'\]"):
        spaces.is_batched(Dict(b=VECTOR, a=VECTOR), torch.ones(3))
    with pytest.raises(ValueError, match=r"lacks \['a'\], it has \['b'\]"):
        spaces.is_batched(Dict(a=VECTOR, b=VECTOR), {"b": torch.ones(3)})
    # Entries that are not needed may be missing.
    space = Dict(b=VECTOR, a=IMAGE)
    for shape, batched in (((3,), False), ((2, 3), True)):
        assert spaces.is_batched(space, {"b": torch.ones(shape)}, ("b",)) is batched
    both = {"b": torch.ones(3), "a": torch.ones(IMAGE.shape)}
    assert spaces.is_batched(space, both, ("a", "b")) is False
    with pytest.raises(ValueError, match=r"lacks \['a'\], it has \['b'\]"):
        spaces.is_batched(space, {"b": torch.ones(3)}, ("a", "b"))
    with pytest.raises(ValueError, match=r"lacks \['b'\], it has \[\]"):
        spaces.is_batched(space, {}, ("b",))


def test_part_of_a_dict_keeps_its_order():
    space = Dict([("c", VECTOR), ("a", IMAGE), ("b", VECTOR)])
    part = spaces.part(space, ("b", "c"))
    assert list(part) == ["c", "b"]
    assert part["c"] is VECTOR
    assert spaces.part(space, ()) is space
    assert spaces.part(VECTOR, ()) is VECTOR
    with pytest.raises(ValueError, match=r"no entries \['x'\]: choose of \['b', 'a'\]"):
        spaces.part(NESTED, ("a", "x"))
    with pytest.raises(ValueError, match=r"no entries \['a'\]: Box.* is no Dict"):
        spaces.part(VECTOR, ("a",))


TILTED = Box(np.array([-2, 10], np.float32), np.array([0, 30], np.float32))
WHOLE = Box(0, 4, (1,), np.int32)
WIDE = Box(np.array([-0.1]), np.array([0.1]), dtype=np.float64)


@pytest.mark.parametrize(
    ("space", "unit_box", "pairs"),
    [
        (TILTED, False, {(-3, 9): [-2, 10], (3, 31): [0, 30], (-1, 20): [-1, 20]}),
        (TILTED, True, {(-1, -1): [-2, 10], (1, 1): [0, 30], (0.5, 0.5): [-0.5, 25]}),
        (WHOLE, True, {(-1,): [0], (0.1,): [2], (0.4,): [3], (1,): [4]}),
        (WIDE, False, {(-1,): [-0.1], (1,): [0.1]}),  # no float32 is that
    ],
)
def test_actions_are_clipped_to_their_box_or_stretched_to_it(space, unit_box, pairs):
    border = spaces.ActionTransform(space, CPU, unit_box=unit_box)
    chosen = torch.tensor([*pairs], dtype=torch.float32)
    before = chosen.clone()
    given = border.to_env(chosen)
    assert given.tolist() == [*pairs.values()]
    assert given.dtype == getattr(torch, space.dtype.name)
    assert chosen.equal(before), "what the policy chose is left alone"


def test_a_unit_box_needs_bounds_and_other_actions_are_passed_on_themselves():
    """Agents tell by identity whether the buffer must remember another action."""
    with pytest.raises(ValueError, match=r"not bounded on every side.*take PPO"):
        spaces.ActionTransform(Box(-np.inf, 1, (2,)), CPU, unit_box=True)
    for space in (Discrete(3), MultiDiscrete([2, 3]), Box(-np.inf, np.inf, (2,))):
        action = torch.ones(4, 2, dtype=spaces.tensor_dtype(space))
        assert spaces.ActionTransform(space, CPU).to_env(action) is action


def test_values_outside_of_choices_are_found_and_others_shifted_to_their_start():
    for space, values, outside in (
        (Discrete(3, start=-1), [-2, -1, 1, 2], [True, False, False, True]),
        (MultiDiscrete([2, 3]), [[1, 2], [2, -1]], [[False] * 2, [True] * 2]),
        (MultiBinary(2), [[0, 1], [2, -1]], [[False] * 2, [True] * 2]),
    ):
        (choice,) = choice_ranges(Dict(a=space, b=VECTOR))
        assert choice.path == ("a",)
        for dtype in (np.int64, np.float64):
            assert choice.outside(np.array(values, dtype)).tolist() == outside
    for space, action, expected in (
        (Discrete(3, start=-1), [0, 2], [-1, 1]),
        (MultiDiscrete([2, 3], start=[10, 0]), [[0, 1]], [[10, 1]]),
        (MultiDiscrete([[2], [3]], start=[[1], [2]]), [[[0], [1]]], [[[1], [3]]]),
    ):
        shifted = spaces.ActionTransform(space, CPU).to_env(torch.tensor(action))
        assert shifted.tolist() == expected
        assert all(space.contains(row.numpy()) for row in shifted)


FLOATS = {"allow_nan": False, "allow_infinity": False}


@st.composite
def boxes(draw, dtype):
    """A bounded Box of two numbers, which may be as narrow as a single number."""
    width = {np.float64: 64, np.float32: 32, np.float16: 16}.get(dtype)
    if width is None:
        info, most = np.iinfo(dtype), 2**53  # a float64 has 53 binary digits
        one = st.integers(max(int(info.min), -most), min(int(info.max), most))
    else:
        one = st.floats(width=width, **FLOATS)
    pairs = [sorted((draw(one), draw(one))) for _ in range(2)]
    low, high = np.array(pairs, dtype).T
    return Box(low, high, dtype=dtype)


@settings(max_examples=150)
@hypothesis.given(data=st.data())
def test_no_accepted_action_leaves_its_box(data):
    """A bound such as 0.1 is no float32: clipped to the nearest one, it is outside."""
    kinds = [np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8]
    dtype = data.draw(st.sampled_from(kinds))
    space = data.draw(boxes(dtype))
    chosen = data.draw(st.lists(st.floats(-2, 2, width=32), min_size=2, max_size=2))
    far = data.draw(st.sampled_from([1.0, 1e30]))
    for unit_box in (False, True):
        border = spaces.ActionTransform(space, CPU, unit_box=unit_box)
        accepted = border.to_env(torch.tensor([chosen]) * far)[0].numpy()
        assert np.all(accepted.astype(object) >= space.low.astype(object))
        assert np.all(accepted.astype(object) <= space.high.astype(object))
        assert space.contains(accepted)


def test_what_the_environment_gets_can_be_said_by_the_policy():
    for space, unit_box in (
        (Discrete(3, start=-1), False),
        (MultiDiscrete([2, 3], start=[5, 1]), False),
        (MultiBinary(2), False),
        (Box(-1, 1, (2,)), False),
        (Box(2, 5, (2,)), True),
    ):
        border = spaces.ActionTransform(space, CPU, unit_box=unit_box)
        space.seed(1)
        action = torch.as_tensor(np.stack([space.sample() for _ in range(9)]))
        chosen = border.from_env(action)
        assert chosen.dtype == spaces.tensor_dtype(space)
        torch.testing.assert_close(border.to_env(chosen).to(action.dtype), action)
        if unit_box:
            assert chosen.abs().max() <= 1


def test_quantities_are_no_sentences_choices_or_flags():
    space = Dict(
        numbers=Box(-1, 1, (2,)),
        counts=Box(0, 9, (2,), np.int64),
        wide=Box(-np.inf, np.inf, (2,), np.int64),
        nested=Dict(speed=Box(-np.inf, np.inf, ())),
        # and none of these
        bits=Box(0, 1, (2,), np.bool_),
        flags=Box(0, 1, (2,), np.int8),
        signs=Box(np.array([0, 4]), np.array([1, 5]), dtype=np.int64),
        buttons=MultiBinary(3),
        choice=Discrete(4),
        choices=MultiDiscrete([2, 3]),
        text=Utf8Text(5),
        image=Box(0, 255, (8, 8, 3), np.uint8),
        action_mask=Box(0, 1, (4,), np.float32),
    )
    expected = {("numbers",), ("counts",), ("wide",), ("nested", "speed")}
    assert set(spaces.quantities(space)) == expected
    assert spaces.quantities(Utf8Text(3)) == []
    assert spaces.quantities(Box(0, 1, (2,))) == [()]
