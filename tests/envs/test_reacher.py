"""Reacher in pictures: Gymnasium's physics, and a picture that says where all is."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl import envs as worlds
from yieldrl.algorithms import ppo
from yieldrl.core.text import decode
from yieldrl.envs import reacher as arm
from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.reacher import (
    INSTRUCTION,
    REACH,
    SUCCESS_DISTANCE,
    Painter,
    ReacherImagesEnv,
)

ENV_ID = "yieldrl/ReacherImages-v1"
ANGLES = st.tuples(st.floats(-7, 7), st.floats(-3, 3)).map(np.array)
PLACES = st.tuples(st.floats(0, 0.2), st.floats(-np.pi, np.pi)).map(
    lambda polar: polar[0] * np.array([np.cos(polar[1]), np.sin(polar[1])])
)


def make(**kwargs):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    return gymnasium.make(ENV_ID, **kwargs)


@given(angles=ANGLES, target=PLACES)
def test_turning_so_far_touches_the_target(angles, target):
    turns = arm.turns(target, angles)
    elbow, tip = arm.positions(angles + turns)
    nearest = np.hypot(*(arm.positions(np.array([0, arm.LARGEST_BEND]))[1]))
    assert np.hypot(*elbow) == pytest.approx(arm.UPPER)
    assert np.hypot(*(tip - elbow)) == pytest.approx(arm.FORE)
    missing = max(0, nearest - np.hypot(*target))  # what is too near to be reached
    assert np.hypot(*(tip - target)) == pytest.approx(missing, abs=1e-6)
    assert missing <= nearest < SUCCESS_DISTANCE
    assert abs(angles[1] + turns[1]) <= arm.LARGEST_BEND + 1e-9


@given(target=PLACES, other=PLACES)
def test_the_elbow_always_bends_one_way(target, other):
    """The mean of two ways touches nothing. The farther the ball, the straighter."""
    bend, another = (arm.turns(place, np.zeros(2))[1] for place in (target, other))
    assert min(bend, another) >= 0
    assert (bend - another) * (np.hypot(*target) - np.hypot(*other)) <= 1e-9


def test_the_controller_is_critically_damped():
    """A joint of inertia 1 follows (1 + w t) exp(-w t), and overshoots nothing."""
    turn, velocity, dt, w = 0.1, 0.0, 1e-4, arm.FREQUENCY
    for step in range(5001):
        time = step * dt
        if step % 1000 == 0:
            expected = 0.1 * (1 + w * time) * np.exp(-w * time)
            assert turn == pytest.approx(expected, abs=1e-4)
        action = arm.controls(np.array([turn, 0]), np.array([velocity, 0]))[0]
        velocity += dt * (arm.GEAR * action - arm.DAMPING * velocity)
        turn -= dt * velocity
    action = arm.controls(np.array([9.0, -9.0]), np.array([-99.0, 99.0]))
    assert action.dtype == np.float32
    assert action.tolist() == [1, -1]


@given(angles=ANGLES, ball=PLACES, size=st.sampled_from([32, 48, 64]))
@settings(max_examples=50)
def test_the_ball_is_where_it_is(angles, ball, size):
    painter = Painter(size)
    picture = painter.draw(angles, ball).astype(float)
    assert picture.shape == (size, size, 3)
    # Red is what loses most of its green and blue, compared with red.
    red = (picture[..., 0] - picture[..., 1:].max(-1)).clip(0)
    _, tip = arm.positions(angles)
    if np.hypot(*(tip - ball)) < 0.04:
        assert red.max() > 40  # half hidden behind the fingertip
        return
    rows, columns = np.mgrid[:size, :size]
    row, column = _pixel(tip, size)
    yellow = np.hypot(rows - row, columns - column) * 2 * REACH / size < 0.02
    red[yellow] = 0
    centre = [(red * axis).sum() / red.sum() for axis in (rows, columns)]
    assert centre == pytest.approx(_pixel(ball, size), abs=0.35)


def _pixel(place, size):
    """Row and column, counted from the middle of the first pixel."""
    x, y = (place * [1, -1] + REACH) / (2 * REACH) * size - 0.5
    return [y, x]


@pytest.mark.parametrize("seed", [0, 7])
def test_physics_is_gymnasiums(seed):
    env, original = make(), gymnasium.make("Reacher-v5")
    env.action_space.seed(seed)
    obs, _ = env.reset(seed=seed)
    true, _ = original.reset(seed=seed)
    for step in range(50):
        assert np.array_equal(obs["proprio"], true[[0, 1, 2, 3, 6, 7]].astype("f4"))
        assert np.array_equal(env.unwrapped.ball, true[4:6])
        # MuJoCo's own is that of the last stage of its integrator, not of its result.
        assert env.unwrapped.distance == pytest.approx(np.hypot(*true[8:]), abs=5e-3)
        action = env.action_space.sample()
        obs, *these, info = env.step(action)
        true, *those, facts = original.step(action)
        assert these == those
        assert facts.items() <= info.items()
        assert info["success"] is (env.unwrapped.distance <= SUCCESS_DISTANCE)
        assert these[2] is (step == 49)


def test_the_ball_is_seen_in_the_picture_alone():
    env = make()
    obs, _ = env.reset(seed=0)
    inside = env.unwrapped.inside
    state = inside.data.qpos.copy()
    state[2:] = -state[2:]
    inside.set_state(state, inside.data.qvel.copy())
    other = env.unwrapped._observe()
    assert np.array_equal(obs["proprio"], other["proprio"])
    assert np.array_equal(obs["language"], other["language"])
    assert not np.array_equal(obs["rgb"], other["rgb"])


def test_without_mujoco(monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("gymnasium.envs.mujoco", "mujoco")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    config = ppo.Config(env_id=ENV_ID, num_envs=2)
    for fail in (ReacherImagesEnv, lambda: worlds.make(ENV_ID, config)):
        with pytest.raises(ImportError, match=r"mujoco: pip install 'yieldrl\[mujoco"):
            fail()


def test_spaces_and_words():
    env = make(pixels=64, instruction="berühre den Ball")
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs)
    assert obs["rgb"].shape == (64, 64, 3)
    assert decode(obs["language"]) == ["berühre den Ball"]
    with pytest.raises(ValueError, match="pixels"):
        ReacherImagesEnv(pixels=8)


@pytest.mark.filterwarnings("ignore:.*without a spec|.*not having a spec")
@pytest.mark.filterwarnings("ignore:.*observation space m.* value is -?infinity")
def test_gymnasiums_own_check():
    env = make(render_mode="rgb_array").unwrapped
    check_env(env)
    env.reset(seed=0)
    assert env.render().shape == (240, 240, 3)
    assert make().unwrapped.render() is None
    before = env.angles.copy()
    for bad in (np.nan, 1j):
        with pytest.raises(ValueError, match="is not of finite numbers"):
            env.step(np.array([0, bad]))
    assert np.array_equal(env.angles, before)


def test_experts_of_a_batch_succeed():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    envs = worlds.make(ENV_ID, ppo.Config(env_id=ENV_ID, num_envs=15))
    obs, _ = envs.reset(seed=0)
    assert obs["rgb"].shape == (15, 48, 48, 3)
    assert decode(obs["language"]) == [INSTRUCTION] * 15
    returns = 0
    for _ in range(50):
        actions = worlds.expert_actions(envs)
        assert (actions.shape, actions.dtype) == ((15, 2), np.float32)
        _, reward, _, truncated, info = envs.step(actions)
        returns = returns + reward
    assert truncated.all()
    assert final_info_entry(info, "success").sum() >= 14
    assert returns.mean() > -4.5
