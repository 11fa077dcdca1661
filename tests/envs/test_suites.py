"""Suites: the tasks that a file or an environment's class names."""

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from yieldrl.envs.names import find_suite


class Suited(gym.Env):
    """An environment that has a suite of its own."""

    @staticmethod
    def tasks_of_suite(name):
        if name != "sizes":
            raise ValueError(f"there is no suite {name}")
        return {"small": {"size": 1}, "large": {"size": 2}}


def test_a_file_names_tasks_and_their_arguments(tmp_path):
    file = tmp_path / "crowds.yaml"
    file.write_text("few: {num_objects: 2}\n6: {num_objects: 6}\n")
    found = find_suite(str(file), "yieldrl/GoTo-v1")
    assert found == {"few": {"num_objects": 2}, "6": {"num_objects": 6}}
    assert [*found] == ["few", "6"]


def test_a_class_has_suites_of_its_own(monkeypatch):
    monkeypatch.setitem(gym.registry, "Suited-v0", EnvSpec("Suited-v0", Suited))
    expected = {"small": {"size": 1}, "large": {"size": 2}}
    for source in (f"{__name__}:Suited", "Suited-v0"):
        assert find_suite("sizes", source) == expected
    with pytest.raises(ValueError, match="no suite shapes"):
        find_suite("shapes", source)


def test_what_is_no_suite():
    with pytest.raises(ValueError, match="num_objects: 2"):
        find_suite("libero_spatial", "yieldrl/GoTo-v1")
    with pytest.raises(FileNotFoundError, match="no such config"):
        find_suite("none.yaml", "yieldrl/GoTo-v1")
