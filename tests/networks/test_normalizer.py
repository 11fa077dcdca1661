"""Running statistics: those of all data seen, whatever the portions it came in."""

import sys
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import saved_and_loaded, trainer_of
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from torch import nn

from yieldrl.core import Utf8Text
from yieldrl.networks import ObservationNormalizer, RewardScaler, make_encoder
from yieldrl.networks.normalizer import RunningMoments

FEW = settings(max_examples=50)
VECTOR = Box(-np.inf, np.inf, (3,))
IMAGE = Box(0, 255, (4, 8, 8), np.uint8)


@FEW
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any),
    offset=st.sampled_from([0.0, 1.0, -100.0]),
    spread=st.sampled_from([0.1, 1.0, 50.0]),
    seed=st.integers(0, 1000),
)
def test_moments_are_those_of_all_data_in_any_portions(sizes, offset, spread, seed):
    rng = np.random.default_rng(seed)
    data = (offset + spread * rng.normal(size=(sum(sizes), 3))).astype(np.float32)
    moments = RunningMoments((3,))
    for portion in np.split(data, np.cumsum(sizes)[:-1]):
        moments.update(torch.from_numpy(portion))
    exact = data.astype(np.float64)
    assert moments.count.item() == len(data)
    np.testing.assert_allclose(moments.mean, exact.mean(0), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(moments.var, exact.var(0), rtol=1e-3, atol=1e-5)


def test_moments_of_long_runs_stay_finite_and_right():
    moments = RunningMoments(())
    moments.count.fill_(1e9)
    moments.mean.fill_(2.0)
    moments.var.fill_(4.0)
    for _ in range(100):
        moments.update(torch.full((1000,), 2.0))
    assert moments.mean.item() == pytest.approx(2.0)
    assert moments.var.item() == pytest.approx(4.0, rel=1e-3)


def test_statistics_are_moved_by_updates_alone_and_saved():
    normalizer, other = ObservationNormalizer(VECTOR), ObservationNormalizer(VECTOR)
    data = 5 + 3 * torch.randn(4, 500, 3)  # a rollout [T, N, D]
    data[..., 2] = 7.0  # a number that never changes
    normalizer.update(data)
    before = {name: x.clone() for name, x in normalizer.state_dict().items()}
    for mode in (True, False):
        normalizer.train(mode)
        normalized = normalizer(data.flatten(0, 1))
    for name, tensor in normalizer.state_dict().items():
        assert torch.equal(tensor, before[name])
    zeros, ones = torch.zeros(2), torch.ones(2)
    std, mean = torch.std_mean(normalized, 0)
    torch.testing.assert_close(mean[:2], zeros, atol=1e-4, rtol=0)
    torch.testing.assert_close(std[:2], ones, atol=1e-3, rtol=0)
    assert (normalized[:, 2] == 0).all()
    other.load_state_dict(saved_and_loaded(normalizer.state_dict()))
    more, obs = torch.randn(20, 3), torch.randn(4, 3)
    for one in (normalizer, other):
        one.update(more)
    assert torch.equal(other(obs), normalizer(obs))


class Clock(gym.Env):
    """Observes a time in seconds, a minute further with each step, and a number."""

    observation_space = Dict(
        time=Box(-np.inf, np.inf, (1,), np.float64),
        number=Box(0, 2**40, (1,), np.int64),
    )
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self.obs(0), {}

    def step(self, action):
        self.count += 1
        return self.obs(self.count), 1.0, False, self.count == 8, {}

    @staticmethod
    def obs(count):
        time = 1.7e9 + 60 * np.array([count], np.float64)
        return {"time": time, "number": 2**24 + np.array([count])}


@pytest.mark.parametrize("name", ["ppo", "behavior_cloning"])
def test_large_numbers_are_normalized_before_they_are_rounded(name, monkeypatch):
    options = {"num_envs": 2, "normalize_observation": True, "total_steps": 32}
    if name == "behavior_cloning":
        del options["total_steps"]
        options |= {"demonstration_steps": 32, "demonstrations": "clocks:act"}
        clocks = SimpleNamespace(act=lambda envs, obs: np.zeros(2, np.int64))
        monkeypatch.setitem(sys.modules, "clocks", clocks)
    else:
        options |= {"num_steps": 16}
    with trainer_of(name, envs=Clock, **options) as trainer:
        for log in trainer():
            if log["log_type"] == "train":
                break
        stored = trainer.buffer.rollout()["obs"]
        acted = [trainer.agent.border.to_tensors(Clock.obs(i))[0] for i in range(8)]
        acted = {name: torch.cat([x[name] for x in acted]) for name in acted[0]}
        for obs in (stored[:8, 0], acted):
            for seen in trainer.model.observed(obs).values():
                assert seen.dtype == torch.float32
                steps = seen.diff(dim=0)
                torch.testing.assert_close(steps, steps[:1].expand_as(steps))
                assert seen.std() > 0.5


def test_fresh_statistics_change_nothing_but_the_extremes():
    normalizer = ObservationNormalizer(VECTOR)
    obs = torch.tensor([[0.5, -100.0, 100.0]])
    torch.testing.assert_close(normalizer(obs), torch.tensor([[0.5, -10.0, 10.0]]))
    normalizer = ObservationNormalizer(VECTOR, limit=2.5)
    assert normalizer(torch.full((1, 3), 9.0)).tolist() == [[2.5] * 3]
    # What is no quantity passes as it is, also alone.
    for space in (IMAGE, Discrete(4), Utf8Text(6), Box(0, 1, (2,), np.int8)):
        normalizer = ObservationNormalizer(space)
        obs = torch.tensor(np.array([space.sample() for _ in range(3)]))
        normalizer.update(obs)
        assert normalizer(obs) is obs
        assert normalizer.state_dict() == {}


NESTED = Dict(
    {
        "camera": IMAGE,
        "body": Dict(joints=VECTOR, mode=Discrete(3)),
        "images.top": Box(-1, 1, (2,)),
        "images/top": Box(-1, 1, (2,)),  # names that look alike
        "images": Dict(top=Box(-1, 1, (2,))),
        "lamps": MultiBinary(2),
    }
)


def nested_obs(*batch):
    return {
        "camera": torch.randint(255, (*batch, 4, 8, 8), dtype=torch.uint8),
        "body": {"joints": 4 + torch.randn(*batch, 3), "mode": torch.randint(3, batch)},
        "images.top": 9 + torch.randn(*batch, 2),
        "images/top": 50 + torch.randn(*batch, 2),
        "images": {"top": 90 + torch.randn(*batch, 2)},
        "lamps": torch.ones(*batch, 2, dtype=torch.int8),
    }


@pytest.mark.parametrize("as_tensordict", [False, True])
def test_leaves_of_a_dict(as_tensordict):
    normalizer = ObservationNormalizer(NESTED)
    rollout, obs = nested_obs(20, 30), nested_obs(600)
    if as_tensordict:
        rollout, obs = TensorDict(rollout, [20, 30]), TensorDict(obs, [600])
    normalizer.update(rollout)
    normalized = normalizer(obs)
    for leaf in (
        normalized["body"]["joints"],
        normalized["images.top"],
        normalized["images/top"],
        normalized["images"]["top"],
    ):
        assert leaf.mean(0).abs().max() < 0.3
    assert torch.equal(normalized["camera"], obs["camera"])
    assert normalized["camera"].dtype == torch.uint8
    assert torch.equal(normalized["body"]["mode"], obs["body"]["mode"])
    assert torch.equal(normalized["lamps"], obs["lamps"])
    assert obs["body"]["joints"].mean() > 3, "the observation itself is left alone"


def test_what_is_not_valid_does_not_count():
    """In NEXT_STEP mode, an episode's last observation has a row that only resets."""
    normalizer = ObservationNormalizer(NESTED)
    rollout = TensorDict(nested_obs(6, 4), [6, 4])
    valid = torch.rand(6, 4) < 0.7
    normalizer.update(rollout, valid)
    other = ObservationNormalizer(NESTED)
    other.update(rollout[valid])
    for name, tensor in normalizer.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)
    assert normalizer.moments[0].count == valid.sum()
    before = {name: x.clone() for name, x in normalizer.state_dict().items()}
    normalizer.update(rollout, torch.zeros(6, 4, dtype=torch.bool))
    for name, tensor in normalizer.state_dict().items():
        assert torch.equal(before[name], tensor)


def test_it_feeds_what_may_read_a_quantity_however_deep_it_lies():
    """A frozen camera lets the statistics of what lies beside it move."""
    space = Dict(body=Dict(joints=VECTOR, camera=IMAGE), top=IMAGE)
    normalizer, encoder = ObservationNormalizer(space), make_encoder(space)
    body, top = encoder.parts
    parts = dict(zip(body.names, body.parts, strict=True))
    for part in (top, parts["camera"], body, parts["joints"]):
        assert not normalizer.feeds([part], [encoder])
    body.parts[body.names.index("joints")] = joints = nn.Linear(3, 3)
    for part in (joints, body, encoder):
        assert normalizer.feeds([part], [encoder])
    assert not normalizer.feeds([top, parts["camera"]], [encoder])
    assert normalizer.feeds([nn.Linear(3, 2)], [encoder]), "what follows the encoder"


class ScalarScaler:
    """One environment at a time, one number at a time, all returns remembered."""

    def __init__(self, num_envs, gamma):
        self.running = [0.0] * num_envs
        self.gamma = gamma
        self.returns = []

    def step(self, reward, ended, valid):
        for n in range(len(self.running)):
            if not valid[n]:
                continue
            self.running[n] = self.gamma * self.running[n] + reward[n]
            self.returns.append(self.running[n])
            if ended[n]:
                self.running[n] = 0.0

    def scale(self, reward):
        return reward / np.sqrt(np.var(self.returns) + 1e-8)


def rollout_of(reward, terminated, truncated, valid=None):
    data = {"reward": reward, "terminated": terminated, "truncated": truncated}
    if valid is not None:
        data["valid"] = valid
    return TensorDict({k: torch.from_numpy(v) for k, v in data.items()}, reward.shape)


@FEW
@given(
    seed=st.integers(0, 1000),
    gamma=st.sampled_from([0.0, 0.9, 1.0]),
    rate=st.sampled_from([0.0, 0.2, 1.0]),
    with_valid=st.booleans(),
)
def test_rewards_are_divided_by_the_std_of_returns(seed, gamma, rate, with_valid):
    rng = np.random.default_rng(seed)
    tested, reference = RewardScaler(3, gamma, limit=1e9), ScalarScaler(3, gamma)
    ended = np.zeros(3, bool)
    for _ in range(3):  # episodes go on over the rollouts
        steps = int(rng.integers(1, 9))
        reward = rng.normal(1, 3, size=(steps, 3)).astype(np.float32)
        ends = rng.random((2, steps, 3)) < rate
        valid = np.ones((steps, 3), bool)
        for t in range(steps):
            if with_valid:  # NEXT_STEP: the step after an end gives nothing
                valid[t] = ~ended
                ends[:, t] &= valid[t]
                reward[t] *= valid[t]
            ended = ends[0, t] | ends[1, t]
            reference.step(reward[t], ended, valid[t])
        tested.update(rollout_of(reward, *ends, valid if with_valid else None))
        scaled = tested(torch.from_numpy(reward))
        np.testing.assert_allclose(
            scaled, reference.scale(reward), rtol=2e-3, atol=1e-4
        )
    np.testing.assert_allclose(tested.carry, reference.running, rtol=1e-4, atol=1e-4)


def test_scaling_does_not_move_the_statistics():
    """Nor does a look at what an update would make of a rollout's rewards."""
    scaler, no = RewardScaler(1, 0.9), np.zeros((3, 1), bool)
    rollout = rollout_of(np.array([[1], [2], [4]], np.float32), no, no)
    before = {name: x.clone() for name, x in scaler.state_dict().items()}
    assert scaler(torch.tensor([100.0, -100.0])).tolist() == [10, -10]
    scaled = scaler.preview(rollout)
    assert all(torch.equal(x, before[name]) for name, x in scaler.state_dict().items())
    scaler.update(rollout)
    assert torch.equal(scaled, scaler(rollout["reward"]))


def test_abandoned_episodes_leave_no_return_behind():
    """A resumed run resets environments that cannot say where they stood."""
    reward, no = np.full((4, 2), 100.0, np.float32), np.zeros((4, 2), bool)
    scaler, fresh = RewardScaler(2, 0.9), RewardScaler(2, 0.9)
    scaler.update(rollout_of(reward, no, no))
    assert (scaler.carry > 0).all()
    scaler.forget()
    fresh.load_state_dict(scaler.state_dict())
    fresh.carry.zero_()
    for one in (scaler, fresh):
        one.update(rollout_of(np.ones((4, 2), np.float32), no, no))
    np.testing.assert_allclose(scaler.carry, [1 + 0.9 + 0.81 + 0.729] * 2, rtol=1e-6)
    assert torch.equal(scaler.moments.mean, fresh.moments.mean)


def test_returns_of_long_steps_are_discounted_by_how_long_they_are():
    """R_t = gamma_t R_{t-1} + r_t, and nothing beyond an episode's end."""
    scaler = RewardScaler(1, gamma=0.9)
    no = torch.zeros(3, 1, dtype=torch.bool)
    rollout = TensorDict(
        {
            "reward": torch.tensor([[1.0], [2.0], [4.0]]),
            "discount": torch.tensor([[0.5], [0.25], [0.125]]),
            "terminated": no,
            "truncated": no,
        },
        [3, 1],
    )
    scaler.update(rollout)
    assert scaler.carry.item() == 4 + 0.125 * (2 + 0.25 * 1)
    usual = RewardScaler(1, gamma=0.5)
    usual.update(rollout.exclude("discount"))
    assert usual.carry.item() == 4 + 0.5 * (2 + 0.5 * 1)
