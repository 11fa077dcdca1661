"""Suites: the tasks that a file or an environment's class names."""

import gymnasium as gym
import pytest

from yieldrl.envs.suites import find_suite


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


def test_a_class_has_suites_of_its_own():
    source = f"{__name__}:Suited"
    expected = {"small": {"size": 1}, "large": {"size": 2}}
    assert find_suite("sizes", source) == expected
    with pytest.raises(ValueError, match="no suite shapes"):
        find_suite("shapes", source)


def test_a_registered_id_has_those_of_its_class():
    gym.register("SuitedOnes-v0", Suited)
    try:
        assert [*find_suite("sizes", "SuitedOnes-v0")] == ["small", "large"]
    finally:
        del gym.registry["SuitedOnes-v0"]


@pytest.mark.parametrize("env_id", ["yieldrl/GoTo-v1", "CartPole-v1"])
def test_an_environment_without_suites_says_how_a_file_looks(env_id):
    with pytest.raises(ValueError, match=r"few: \{num_objects: 2\}"):
        find_suite("libero_spatial", env_id)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "it has no task"), ("few: 2\n", "task 'few' is 2, and must be")],
)
def test_a_file_that_is_no_suite(tmp_path, text, said):
    file = tmp_path / "crowds.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=said):
        find_suite(str(file), "yieldrl/GoTo-v1")


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no such config"):
        find_suite("none.yaml", "yieldrl/GoTo-v1")
