"""Demonstrations written as LIBERO's files, and read again."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict

from yieldrl.buffers import Demonstrations, read_dataset, write_dataset
from yieldrl.foundations import Utf8Text

SPACE = Dict(  # as yieldrl/LIBERO-v1 has it
    rgb=Dict(agentview=Box(0, 255, (4, 4, 3), np.uint8)),
    proprio=Box(-np.inf, np.inf, (8,), np.float32),
    language=Utf8Text(16),
)
ACTIONS = Box(-1, 1, (7,), np.float32)


def demonstrations(ends, *, sentences=("lift",), space=SPACE, actions=ACTIONS):
    """Random steps; `ends` are reward and end of each: 1 done, 0 cut, None neither."""
    rng = np.random.default_rng(0)
    buffer = Demonstrations(len(ends), space, actions, num_envs=1)
    obs = space.sample()
    for number, end in enumerate(ends):
        told = Utf8Text(16).encode(sentences[number % len(sentences)])
        after = space.sample() | {"language": told}
        action = rng.choice([-1.0, 0.5], (1, *actions.shape)).astype(np.float32)
        step = {"action": action, "reward": [float(end == 1)]}
        flags = {"terminated": [end == 1], "truncated": [end == 0]}
        seen = {"obs": batch(obs | {"language": told}), "next_obs": batch(after)}
        buffer.add({**seen, **step, **flags})
        obs = after if end is None else space.sample()
    return buffer


def batch(obs):
    if isinstance(obs, dict):
        return {name: batch(child) for name, child in obs.items()}
    return np.asarray(obs)[None]


def test_what_is_written_is_read(tmp_path):
    SPACE.seed(0)
    written = demonstrations([None, None, 1, None, None, 0, None, None])
    file = write_dataset(tmp_path / "new" / "lift.hdf5", written)
    done, cut, last = written.episodes()
    again = read_dataset(file, SPACE, ACTIONS)
    first, *others = again.episodes()
    for key in ("obs", "action", "reward", "terminated", "truncated"):
        assert (done[key] == first[key]).all(), key
    assert (first["next_obs"][:2] == done["obs"][1:]).all()
    for whole, shorter in zip((cut, last), others, strict=True):
        assert len(shorter) == len(whole) - 1  # nobody knows what came after
        assert torch.equal(shorter["action"], whole["action"][:-1])
        assert (shorter["next_obs"] == whole["obs"][1:]).all()
        assert shorter["truncated"].nonzero().tolist() == [[len(shorter) - 1]]
    assert sorted(path.name for path in file.parent.iterdir()) == ["lift.hdf5"]


def test_it_is_laid_out_as_libero_has_it(tmp_path):
    SPACE.seed(0)
    written = demonstrations([None, 1])
    [episode] = written.episodes()
    with h5py.File(write_dataset(tmp_path / "lift.hdf5", written)) as file:
        told = json.loads(file["data"].attrs["problem_info"])
        assert told == {"language_instruction": "lift"}
        demo = file["data/demo_0"]
        picture = episode["obs", "rgb", "agentview"].numpy()
        np.testing.assert_array_equal(demo["obs/agentview_rgb"], picture[:, ::-1, ::-1])
        parts = [demo[f"obs/{name}"] for name in ("ee_pos", "ee_ori", "gripper_states")]
        assert [part.shape for part in parts] == [(2, 3), (2, 3), (2, 2)]
        np.testing.assert_array_equal(
            np.concatenate(parts, 1), episode["obs", "proprio"]
        )
        np.testing.assert_array_equal(demo["actions"], episode["action"])
        assert [*demo["rewards"]] == [*demo["dones"]] == [0, 1]


def test_nothing_is_overwritten_or_left_in_part(tmp_path):
    file = tmp_path / "lift.hdf5"
    write_dataset(file, demonstrations([1]))
    before = file.read_bytes()
    with pytest.raises(FileExistsError, match="already"):
        write_dataset(file, demonstrations([None, 1]))
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sentences": ("lift", "drop")}, r"file for each task.*'drop', 'lift'"),
        ({"actions": Box(-1, 1, (6,), np.float32)}, "LIBERO hold pictures"),
        ({"space": Dict(language=Utf8Text(16))}, "LIBERO hold pictures"),
    ],
)
def test_other_demonstrations_are_refused(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        write_dataset(tmp_path / "x.hdf5", demonstrations([None, 1], **given))
    assert not list(tmp_path.iterdir())
