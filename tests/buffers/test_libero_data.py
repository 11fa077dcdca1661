"""LIBERO's files, as its script and OpenVLA's write them."""

import json
import sys

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict

from yieldrl.buffers import read_dataset
from yieldrl.core import Utf8Text
from yieldrl.core.text import decode

h5py = pytest.importorskip("h5py", reason="LIBERO's files need h5py")

SIZE = 8
LIBERO = Dict(  # as yieldrl/LIBERO-v1 has them
    rgb=Dict(
        agentview=Box(0, 255, (SIZE, SIZE, 3), np.uint8),
        wrist=Box(0, 255, (SIZE, SIZE, 3), np.uint8),
    ),
    proprio=Box(-np.inf, np.inf, (8,), np.float32),
    language=Utf8Text(128),
)
ACTIONS = Box(-1, 1, (7,), np.float32)
SENTENCE = "pick up the black bowl"


def demonstration(seed, length):
    rng = np.random.default_rng(seed)
    sizes = {"ee_pos": 3, "ee_ori": 3, "gripper_states": 2, "joint_states": 7}
    obs = {name: rng.normal(size=(length, size)) for name, size in sizes.items()}
    for camera in ("agentview_rgb", "eye_in_hand_rgb"):
        obs[camera] = rng.integers(0, 256, (length, SIZE, SIZE, 3), np.uint8)
    action = rng.uniform(-1, 1, (length, 7))
    action[:, -1] = np.sign(action[:, -1])
    action[0, -1] = -1.0
    ends = np.arange(length) == length - 1
    parts = {"actions": action, "rewards": ends, "dones": ends}
    return obs, {name: part.astype(part.dtype) for name, part in parts.items()}


def write(path, lengths, *, late=False, sentence=SENTENCE, change=lambda group: None):
    """A file of demonstrations, and what is in it."""
    written = []
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        if sentence is not None:
            told = {"language_instruction": [sentence]}
            data.attrs["problem_info"] = json.dumps(told)
        for k, length in enumerate(lengths):
            obs, parts = demonstration(k, length)
            group = data.create_group(f"demo_{k}")
            for name, part in parts.items():
                group[name] = part.astype(np.uint8) if part.ndim == 1 else part
            for name, values in obs.items():
                group[f"obs/{name}"] = values
            if late:
                group.attrs["num_samples"] = length
            change(group)
            written.append((obs, parts["actions"]))
    return written


def proprio(obs):
    parts = [obs[name] for name in ("ee_pos", "ee_ori", "gripper_states")]
    return torch.from_numpy(np.concatenate(parts, 1)).float()


def test_what_is_written_is_read(tmp_path):
    file = tmp_path / "x_demo.hdf5"
    written = write(file, [3] * 11)  # demo_10 comes after demo_9, not after demo_1
    data = read_dataset(file, LIBERO, ACTIONS)
    assert data.observation_space is LIBERO
    assert len(data) == 33
    episodes = list(data.episodes())
    for (obs, action), episode in zip(written, episodes, strict=True):
        picture = torch.from_numpy(obs["agentview_rgb"]).flip(1).flip(2)
        assert torch.equal(episode["obs", "rgb", "agentview"], picture)
        wrist = torch.from_numpy(obs["eye_in_hand_rgb"]).flip(1).flip(2)
        assert torch.equal(episode["next_obs", "rgb", "wrist"][:2], wrist[1:])
        assert torch.equal(episode["obs", "proprio"], proprio(obs))
        assert torch.equal(episode["action"], torch.from_numpy(action).float())
        assert decode(episode["obs", "language"]) == [SENTENCE] * 3
        assert episode["reward"].tolist() == [0, 0, 1]
        assert episode["terminated"].tolist() == [False, False, True]


def test_the_authors_files_are_one_step_late(tmp_path):
    """`num_samples` marks them: an observation is what the action beside it led to."""
    file = tmp_path / "x_demo.hdf5"
    [(obs, action)] = write(file, [4], late=True)
    data = read_dataset(file, LIBERO, ACTIONS).rollout().squeeze(1)
    assert torch.equal(data["obs", "proprio"], proprio(obs)[:3])
    assert torch.equal(data["next_obs", "proprio"], proprio(obs)[1:])
    assert torch.equal(data["action"], torch.from_numpy(action[1:]).float())
    assert data["terminated"].tolist() == [False, False, True]


def test_a_folder_has_a_file_for_each_task(tmp_path):
    write(tmp_path / "KITCHEN_SCENE3_turn_on_the_stove_demo.hdf5", [2], sentence=None)
    write(tmp_path / "LIVING_open_it_demo.hdf5", [2, 3])
    data = read_dataset(tmp_path, chunk_length=2)
    read = decode(data.rollout()["obs", "language"][:, 0])
    assert read == ["turn on the stove"] * 2 + [SENTENCE] * 5
    assert data.chunk_length == 2
    assert data.observation_space["rgb"] == LIBERO["rgb"]
    assert data.action_space == ACTIONS


def test_steps_at_rest_can_be_left_out(tmp_path):
    def rest(group):
        actions = group["actions"][()]
        actions[2:4, :6], actions[1:5, 6] = 0, 1
        group["actions"][...] = actions

    file = tmp_path / "x_demo.hdf5"
    write(file, [5, 6], change=rest)
    assert len(read_dataset(file)) == 11
    data = read_dataset(file, skip_no_ops=True)
    assert [len(e) for e in data.episodes()] == [3, 4]
    ends = data.rollout()["terminated"].squeeze(1).nonzero()
    assert ends.squeeze(1).tolist() == [2, 6]


def shift(group):
    """A gripper of 0 and 1, as data sets of OpenVLA's have it."""
    group["actions"][:, -1] = (group["actions"][:, -1] + 1) / 2


def test_other_grippers_and_a_missing_package_are_named(tmp_path, monkeypatch):
    file = tmp_path / "a.hdf5"
    write(file, [3], change=shift)
    with pytest.raises(ValueError, match="1 - 2 x"):
        read_dataset(file, LIBERO, ACTIONS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"'yieldrl\[demonstrations\]'"):
        read_dataset(file)
