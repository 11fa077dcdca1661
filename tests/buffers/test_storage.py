"""Storage: what is written is what is read, from NumPy or tensors, and no more."""

import io

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete

from yieldrl.buffers.memory import check_memory, entry_bytes
from yieldrl.buffers.storage import Storage, transition_spec

CPU = torch.device("cpu")
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
    return Storage(rows, num_envs, transition_spec(space, Discrete(2)), CPU)


def batch_of(space, count=2):
    """A batch of samples, nested as the space is."""
    if isinstance(space, Dict):
        return {name: batch_of(child, count) for name, child in space.items()}
    return np.stack([np.asarray(space.sample()) for _ in range(count)])


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


def saved_and_loaded(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("name", SPACES)
def test_arrays_and_tensors_write_the_same(name):
    space = SPACES[name]
    space.seed(1)
    obs = batch_of(space)
    stores = [storage_for(space) for _ in range(2)]
    stores[0].write(2, ("obs",), obs)
    stores[1].write(2, ("obs",), as_tensors(obs))
    written = [dict(leaves_of(store.tensordict()["obs"])) for store in stores]
    for path, expected in leaves_of(obs):
        ours, theirs = (tree[path] for tree in written)
        assert torch.equal(ours, theirs)
        np.testing.assert_allclose(ours[2].numpy(), expected, rtol=1e-6)
        assert not ours[[0, 1, 3]].any(), "other rows are untouched"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("vector", torch.float32),
        ("float64", torch.float32),
        ("image", torch.uint8),
        ("bits", torch.bool),
        ("integers", torch.float32),
        ("choice", torch.int64),
        ("choices", torch.int64),
        ("binary", torch.int8),
    ],
)
def test_dtypes(name, dtype):
    data = storage_for(SPACES[name]).tensordict()
    assert data["obs"].dtype == data["next_obs"].dtype == dtype
    assert data["reward"].dtype == torch.float32
    assert data["terminated"].dtype == data["truncated"].dtype == torch.bool


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.float64])
def test_actions_of_a_box_are_stored_as_the_policy_chose_them(dtype):
    """A Gaussian's -0.7 must not become 1, 0 or 255 because the environment rounds."""
    spec = transition_spec(SPACES["vector"], Box(0, 1, (2,), dtype))
    store = Storage(3, 1, spec, CPU)
    chosen = torch.tensor([[-0.75, 1.5]])
    store.write(0, ("action",), chosen)
    assert torch.equal(store["action"][0], chosen)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_float64_is_rounded_to_float32(kind):
    store = storage_for(SPACES["vector"])
    third = np.full((2, 3), 1 / 3, dtype=np.float64)
    store.write(0, ("obs",), kind(third))
    assert torch.equal(store["obs"][0], torch.full((2, 3), 1 / 3))


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_extras_of_float64_are_float32_too(kind):
    store = storage_for(SPACES["vector"])
    store.write(0, ("log_prob",), kind(np.array([0.1, 0.2])))
    assert store["log_prob"].dtype == torch.float32


def test_strided_arrays_and_tensors():
    store = storage_for(SPACES["vector"])
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    store.write(0, ("obs",), table[::3, ::-1][:, :3])
    store.write(1, ("obs",), np.asfortranarray(table[:2, :3]))
    store.write(2, ("obs",), torch.from_numpy(table)[:3, :2].T)
    assert store["obs"][0].tolist() == [[3, 2, 1], [15, 14, 13]]
    assert store["obs"][1].tolist() == [[0, 1, 2], [4, 5, 6]]
    assert store["obs"][2].tolist() == [[0, 4, 8], [1, 5, 9]]


def test_lists_and_numbers():
    store = storage_for(SPACES["vector"])
    store.write(0, ("reward",), [1, 2.5])
    store.write(1, ("terminated",), [True, False])
    assert store["reward"][0].tolist() == [1, 2.5]
    assert store["terminated"][1].tolist() == [True, False]


def test_the_caller_keeps_its_array():
    store = storage_for(SPACES["vector"])
    obs = np.ones((2, 3), np.float32)
    store.write(0, ("obs",), obs)
    obs[:] = 7
    assert (store["obs"][0] == 1).all()


def test_extras_come_with_their_first_arrival():
    store = storage_for(SPACES["vector"])
    assert "log_prob" not in store
    store.write(1, ("log_prob",), torch.tensor([0.5, 0.25]))
    store.write(
        1, ("memory",), {"h": torch.ones(2, 7), "c": np.zeros((2, 1), np.int64)}
    )
    data = store.tensordict()
    assert data["log_prob"].shape == (4, 2)
    assert data["log_prob"].tolist() == [[0, 0], [0.5, 0.25], [0, 0], [0, 0]]
    assert data["memory", "h"].shape == (4, 2, 7)
    assert data["memory", "c"].dtype == torch.int64


def test_extras_of_half_precision_stay_so():
    """Vision-language-action models compute in bfloat16, which NumPy does not have."""
    store = storage_for(SPACES["vector"])
    value = torch.tensor([0.1, 0.2], dtype=torch.bfloat16)
    store.write(1, ("value",), value)
    assert store["value"].dtype == torch.bfloat16
    assert torch.equal(store["value"][1], value)


def test_no_graph_is_kept():
    """Gradients can flow through batched environments: not into the next rollout."""
    store = storage_for(SPACES["vector"])
    obs = torch.ones(2, 3, requires_grad=True) * 2
    store.write(0, ("obs",), obs)
    store.write(0, ("log_prob",), obs.sum(-1))
    assert not store["obs"].requires_grad
    assert not store["log_prob"].requires_grad


@pytest.mark.parametrize("kind", [np.zeros, torch.zeros])
def test_a_wrong_shape_is_refused_by_name(kind):
    store = storage_for(SPACES["vector"])
    with pytest.raises(ValueError, match=r"reward.*\(2,\).*\(2, 1\)"):
        store.write(0, ("reward",), kind((2, 1)))
    with pytest.raises(ValueError, match=r"obs.*\(2, 3\).*\(2, 4\)"):
        store.write(0, ("obs",), kind((2, 4)))


def test_tensordict_shares_memory_and_gather_copies():
    store = storage_for(SPACES["nested"])
    obs = batch_of(SPACES["nested"])
    store.write(0, ("obs",), obs)
    shared, copied = store.tensordict(2), store.gather(torch.tensor([0, 1, 1]))
    assert shared.batch_size == (2, 2)
    assert copied.batch_size == (3,)
    shared["obs", "a", "b"][0, 1] = 42
    assert (store.tensordict()["obs", "a", "b"][0, 1] == 42).all()
    assert not (copied["obs", "a", "b"] == 42).any()


def test_gather_counts_along_environments_first():
    store = storage_for(SPACES["vector"], rows=3, num_envs=2)
    for row in range(3):
        store.write(row, ("reward",), np.array([10 * row, 10 * row + 1.0]))
    flat = store.gather(torch.arange(6))["reward"].tolist()
    assert flat == [0, 1, 10, 11, 20, 21]


def test_gather_reads_some_entries_elsewhere():
    store = storage_for(SPACES["nested"])
    for row in range(2):
        for name in ("obs", "next_obs"):
            store.write(row, (name,), batch_of(SPACES["nested"]))
    here, there = torch.tensor([0, 1, 2]), torch.tensor([3, 0, 2])
    mixed = store.gather(here, {"next_obs": there})
    assert (mixed["obs"] == store.gather(here)["obs"]).all()
    assert (mixed["next_obs"] == store.gather(there)["next_obs"]).all()


def filled(space, rows=4):
    store = storage_for(space, rows)
    space.seed(3)
    for row in range(rows):
        store.write(row, ("obs",), batch_of(space))
        store.write(row, ("log_prob",), torch.rand(2))
        store.write(row, ("memory",), {"h": torch.rand(2, 3)})
    return store


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("rows", [None, 0, 2, 4])
def test_state_round_trip(name, rows):
    ours = filled(SPACES[name])
    theirs = storage_for(SPACES[name])
    theirs.load_state_dict(saved_and_loaded(ours.state_dict(rows)))
    expected = dict(leaves_of(ours.tensordict(rows)))
    got = dict(leaves_of(theirs.tensordict(rows)))
    assert expected.keys() == got.keys()
    for path, tensor in expected.items():
        assert torch.equal(got[path], tensor)
        assert got[path].dtype == tensor.dtype


def test_names_with_dots_come_back_where_they_were():
    """Robots call a camera `observation.images.top`."""
    space = Dict({"images.top": Box(-1, 1, (2,)), "images": Dict(top=Box(-1, 1, (3,)))})
    ours, theirs = filled(space), storage_for(space)
    theirs.load_state_dict(saved_and_loaded(ours.state_dict()))
    for path, tensor in leaves_of(ours.tensordict()):
        assert torch.equal(theirs.tensordict()[path], tensor)


def test_a_part_does_not_drag_the_whole_along():
    store = storage_for(IMAGE, rows=1000)
    file = io.BytesIO()
    torch.save(store.state_dict(1), file)
    assert file.tell() < 20_000


def test_wrong_shapes_are_refused():
    state = filled(SPACES["vector"]).state_dict()
    for other in (
        storage_for(Box(-1, 1, (4,))),
        storage_for(SPACES["vector"], num_envs=3),
        storage_for(SPACES["vector"], rows=3),
    ):
        with pytest.raises(ValueError, match=r"'obs'.*differs"):
            other.load_state_dict(state)


def test_other_observations_are_refused():
    nested, flat = SPACES["nested"], SPACES["vector"]
    for ours, theirs in ((nested, flat), (flat, nested)):
        with pytest.raises(ValueError, match="differs"):
            storage_for(theirs).load_state_dict(filled(ours).state_dict())
    with pytest.raises(ValueError, match=r"'obs'.*uint8"):
        storage_for(Box(-1, 1, (4, 8, 8))).load_state_dict(filled(IMAGE).state_dict())


def test_a_missing_entry_is_refused():
    state = filled(SPACES["vector"]).state_dict()
    del state["next_obs"]
    with pytest.raises(ValueError, match="next_obs"):
        storage_for(SPACES["vector"]).load_state_dict(state)


def test_bytes_of_an_entry():
    spec = transition_spec(IMAGE, Discrete(2))
    assert entry_bytes(spec) == 2 * 4 * 8 * 8 + 8 + 4 + 1 + 1


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    def never(*_, **__):
        raise AssertionError("allocated")

    monkeypatch.setattr(torch, "zeros", never)
    spec = transition_spec(Box(0, 255, (84, 84, 4), np.uint8), Discrete(6))
    with pytest.raises(MemoryError, match=r"GiB.*GiB free: at most [\d,]+ transitions"):
        Storage(10**9, 1, spec, CPU)


def test_a_gpu_is_asked_for_its_own_memory(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (1000, 10**12))
    spec = transition_spec(Box(-1, 1, (3,)), Discrete(2))
    device = torch.device("cuda:0")
    check_memory(10, 2, spec, device)
    with pytest.raises(MemoryError, match=r"cuda:0 has 0.0 GiB free: at most 21"):
        check_memory(100, 2, spec, device)
