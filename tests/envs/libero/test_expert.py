"""The script that puts a thing where it belongs: its rules, what it does and says."""

import types

import gymnasium as gym
import numpy as np
import pytest
import torch

from yieldrl.benchmarks.experts import libero as expert
from yieldrl.benchmarks.experts.libero import Box, LiberoExpert
from yieldrl.vla import action_layout
from yieldrl.vla.statistics import action_statistics

CAN = Box(np.array([0.0, 0.0, 0.0]), np.array([0.06, 0.06, 0.1]))
PLATE = Box(np.array([0.2, 0.2, 0.0]), np.array([0.3, 0.3, 0.02]))


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


LOW = np.array([-0.75, -0.66, -0.94, -0.11, -0.21, -0.19])
HIGH = np.array([0.94, 0.89, 0.93, 0.13, 0.19, 0.33])
"""About the quantiles of LIBERO's own demonstrations."""

ENTRY = {"q01": [*LOW, 0.0], "q99": [*HIGH, 1.0], "mask": [True] * 6 + [False]}


def in_openvla(action):
    """As its `libero_dataset_transform` and its loader have it: 1 opens, 0 closes."""
    scaled = 2 * (action[:6] - LOW) / (HIGH - LOW) - 1
    return np.append(scaled.clip(-1, 1), 1 - action[6].clip(0, 1))


def numbers_of(space):
    """What makes an action of numbers that OpenVLA says."""
    units = action_statistics(space, action_layout(space))
    units.from_openvla({"libero_spatial_no_noops": {"action": ENTRY}}, None, "action")
    return lambda said: units.denormalize(torch.tensor(said).float()).numpy()


def test_an_action_survives_the_way_through_its_numbers():
    from_numbers = numbers_of(gym.spaces.Box(-1, 1, (7,), np.float32))
    for gripper in (-1, 1):
        action = np.append(0.5 * LOW + 0.5 * HIGH, gripper)
        assert from_numbers(in_openvla(action)) == pytest.approx(action, abs=1e-6)


@pytest.fixture(scope="module")
def env(installed):
    task = {"suite": "libero_spatial", "task": 2, "cameras": ()}
    env = gym.make("yieldrl/LIBERO-v1", **task)
    yield LiberoExpert(env)
    env.close()


def test_the_script_succeeds_in_the_numbers_of_openvla(env):
    """Other models' units are compared with their own code's in tests/vla."""
    from_numbers = numbers_of(env.action_space)
    env.reset(seed=0)
    success, steps = False, 0
    while not success and steps < 110:
        *_, info = env.step(from_numbers(in_openvla(env.expert())))
        success, steps = info["success"], steps + 1
    assert success


def test_the_gripper_takes_the_sign_alone(env):
    """So that a policy's own number, which its densities need, is as good."""
    ends = []
    for scale in (1.0, 0.01):
        obs, _ = env.reset(seed=0)
        for sign in (1, 1, 1, 0, 0, -1):
            obs, *_ = env.step(np.array([*[0.1] * 6, scale * sign], np.float32))
        ends.append(obs["objects"].tolist() + obs["proprio"].tolist())
    assert ends[0] == ends[1]
