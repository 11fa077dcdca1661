"""The script that puts a thing where it belongs: its rules, and what it does."""

import types

import gymnasium as gym
import numpy as np
import pytest

from yieldrl.benchmarks.experts import libero as expert
from yieldrl.benchmarks.experts.libero import Box, LiberoExpert

CAN = Box(np.array([0.0, 0.0, 0.0]), np.array([0.06, 0.06, 0.1]))
BOWL = Box(np.array([0.0, 0.0, 0.0]), np.array([0.1, 0.1, 0.05]))
PLATE = Box(np.array([0.2, 0.2, 0.0]), np.array([0.3, 0.3, 0.02]))


def test_what_fits_between_the_fingers_is_held_in_its_middle():
    """3 cm below the top, or 1.5 cm over the ground."""
    assert expert._grip(CAN, []) == pytest.approx([0.03, 0.03, 0.07])
    low = CAN._replace(high=np.array([0.06, 0.06, 0.03]))
    assert expert._grip(low, []) == pytest.approx([0.03, 0.03, 0.015])


def test_what_is_wider_is_held_by_the_edge_that_is_free():
    left = Box(np.array([0.0, -0.1, 0.0]), np.array([0.1, -0.02, 0.1]))
    right = Box(np.array([0.0, 0.11, 0.0]), np.array([0.1, 0.2, 0.1]))
    assert expert._grip(BOWL, [left]) == pytest.approx([0.05, 0.092, 0.035])
    assert expert._grip(BOWL, [left, right]) == pytest.approx([0.05, 0.008, 0.035])


@pytest.mark.parametrize(
    ("hand", "way", "gripper"),
    [
        # far above: sideways, and to 8 cm over it
        ([0.13, 0.03, 0.3], [-0.1, 0.0, -0.12], -1),
        # low beside it: up first
        ([0.13, 0.03, 0.05], [0.0, 0.0, 0.13], -1),
        # over it: down
        ([0.03, 0.03, 0.18], [0.0, 0.0, -0.11], -1),
        # around it: close
        ([0.03, 0.031, 0.075], [0.0, -0.001, -0.005], 1),
    ],
)
def test_taking(hand, way, gripper):
    hand = np.array(hand)
    found = expert._take(expert._grip(CAN, []) - hand, hand[2] - 0.18, CAN, PLATE)
    assert found[0] == pytest.approx(way)
    assert found[1] == gripper


def test_the_hand_moves_above_what_its_ends_could_touch():
    """A hand of 20 cm from (0, 0) to (0.3, 0)."""
    start, end = np.array([0.0, 0.0, 0.3]), np.array([0.3, 0.0, 0.0])
    beside = [moved(CAN, 0.39, 0, 0), moved(CAN, 0, -0.15, 0.2)]
    far = [moved(CAN, 0.41, 0, 1), moved(CAN, 0, 0.11, 1), moved(CAN, -0.17, 0, 1)]
    assert expert._height(start, end, [*far, *beside]) == pytest.approx(0.3)
    assert expert._height(end, start, [*far, beside[0]]) == pytest.approx(0.1)


def test_furniture_is_in_the_way_as_other_things_are(monkeypatch):
    monkeypatch.setattr(expert, "_box", lambda domain, name: name)
    domain = types.SimpleNamespace(
        objects_dict={"can": None, "plate": None}, fixtures_dict={"cabinet": None}
    )
    assert expert._others(domain, "can") == ["plate", "cabinet"]


def moved(thing, x, y, z):
    shift = np.array([x, y, z])
    return Box(thing.low + shift, thing.high + shift)


@pytest.mark.parametrize(
    ("place", "way", "gripper"),
    [
        ((0, 0, 0), [0.0, 0.0, 0.06], 1),  # up, until its ground is 4 cm over the goal
        ((0, 0, 0.05), [0.22, 0.22, 0.01], 1),  # then sideways
        ((0.21, 0.22, 0.06), [0.01, 0.0, -0.05], 1),  # over it: down
        ((0.21, 0.22, 0.02), [0.0, 0.0, 0.0], -1),  # there: open
    ],
)
def test_carrying_on_something(place, way, gripper):
    found = expert._carry(moved(CAN, *place), PLATE, into=False)
    assert found[0] == pytest.approx(way)
    assert found[1] == gripper


def test_into_something_it_is_dropped_from_its_edge():
    basket = PLATE._replace(high=np.array([0.3, 0.3, 0.15]))
    assert expert._carry(moved(CAN, 0.22, 0.22, 0.12), basket, into=True)[1] == -1
    assert expert._carry(moved(CAN, 0.22, 0.22, 0.14), basket, into=True)[1] == 1


def test_what_lies_there_is_left_alone():
    """Also from right over it, where the hand would else take it again."""
    there = moved(CAN, 0.22, 0.22, 0.01)
    found = expert._take(np.zeros(3), -0.1, there, PLATE)
    assert found[0] == pytest.approx([0, 0, 0.08])
    assert found[1] == -1


def test_a_hand_that_was_turned_is_turned_back():
    """About the world's axes, in halves of a rad, and twice what is missing."""
    assert expert._turn(expert.DOWN) == pytest.approx([0, 0, 0])
    for axis in range(3):
        s, c = np.sin(0.1), np.cos(0.1)
        turned = np.insert(np.insert([[c, -s], [s, c]], axis, 0, 0), axis, 0, 1)
        turned[axis, axis] = 1
        turned = turned.T if axis == 1 else turned  # z to x is the positive way
        wanted = np.zeros(3)
        wanted[axis] = -4 * s
        assert expert._turn(turned @ expert.DOWN) == pytest.approx(wanted)
    upright = np.diag([1.0, -1, -1]) @ expert.DOWN
    assert np.abs(expert._turn(upright)).max() <= 1


def test_other_tasks_are_refused():
    two = [["on", "can_1", "plate_1"], ["on", "cup_1", "plate_1"]]
    for goals in ([["open", "drawer_1"]], [["on", "can_1", "stove_1_region"]], two):
        domain = types.SimpleNamespace(
            parsed_problem={"goal_state": goals},
            objects_dict={"can_1": None, "cup_1": None, "plate_1": None},
        )
        with pytest.raises(ValueError, match=r"libero_spatial or libero_object"):
            expert._goal(domain)


@pytest.mark.parametrize(
    ("suite", "task", "most"),
    [
        ("libero_spatial", 7, 110),  # beside a cabinet, which the hand must not touch
        ("libero_object", 4, 130),  # a bottle, held by more than the pads of fingers
    ],
)
def test_it_does_a_task_from_a_fixed_first_state(installed, suite, task, most):
    env = gym.make("yieldrl/LIBERO-v1", suite=suite, task=task, cameras=())
    env = LiberoExpert(env)
    try:
        with pytest.raises(RuntimeError, match="before reset"):
            env.expert()
        env.reset(seed=0)
        steps, terminated = 0, False
        while not terminated:
            action = env.expert()
            assert env.action_space.contains(action)
            _, reward, terminated, truncated, info = env.step(action)
            assert not truncated
            steps += 1
        assert (reward, info["success"]) == (1, True)
        assert steps < most
    finally:
        env.close()
