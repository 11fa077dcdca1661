"""Hidden parameters: in force when they should be, drawn where they should be."""

import copy

import gymnasium as gym
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import blind, goes_on_bitwise

from yieldrl.collectors.stepping import Stepper
from yieldrl.core import Config
from yieldrl.envs import HiddenParameters, TorchVectorEnv, check, make_eval
from yieldrl.envs.classic_control import PendulumVectorEnv
from yieldrl.envs.conformance import _NoWaiting
from yieldrl.envs.wrappers import FrameStack, TorchToNumpy
from yieldrl.envs.wrappers.hidden import Draws

SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
DISABLED = AutoresetMode.DISABLED
EACH_WAY = pytest.mark.parametrize(
    ("mode", "looks"),
    [(SAME_STEP, True), (SAME_STEP, False), (NEXT_STEP, True), (DISABLED, False)],
)
RANGES = {"gain": (2.0, 4.0), "offset": (-1.0, 1.0)}
HELD_OUT = {"gain": ((1.0, 2.0), (4.0, 6.0))}


class Gain(TorchVectorEnv):
    """The reward is `gain * action + offset`; environment i ends after 2 + i steps."""

    single_observation_space = Box(-1000, 1000, (2,))
    single_action_space = Box(-100, 100, ())
    noise_size = 1

    def __init__(self, num_envs=1, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.gain = self.parameter("gain", 1.0)
        self.offset = self.parameter("offset", 0.0)
        self.length = torch.arange(num_envs) + 2

    def initial_state(self, noise):
        return torch.cat((noise, torch.zeros_like(noise)))

    def dynamics(self, state, action):
        place, time = state
        state = torch.stack((place, time + 1))
        return state, self.gain * action + self.offset, time + 1 >= self.length


def hidden(count=4, mode="SameStep", looks=True, **kwargs):
    envs = Gain(count, autoreset_mode=mode)
    wrapped = HiddenParameters(envs if looks else blind(envs), RANGES, **kwargs)
    return wrapped if looks else blind(wrapped)


def read(privileged):
    """The parameters `[N, 2]` that `RANGES` make so of."""
    return torch.stack((3 + privileged[:, 0], privileged[:, 1]), dim=1)


def entries(obs):
    return obs["privileged"]


@EACH_WAY
def test_parameters_are_those_that_the_observation_before_says(mode, looks):
    stepper = Stepper(hidden(4, mode, looks))
    obs, changed = stepper.reset(0), 0
    for _ in range(30):
        step = stepper.step(torch.full((4,), 2.0))
        gain, offset = read(entries(obs)).T
        valid = torch.ones(4).bool() if step.valid is None else step.valid
        expected = torch.where(valid, 2 * gain + offset, 0)
        torch.testing.assert_close(step.reward, expected)
        # Of what it led to, those of the episode that it belongs to.
        same = torch.equal(entries(step.next_obs)[valid], entries(obs)[valid])
        assert same, "final_obs has the parameters of the episode that ended"
        begins = (entries(step.obs) != entries(obs)).all(1)
        assert torch.equal(begins, step.ended if step.valid is None else ~valid)
        assert not step.obs["obs"][begins, 1].any()
        in_force = torch.tensor(stepper.envs.get_attr("gain"))
        torch.testing.assert_close(in_force, read(entries(step.obs))[:, 0])
        obs, changed = step.obs, changed + int(begins.sum())
    assert changed > 20


@st.composite
def several(draw):
    """Up to four intervals that do not overlap, in order."""
    numbers = st.floats(-100, 100, width=32).map(lambda x: round(x, 2))
    ends = draw(st.lists(numbers, min_size=2, max_size=8, unique=True))
    ends = sorted(ends[: len(ends) // 2 * 2])
    return list(zip(ends[::2], ends[1::2], strict=True))


@settings(max_examples=30)
@given(rows=st.lists(several(), min_size=1, max_size=3), extreme=st.booleans())
def test_numbers_lie_in_the_intervals(rows, extreme):
    draws = Draws(rows, Gain(200))
    noise = draws.noise.draw()
    if extreme:  # the smallest and the largest that there are
        noise = (noise > 0.5) * (1 - 2**-24)
    found = draws.placed(noise)
    assert found.shape == (len(rows), 200)
    for row, numbers in zip(rows, found, strict=True):
        ends = torch.tensor(row)
        inside = (numbers[:, None] >= ends[:, 0]) & (numbers[:, None] <= ends[:, 1])
        assert inside.any(1).all()


def test_numbers_are_uniform_and_independent():
    n = 20_000
    rows = [[(0.0, 1.0)], [(-3.0, -2.0), (0.0, 3.0)]]
    draws = Draws(rows, Gain(n))
    draws.noise.generator.manual_seed(0)
    one, two = draws()
    level = torch.where(two < 0, (two + 3) / 4, (two + 1) / 4)  # its share of 4
    steps = (torch.arange(n) + 0.5) / n
    for numbers in (one, level):
        gap = (numbers.sort().values - steps).abs().max()
        assert gap < 1.63 / n**0.5  # Kolmogorov, 1 %
    assert torch.corrcoef(torch.stack((one, two)))[0, 1].abs() < 4 / n**0.5


def test_parameters_have_nothing_to_do_with_first_states():
    """The world has a generator that the same number seeds."""
    envs = HiddenParameters(Gain(20_000), {"gain": (0.0, 1.0)})
    obs, _ = envs.reset(seed=3)
    for _ in range(3):
        place = obs["obs"][:, 0]
        assert not torch.equal(place, envs.parameters[0])
        both = torch.stack((place, envs.parameters[0]))
        assert torch.corrcoef(both)[0, 1].abs() < 4 / 20_000**0.5
        obs, _ = envs.reset()


def run(envs, seed, steps=20):
    obs, _ = envs.reset(seed=seed)
    seen = [entries(obs)]
    for _ in range(steps):
        obs, *_ = envs.step(torch.zeros(envs.num_envs))
        seen.append(entries(obs))
    return torch.stack(seen)


@pytest.mark.parametrize(("mode", "looks"), [(SAME_STEP, False), (NEXT_STEP, True)])
def test_a_checkpoint_goes_on_bitwise(mode, looks):
    goes_on_bitwise(lambda: hidden(4, mode, looks), [torch.ones(4)] * 27, 7)


@pytest.mark.parametrize("mode", [SAME_STEP, NEXT_STEP])
def test_no_step_waits_for_the_device(mode, monkeypatch):
    # Which looks on a CPU whether the caller forgot a reset.
    monkeypatch.setattr(TorchVectorEnv, "check_running", lambda *_: None)
    envs = hidden(2, mode, looks=False)
    envs.reset(seed=0)
    with _NoWaiting():
        for _ in range(4):
            envs.step(torch.ones(2))


def test_gradients_flow_through_steps_with_hidden_parameters():
    envs = HiddenParameters(PendulumVectorEnv(2, max_episode_steps=3), {"mass": (1, 2)})
    envs.reset(seed=0)
    torque = torch.zeros(2, 1, requires_grad=True)
    obs, *_ = envs.step(torque)
    masses = torch.tensor(envs.get_attr("mass"))
    (gradient,) = torch.autograd.grad(obs["obs"][:, 2].sum(), torque)
    torch.testing.assert_close(gradient[:, 0], 0.15 / masses)  # 3 / (m l^2) dt


def test_frames_inside_and_outside():
    envs = HiddenParameters(FrameStack(Gain(2), 3), RANGES)
    assert envs.single_observation_space["obs"].shape == (3, 2)
    check(envs, steps=40)
    envs = FrameStack(hidden(2), 3)
    obs, _ = envs.reset(seed=0)
    first = obs["privileged"]
    assert first.shape == (2, 3, 2)
    envs.step(torch.zeros(2))
    obs, *_, info = envs.step(torch.zeros(2))
    assert torch.equal(info["final_obs"]["privileged"], first)
    new = obs["privileged"][0]
    assert (new == new[0]).all()
    assert (new != first[0]).all()


def test_a_copy_goes_on_by_itself_and_owns_its_memory():
    envs = hidden(4)
    first, _ = envs.reset(seed=0)
    kept = entries(first).clone()
    entries(first).zero_()
    other = copy.deepcopy(envs)
    obs, *_, info = envs.step(torch.zeros(4))
    assert torch.equal(entries(info["final_obs"]), kept)
    entries(obs).zero_()
    assert torch.equal(entries(other.step(torch.zeros(4))[4]["final_obs"]), kept)
    alone = [envs.step(torch.ones(4))[0]["privileged"] for _ in range(10)]
    beside = [other.step(torch.ones(4))[0]["privileged"] for _ in range(10)]
    assert all(map(torch.equal, alone, beside))
    assert not torch.equal(alone[0], alone[-1])


def test_evaluation_has_the_same_ranges_and_side():
    envs = hidden(8, held_out=HELD_OUT, side="held_out")
    other = make_eval(envs, Config(eval_episodes=3))
    assert isinstance(other, HiddenParameters)
    assert (other.num_envs, other.side) == (3, "held_out")
    obs, _ = other.reset(seed=0)
    assert (entries(obs)[:, 0].abs() >= 1).all()
    assert other.world is not envs.world
    before = envs.parameters.clone()
    run(other, 0)
    assert torch.equal(envs.parameters, before)


def test_parameters_of_some_environments():
    world = Gain(3)
    world.set_parameters({"gain": 2.0, "offset": torch.arange(3.0)})
    assert (world.gain.tolist(), world.offset.tolist()) == (2.0, [0, 1, 2])
    old, mask = world.offset, torch.tensor([False, True, False])
    world.set_parameters({"gain": 5.0, "offset": torch.full((3,), 9.0)}, mask)
    assert (world.gain.tolist(), world.offset.tolist()) == ([2, 5, 2], [0, 9, 2])
    assert old.tolist() == [0, 1, 2]  # which the graph of earlier steps may need
    with pytest.raises(ValueError, match=r"no parameters \['mass'\]: there are \['gai"):
        world.set_parameters({"mass": 1.0})
    with pytest.raises(ValueError, match=r"gain has the shape \[2\]: give one number"):
        world.set_parameters({"gain": torch.zeros(2)})


def test_what_is_held_out_is_outside_of_training():
    envs = hidden(50, held_out=HELD_OUT, side="held_out")
    obs, _ = envs.reset(seed=0)
    sides = set()
    for _ in range(60):
        gain, offset = entries(obs).T
        assert ((gain.abs() >= 1) & (gain >= -2) & (gain <= 3)).all()
        assert (offset.abs() <= 1).all()  # which is not held out
        sides |= set(gain.sign().tolist())
        obs, *_ = envs.step(torch.zeros(50))
    assert sides == {-1, 1}
    kwargs = {"held_out": {"gain": (0.0, 0.0)}, "side": "held_out"}
    envs = HiddenParameters(Gain(2), {"gain": ((0.1, 0.4), (0.6, 0.7))}, **kwargs)
    envs.reset(seed=0)
    assert envs.get_attr("gain") == (0.0, 0.0)  # one number to evaluate at
    assert [int(x) for x in envs.get_attr("length")] == [2, 3], "the world's own"
    envs.parameters = torch.tensor([[0.1, 0.7]])  # the ends of the training range
    assert envs._shown(torch.zeros(2, 2))["privileged"].tolist() == [[-1], [1]]


@pytest.mark.parametrize("looks", [True, False])
def test_a_seed_decides_all_parameters(looks):
    envs = hidden(4, looks=looks)
    first = run(envs, 5)
    assert torch.equal(first, run(envs, 5))
    assert torch.equal(first, run(hidden(4, looks=looks), 5))
    assert not torch.equal(first[0], run(envs, 6)[0])
    assert not torch.equal(run(envs, None), run(envs, None))
    together, alone = run(hidden(3), [7, 8, 9]), run(hidden(1), [8])
    assert torch.equal(together[0, 1], alone[0, 0])
    assert run(hidden(2), [None, 1]).shape == (21, 2, 2)


class Two(Gain):
    single_observation_space = Dict(a=Box(0, 1, ()), b=Box(0, 100, ()))
    single_action_space = Discrete(3)

    def observe(self, state):
        return {"a": state[0].clone(), "b": state[1].clone()}


@pytest.mark.parametrize(
    "make",
    [
        lambda: hidden(4, NEXT_STEP, looks=True),
        lambda: TorchToNumpy(hidden(4)),
        lambda: HiddenParameters(TorchToNumpy(Gain(4)), RANGES),
        lambda: HiddenParameters(Two(3), RANGES),
    ],
)
def test_the_conformance_test(make):
    check(make(), steps=40)


def arrays(count):
    return gym.make_vec("CartPole-v1", count, vectorization_mode="sync")


class Placed(Gain):
    def initial_state(self, noise):
        return super().initial_state(noise) * self.offset


class Scaled(Gain):
    def observe(self, state):
        return super().observe(self.offset * state)


@pytest.mark.parametrize(
    ("envs", "ranges", "kwargs", "error", "word"),
    [
        (Gain, {}, {}, ValueError, "ranges"),
        (Gain, {"length": (1, 2)}, {}, ValueError, "'length'"),  # of integers
        (Gain, {"gain": (2, 1)}, {}, ValueError, "low, high"),
        (Gain, {"gain": (0, float("inf"))}, {}, ValueError, "finite"),
        (Gain, {"gain": ((0, 2), (1, 3))}, {}, ValueError, "overlap"),
        (Gain, {"gain": (1, 1)}, {}, ValueError, "one number"),
        (Gain, {"gain": (2, 4)}, {"side": "held_out"}, ValueError, "held_out="),
        (Gain, RANGES, {"held_out": {"gain": (1, 9)}}, ValueError, "overlap"),
        (
            Gain,
            {"gain": (2, 4)},
            {"held_out": {"offset": (1, 2)}},
            ValueError,
            "'offset'",
        ),
        (lambda n: hidden(n), {"gain": (0, 1)}, {}, ValueError, "'privileged' already"),
        (PendulumVectorEnv, {"high_angle": (0, 1)}, {}, ValueError, "first states"),
        (Placed, RANGES, {}, ValueError, r"depend on one of \['gain', 'offset'\]"),
        (Scaled, RANGES, {}, ValueError, r"depend on one of \['gain', 'offset'\]"),
        (lambda n: arrays(n), RANGES, {}, TypeError, "of tensors"),
        (
            lambda n: HiddenParameters(Gain(n), {"gain": (1, 2)}).load_state_dict(
                hidden(n).state_dict()
            ),
            RANGES,
            {},
            ValueError,
            "saved was",
        ),
    ],
)
def test_what_cannot_be_is_refused(envs, ranges, kwargs, error, word):
    with pytest.raises(error, match=word):
        HiddenParameters(envs(2), ranges, **kwargs)
