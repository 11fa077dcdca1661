"""Storage: what is written is what is read, from NumPy or tensors, and no more."""

import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector.utils import batch_space

from yieldrl.buffers.spec import transition_spec
from yieldrl.buffers.storage import Storage

CPU = torch.device("cpu")
FLAT = ("action", "reward", "terminated", "truncated")
IMAGE = Box(0, 255, (4, 8, 8), np.uint8)
VECTOR = Box(-1, 1, (3,))
NESTED = Dict(a=Dict(b=Box(-1, 1, (2,)), c=Discrete(3)), image=IMAGE)
SPACES = [
    (VECTOR, torch.float32),
    (Box(-1, 1, (3,), np.float64), torch.float32),
    (Box(-1, 1, ()), torch.float32),
    (IMAGE, torch.uint8),
    (Box(0, 1, (5,), np.bool_), torch.bool),
    (Box(-9, 9, (2,), np.int32), torch.float32),
    (Discrete(5, start=2), torch.int64),
    (MultiDiscrete([[2, 3], [4, 5]]), torch.int64),
    (MultiBinary((2, 3)), torch.int8),
]


def storage_for(space=VECTOR, rows=4, num_envs=2, action_space=None, **options):
    spec = transition_spec(space, action_space or Discrete(2), **options)
    return Storage(rows, num_envs, spec, CPU, field="num_steps", value=rows)


def write(store, row, first=True, **entries):
    """These entries into a row; all others of every transition as they were there."""
    row_of = store.tensordict()[row].select("obs", "next_obs", *FLAT)
    store.write(row, {**row_of.clone().to_dict(), **entries}, first=first)


def batch_of(space):
    """Of two samples, nested as the space is."""
    return batch_space(space, 2).sample()


@pytest.mark.parametrize(("space", "dtype"), SPACES)
def test_arrays_and_tensors_write_the_same(space, dtype):
    obs = batch_of(space)
    stores = [storage_for(space) for _ in range(2)]
    write(stores[0], 2, obs=obs)
    write(stores[1], 2, obs=torch.as_tensor(obs))
    one, another = (store["obs"] for store in stores)
    assert one.dtype == stores[0]["next_obs"].dtype == dtype
    assert torch.equal(one, another)
    np.testing.assert_allclose(one[2].numpy(), obs, rtol=1e-6)
    assert not one[[0, 1, 3]].any(), "other rows are untouched"


@pytest.mark.parametrize("form", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_large_numbers_that_become_one_are_said_once(dtype, form):
    store, exact = (
        storage_for(),
        storage_for(exact_obs=True, space=Box(0, 9, (3,), dtype)),
    )
    obs, small = np.full((2, 3), 2**24, dtype), np.zeros((2, 3), dtype)
    entries = {"obs": form(obs), "next_obs": form(obs + 1)}
    write(store, 0, obs=form(small), next_obs=form(small + 1))
    write(store, 0, obs=entries["obs"], next_obs=form(obs + 2))  # which float32 holds
    write(exact, 0, **entries)
    assert (exact["next_obs"][0] - exact["obs"][0] == 1).all()
    with pytest.warns(UserWarning, match="obs: 16777216.* 16777217.*same"):
        write(store, 0, **entries)
    write(store, 0, **entries)


def test_actions_of_a_box_are_stored_as_the_policy_chose_them():
    """A Gaussian's -0.7 must not become 1, 0 or 255 because the environment rounds."""
    for dtype in (np.uint8, np.bool_, np.float64):
        store = storage_for(num_envs=1, action_space=Box(0, 1, (2,), dtype))
        chosen = torch.tensor([[-0.75, 1.5]])
        write(store, 0, action=chosen)
        assert torch.equal(store["action"][0], chosen)


def test_extras_are_float32_or_of_half_precision():
    """Vision-language-action models compute in bfloat16, which NumPy does not have."""
    store = storage_for()
    value = torch.tensor([0.1, 0.2], dtype=torch.bfloat16)
    write(store, 0, log_prob=np.array([0.1, 0.2]), entropy=value.double(), value=value)
    assert store["log_prob"].dtype == store["entropy"].dtype == torch.float32
    assert store["value"].dtype == torch.bfloat16
    assert torch.equal(store["value"][0], value)


def test_extras_come_with_their_first_arrival_and_keep_their_order():
    """Compiled code takes tensors in this order: another is unknown to later runs."""
    store = storage_for()
    names = [f"extra_{number}" for number in range(12)]
    memory = {"h": torch.ones(2, 7), "c": np.zeros((2, 1), np.int64)}
    write(store, 1, **{name: [0.5, 0.25] for name in names}, memory=memory)
    data = store.tensordict()
    assert [*data.keys()][-13:] == [*names, "memory"]
    assert data["extra_0"].tolist() == [[0, 0], [0.5, 0.25], [0, 0], [0, 0]]
    assert data["memory", "h"].shape == (4, 2, 7)
    assert data["memory", "c"].dtype == torch.int64


def test_no_graph_is_kept():
    """Gradients can flow through batched environments: not into the next rollout."""
    store = storage_for()
    obs = torch.ones(2, 3, requires_grad=True) * 2
    write(store, 0, obs=obs, log_prob=obs.sum(-1))
    assert not store["obs"].requires_grad
    assert not store["log_prob"].requires_grad


@pytest.mark.parametrize("kind", [np.ones, torch.ones])
def test_a_wrong_shape_is_refused_and_nothing_is_broadcast(kind):
    """One reward for all environments is a mistake, not an abbreviation."""
    store = storage_for()
    wrong = {"reward": [(2, 1), (), (1,)], "obs": [(2, 4)], "log_prob": [(), (1,)]}
    for name, shapes in wrong.items():
        for shape in shapes:
            with pytest.raises(ValueError, match=rf"{name}.*\(2,"):
                write(store, 0, **{name: kind(shape)})
    assert "log_prob" not in store


def test_nested_entries_must_be_those_of_the_space():
    store = storage_for(NESTED)
    obs = batch_of(NESTED)
    for entry, wrong in (
        ("obs", {"obs": {"a": obs["a"]}}),
        ("obs.a", {"obs": {"a": np.zeros(2), "image": obs["image"]}}),
        ("reward", {"reward": {"a": obs["a"]}}),
    ):
        with pytest.raises(ValueError, match=f"'{entry}'"):
            write(store, 0, **wrong)


def test_extras_may_change_with_the_first_row_alone():
    store = storage_for()
    one = torch.ones(2)
    write(store, 0, log_prob=one)
    with pytest.raises(ValueError, match=r"adds \['value'\].*the same extras"):
        write(store, 1, first=False, log_prob=one, value=one)
    with pytest.raises(ValueError, match=r"lacks \['log_prob'\]"):
        write(store, 1, first=False)
    write(store, 1, first=False, log_prob=one)
    write(store, 0, first=True, value=one)
    assert "log_prob" not in store, "what no row holds is gone"
    assert store["value"][0].tolist() == [1, 1]


def test_rows_without_valid_are_valid():
    store = storage_for()
    write(store, 0)
    assert "valid" not in store
    write(store, 1, first=False, valid=np.array([True, False]))
    assert store["valid"].tolist() == [[1, 1], [1, 0], [1, 1], [1, 1]]
    write(store, 1, first=False)  # over it, from environments that reset at once
    assert store["valid"].tolist() == [[1, 1]] * 4
    write(store, 2, first=False, valid=np.array([False, False]))
    assert store["valid"][2].tolist() == [False, False]
    write(store, 0)
    assert "valid" not in store


def test_extras_of_a_checkpoint_replace_those_at_hand():
    one = torch.ones(2)
    source, target = (storage_for() for _ in range(2))
    write(source, 0, log_prob=one)
    write(target, 0, value=one)
    target.load_state_dict(saved_and_loaded(source.state_dict(1)))
    assert "value" not in target
    assert target["log_prob"][0].tolist() == [1, 1]


def test_gather_copies_along_environments_first_and_reads_some_entries_elsewhere():
    store = storage_for(NESTED, rows=3)
    for row in range(3):
        obs, next_obs = (batch_of(NESTED) for _ in range(2))
        reward = np.array([10 * row, 10 * row + 1.0])
        write(store, row, obs=obs, next_obs=next_obs, reward=reward)
    shared, copied = store.tensordict(2), store.gather(torch.arange(6))
    assert shared.batch_size == (2, 2)
    assert copied["reward"].tolist() == [0, 1, 10, 11, 20, 21]
    shared["obs", "a", "b"][0, 1] = 42
    assert (store.tensordict()["obs", "a", "b"][0, 1] == 42).all()
    assert not (copied["obs", "a", "b"] == 42).any()
    here, there = torch.tensor([0, 1, 2]), torch.tensor([3, 0, 2])
    mixed = store.gather(here, {"next_obs": there})
    assert (mixed["obs"] == store.gather(here)["obs"]).all()
    assert (mixed["next_obs"] == store.gather(there)["next_obs"]).all()


def filled(space, rows=4):
    store = storage_for(space, rows)
    for row in range(rows):
        extras = {"log_prob": torch.rand(2), "memory": {"h": torch.rand(2, 3)}}
        write(store, row, first=row == 0, obs=batch_of(space), **extras)
    return store


@pytest.mark.parametrize("rows", [None, 0, 2])
def test_state_round_trip(rows):
    """Also of names with dots: robots call a camera `observation.images.top`."""
    dots = Dict({"images.top": Box(-1, 1, (2,)), "images": Dict(top=Box(-1, 1, (3,)))})
    for space in (IMAGE, Discrete(5), NESTED, dots):
        one, another = filled(space), storage_for(space)
        another.load_state_dict(saved_and_loaded(one.state_dict(rows)))
        expected, got = one.tensordict(rows), another.tensordict(rows)
        names = {*expected.keys(True, True)}
        assert names == {*got.keys(True, True)}
        for name in names:
            assert torch.equal(got[name], expected[name])
            assert got[name].dtype == expected[name].dtype


def test_other_observations_of_a_state_are_refused():
    for one, another, said in (
        (NESTED, VECTOR, "differs"),
        (VECTOR, NESTED, "differs"),
        (IMAGE, Box(-1, 1, (4, 8, 8)), r"'obs'.*uint8"),
    ):
        with pytest.raises(ValueError, match=said):
            storage_for(another).load_state_dict(filled(one).state_dict())
    state = filled(VECTOR).state_dict()
    del state["next_obs"]
    with pytest.raises(ValueError, match="next_obs"):
        storage_for().load_state_dict(state)
