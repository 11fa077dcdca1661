"""Storage: what is written is what is read, from NumPy or tensors, and no more."""

import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete

from yieldrl.buffers.spec import transition_spec
from yieldrl.buffers.storage import Storage

CPU = torch.device("cpu")
FLAT = ("action", "reward", "terminated", "truncated")
IMAGE = Box(0, 255, (4, 8, 8), np.uint8)
SPACES = {
    "vector": Box(-1, 1, (3,)),
    "float64": Box(-1, 1, (3,), np.float64),
    "scalar": Box(-1, 1, ()),
    "image": IMAGE,
    "bits": Box(0, 1, (5,), np.bool_),
    "integers": Box(-9, 9, (2,), np.int32),
    "choice": Discrete(5, start=2),
    "choices": MultiDiscrete([[2, 3], [4, 5]]),
    "binary": MultiBinary((2, 3)),
    "nested": Dict(a=Dict(b=Box(-1, 1, (2,)), c=Discrete(3)), image=IMAGE),
}


def storage_for(space, rows=4, num_envs=2):
    return storage_of(transition_spec(space, Discrete(2)), rows, num_envs)


def storage_of(spec, rows=4, num_envs=2):
    return Storage(rows, num_envs, spec, CPU, field="num_steps", value=rows)


def write(store, row, first=True, **entries):
    """These entries into a row; all others of every transition as they were there."""
    before = as_dict(store.tensordict()[row].select("obs", "next_obs", *FLAT))
    store.write(row, {**before, **entries}, first=first)


def batch_of(space, count=2):
    """A batch of samples, nested as the space is."""
    if isinstance(space, Dict):
        return {name: batch_of(child, count) for name, child in space.items()}
    return np.stack([np.asarray(space.sample()) for _ in range(count)])


def as_dict(data):
    """A copy of a TensorDict, nested as it is."""
    return data.clone().to_dict()


def as_tensors(obs):
    if isinstance(obs, dict):
        return {name: as_tensors(child) for name, child in obs.items()}
    return torch.as_tensor(obs)


def leaves_of(tree, path=()):
    if hasattr(tree, "items"):
        for name, child in tree.items():
            yield from leaves_of(child, (*path, name))
    else:
        yield path, tree


def test_arrays_and_tensors_write_the_same():
    for space in SPACES.values():
        space.seed(1)
        obs = batch_of(space)
        stores = [storage_for(space) for _ in range(2)]
        write(stores[0], 2, obs=obs)
        write(stores[1], 2, obs=as_tensors(obs))
        written = [dict(leaves_of(store.tensordict()["obs"])) for store in stores]
        for path, expected in leaves_of(obs):
            one, another = (tree[path] for tree in written)
            assert torch.equal(one, another)
            np.testing.assert_allclose(one[2].numpy(), expected, rtol=1e-6)
            assert not one[[0, 1, 3]].any(), "other rows are untouched"


def test_dtypes():
    floats = dict.fromkeys(("vector", "float64", "integers"), torch.float32)
    choices = dict.fromkeys(("choice", "choices"), torch.int64)
    others = {"image": torch.uint8, "bits": torch.bool, "binary": torch.int8}
    for name, dtype in (floats | choices | others).items():
        data = storage_for(SPACES[name]).tensordict()
        assert data["obs"].dtype == data["next_obs"].dtype == dtype
        assert data["reward"].dtype == torch.float32
        assert data["terminated"].dtype == data["truncated"].dtype == torch.bool


def test_actions_of_a_box_are_stored_as_the_policy_chose_them():
    """A Gaussian's -0.7 must not become 1, 0 or 255 because the environment rounds."""
    for dtype in (np.uint8, np.bool_, np.float64):
        spec = transition_spec(SPACES["vector"], Box(0, 1, (2,), dtype))
        store = storage_of(spec, 3, 1)
        chosen = torch.tensor([[-0.75, 1.5]])
        write(store, 0, action=chosen)
        assert torch.equal(store["action"][0], chosen)


def test_extras_are_float32_or_of_half_precision():
    """Vision-language-action models compute in bfloat16, which NumPy does not have."""
    store = storage_for(SPACES["vector"])
    value = torch.tensor([0.1, 0.2], dtype=torch.bfloat16)
    write(store, 0, log_prob=np.array([0.1, 0.2]), entropy=value.double(), value=value)
    assert store["log_prob"].dtype == store["entropy"].dtype == torch.float32
    assert store["value"].dtype == torch.bfloat16
    assert torch.equal(store["value"][0], value)


def test_strided_arrays_and_tensors():
    store = storage_for(SPACES["vector"])
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    write(store, 0, obs=table[::3, ::-1][:, :3])
    write(store, 1, obs=np.asfortranarray(table[:2, :3]))
    write(store, 2, obs=torch.from_numpy(table)[:3, :2].T)
    assert store["obs"][0].tolist() == [[3, 2, 1], [15, 14, 13]]
    assert store["obs"][1].tolist() == [[0, 1, 2], [4, 5, 6]]
    assert store["obs"][2].tolist() == [[0, 4, 8], [1, 5, 9]]


def test_the_caller_keeps_its_array():
    store = storage_for(SPACES["vector"])
    obs = np.ones((2, 3), np.float32)
    write(store, 0, obs=obs)
    obs[:] = 7
    assert (store["obs"][0] == 1).all()


def test_extras_come_with_their_first_arrival():
    store = storage_for(SPACES["vector"])
    assert "log_prob" not in store
    memory = {"h": torch.ones(2, 7), "c": np.zeros((2, 1), np.int64)}
    write(store, 1, log_prob=torch.tensor([0.5, 0.25]), memory=memory)
    data = store.tensordict()
    assert data["log_prob"].shape == (4, 2)
    assert data["log_prob"].tolist() == [[0, 0], [0.5, 0.25], [0, 0], [0, 0]]
    assert data["memory", "h"].shape == (4, 2, 7)
    assert data["memory", "c"].dtype == torch.int64


def test_extras_keep_their_order():
    """Compiled code takes tensors in this order: another is unknown to later runs."""
    store = storage_for(SPACES["vector"])
    names = [f"extra_{number}" for number in range(12)]
    write(store, 0, **{name: [0.0, 1.0] for name in names})
    assert [*store.tensordict().keys()][-12:] == names


def test_no_graph_is_kept():
    """Gradients can flow through batched environments: not into the next rollout."""
    store = storage_for(SPACES["vector"])
    obs = torch.ones(2, 3, requires_grad=True) * 2
    write(store, 0, obs=obs, log_prob=obs.sum(-1))
    assert not store["obs"].requires_grad
    assert not store["log_prob"].requires_grad


@pytest.mark.parametrize("kind", [np.ones, torch.ones])
def test_a_wrong_shape_is_refused_and_nothing_is_broadcast(kind):
    """One reward for all environments is a mistake, not an abbreviation."""
    store = storage_for(SPACES["vector"])
    wrong = {"reward": [(2, 1), (), (1,)], "obs": [(2, 4)], "log_prob": [(), (1,)]}
    for name, shapes in wrong.items():
        for shape in shapes:
            with pytest.raises(ValueError, match=rf"{name}.*\(2,"):
                write(store, 0, **{name: kind(shape)})
    assert "log_prob" not in store


def test_nested_entries_must_be_those_of_the_space():
    store = storage_for(SPACES["nested"])
    obs = batch_of(SPACES["nested"])
    for entry, wrong in (
        ("obs", {"obs": {"a": obs["a"]}}),
        ("obs.a", {"obs": {"a": np.zeros(2), "image": obs["image"]}}),
        ("reward", {"reward": {"a": obs["a"]}}),
    ):
        with pytest.raises(ValueError, match=f"'{entry}'"):
            write(store, 0, **wrong)


# ------------------------------------------------- rows all hold the same entries


def test_extras_may_change_with_the_first_row_alone():
    store = storage_for(SPACES["vector"])
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
    store = storage_for(SPACES["vector"])
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
    source, target = (storage_for(SPACES["vector"]) for _ in range(2))
    write(source, 0, log_prob=one)
    write(target, 0, value=one)
    target.load_state_dict(saved_and_loaded(source.state_dict(1)))
    assert "value" not in target
    assert target["log_prob"][0].tolist() == [1, 1]


def test_tensordict_shares_memory_and_gather_copies():
    store = storage_for(SPACES["nested"])
    obs = batch_of(SPACES["nested"])
    write(store, 0, obs=obs)
    shared, copied = store.tensordict(2), store.gather(torch.tensor([0, 1, 1]))
    assert shared.batch_size == (2, 2)
    assert copied.batch_size == (3,)
    shared["obs", "a", "b"][0, 1] = 42
    assert (store.tensordict()["obs", "a", "b"][0, 1] == 42).all()
    assert not (copied["obs", "a", "b"] == 42).any()


def test_gather_counts_along_environments_first():
    store = storage_for(SPACES["vector"], rows=3, num_envs=2)
    for row in range(3):
        write(store, row, reward=np.array([10 * row, 10 * row + 1.0]))
    flat = store.gather(torch.arange(6))["reward"].tolist()
    assert flat == [0, 1, 10, 11, 20, 21]


def test_gather_reads_some_entries_elsewhere():
    store = storage_for(SPACES["nested"])
    for row in range(2):
        obs, next_obs = (batch_of(SPACES["nested"]) for _ in range(2))
        write(store, row, obs=obs, next_obs=next_obs)
    here, there = torch.tensor([0, 1, 2]), torch.tensor([3, 0, 2])
    mixed = store.gather(here, {"next_obs": there})
    assert (mixed["obs"] == store.gather(here)["obs"]).all()
    assert (mixed["next_obs"] == store.gather(there)["next_obs"]).all()


def filled(space, rows=4):
    store = storage_for(space, rows)
    space.seed(3)
    for row in range(rows):
        extras = {"log_prob": torch.rand(2), "memory": {"h": torch.rand(2, 3)}}
        write(store, row, first=row == 0, obs=batch_of(space), **extras)
    return store


@pytest.mark.parametrize("rows", [None, 0, 2])
def test_state_round_trip(rows):
    """Also of names with dots: robots call a camera `observation.images.top`."""
    dots = Dict({"images.top": Box(-1, 1, (2,)), "images": Dict(top=Box(-1, 1, (3,)))})
    for space in (*SPACES.values(), dots):
        one, another = filled(space), storage_for(space)
        another.load_state_dict(saved_and_loaded(one.state_dict(rows)))
        expected = dict(leaves_of(one.tensordict(rows)))
        got = dict(leaves_of(another.tensordict(rows)))
        assert expected.keys() == got.keys()
        for path, tensor in expected.items():
            assert torch.equal(got[path], tensor)
            assert got[path].dtype == tensor.dtype


def test_other_observations_of_a_state_are_refused():
    nested, flat = SPACES["nested"], SPACES["vector"]
    for one, another in ((nested, flat), (flat, nested)):
        with pytest.raises(ValueError, match="differs"):
            storage_for(another).load_state_dict(filled(one).state_dict())
    with pytest.raises(ValueError, match=r"'obs'.*uint8"):
        storage_for(Box(-1, 1, (4, 8, 8))).load_state_dict(filled(IMAGE).state_dict())
    state = filled(flat).state_dict()
    del state["next_obs"]
    with pytest.raises(ValueError, match="next_obs"):
        storage_for(flat).load_state_dict(state)
