"""The base of device-batched environments, with environments of a few lines."""

import copy
import itertools
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from worlds import NoSync, Walk, blind

from yieldrl.envs.batched import Parameter

MODES = list(AutoresetMode)


def roll(envs, steps, seed=0):
    """Everything that some steps with random actions return."""
    generator, seen = torch.Generator().manual_seed(seed), []
    for _ in range(steps):
        action = torch.rand(envs.num_envs, generator=generator) * 2 - 1
        *answer, info = envs.step(action)
        seen += [*answer, *info.values()]
        if envs.autoreset_mode is AutoresetMode.DISABLED:
            ended = {"reset_mask": answer[2] | answer[3]}
            seen.append(envs.reset(options=ended)[0])
    return seen


def assert_same(these, those):
    assert all(torch.equal(x, y) for x, y in zip(these, those, strict=True))


def test_shapes_and_dtypes():
    envs = Walk(3, max_episode_steps=2)
    obs, info = envs.reset(seed=0)
    assert (obs.shape, obs.dtype, info) == ((3, 2), torch.float32, {})
    obs, reward, terminated, truncated, info = envs.step(np.array([0.0, 0, 9], "f4"))
    assert [x.dtype for x in (obs, reward)] == [torch.float32] * 2
    assert terminated.tolist() == info["_final_obs"].tolist() == [False, False, True]
    assert truncated.tolist() == [False] * 3
    assert obs.is_contiguous()
    *_, truncated, _ = envs.step(torch.zeros(3))
    assert truncated.tolist() == [True, True, False]
    assert envs.action_space.shape == (3,)
    assert envs.observation_space.shape == (3, 2)
    precise = Walk(3, dtype=torch.float64)
    assert precise.reset(seed=0)[0].dtype == torch.float32  # as the space says
    assert precise.state.dtype == torch.float64


@pytest.mark.parametrize("mode", MODES)
def test_state_dict_continues_bitwise(mode):
    envs = Walk(16, max_episode_steps=5, autoreset_mode=mode)
    envs.reset(seed=1)
    roll(envs, 5)  # in NEXT_STEP mode, resets are pending now
    other = Walk(16, max_episode_steps=5, autoreset_mode=mode)
    other.load_state_dict(saved_and_loaded(envs.state_dict()))
    assert_same(roll(envs, 20), roll(other, 20))


def test_clone_is_of_the_same_kind():
    envs = Walk(4, max_episode_steps=2, autoreset_mode="NextStep").clone(2)
    assert (envs.num_envs, envs.max_episode_steps) == (2, 2)
    assert envs.autoreset_mode is AutoresetMode.NEXT_STEP
    assert envs.single_action_space is not Walk.single_action_space


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_large_batches_draw_noise_only_where_it_was_used(mode):
    n = 5000
    envs = blind(Walk(n, autoreset_mode=mode))
    envs.reset(seed=0)
    late = mode is AutoresetMode.NEXT_STEP
    first, leaves = [], torch.where(torch.arange(n) % 10 == 0, 9.0, 0.0)
    for _ in range(4):
        envs.step(leaves)
        if late:
            envs.step(torch.zeros(n))
        first.append(envs.state)
    for before, after in itertools.pairwise(first):
        assert (before[:, ::10] != after[:, ::10]).all()
        assert (after[:, ::10].abs() <= 0.5).all()
        assert torch.equal(before[:, 1::10], after[:, 1::10])  # these walk on
    assert abs(torch.corrcoef(torch.stack([x[0, ::10] for x in first]))[0, 1]) < 0.2
    other = blind(Walk(n, autoreset_mode=mode))
    other.load_state_dict(envs.state_dict())
    assert_same(roll(envs, 5), roll(other, 5))


def test_chance_in_the_dynamics_gets_new_noise_in_every_step():
    class RandomDynamics(Walk):
        noise_size = 3

        def initial_state(self, noise):
            return noise[:2] * 0

        def random_dynamics(self, state, action, noise):
            return torch.stack((state[0], noise[2])), action, state[0] > 1

    for n in (4, 5000):  # small and large batches draw differently
        envs = RandomDynamics(n)
        envs.reset(seed=0)
        rolls = torch.stack([envs.step(torch.zeros(n))[0][:, 1] for _ in range(5)])
        assert all((a != b).all() for a, b in itertools.pairwise(rolls))
        again = RandomDynamics(n)
        again.reset(seed=0)
        assert torch.equal(again.step(torch.zeros(n))[0][:, 1], rolls[0])


def test_reset_mask():
    envs = Walk(4, autoreset_mode="Disabled")
    first, _ = envs.reset(seed=0)
    before, *_ = envs.step(torch.tensor([0.1, 5, 0.1, 5]))
    options = {"reset_mask": np.array([False, True, False, True])}
    after, _ = envs.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert torch.equal(after[::2], before[::2])
    assert (after[1::2].abs() <= 0.5).all()
    assert not torch.equal(after[1::2], first[1::2])
    assert envs.elapsed.tolist() == [1, 0, 1, 0]
    unchanged, _ = envs.reset(options={"reset_mask": torch.zeros(4).bool()})
    assert torch.equal(unchanged, after)
    envs.step(torch.tensor([9.0, 9, 0, 0]))  # of two that end, one begins anew
    envs.reset(options={"reset_mask": torch.tensor([True, False, False, False])})
    with pytest.raises(ResetNeeded, match=r"\[1\]"):
        envs.step(torch.zeros(4))


class FromTheMiddle(Walk):
    """A walk that begins in the middle, so that chance has no part in it."""

    def initial_state(self, noise):
        return noise * 0


@pytest.mark.parametrize("mode", MODES)
def test_looking_changes_nothing_but_what_is_drawn(mode):
    pair = [FromTheMiddle(8, max_episode_steps=4, autoreset_mode=mode) for _ in "ab"]
    blind(pair[1])
    for envs in pair:
        envs.reset(seed=0)
    these, those = (roll(envs, 20) for envs in pair)
    assert_same(these, those)
    assert any(x.dtype == torch.bool and x.any() and not x.all() for x in these)


def test_a_saved_state_goes_on_on_another_device():
    looking, other = Walk(4), blind(Walk(4))
    for first, then in ((looking, other), (other, looking)):
        first.reset(seed=0)
        then.load_state_dict(first.state_dict())
        for _ in range(2):  # the second step needs noise that the first one drew
            action = torch.tensor([0.1, 0.1, 9, 9])
            these, those = first.step(action)[0], then.step(action)[0]
            assert torch.equal(these[:2], those[:2])
            assert (those[2:].abs() <= 0.5).all()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_step_never_synchronises(mode):
    envs = blind(Walk(4, max_episode_steps=3, autoreset_mode=mode))
    envs.reset(seed=0)
    with NoSync():
        roll(envs, 8)
        envs.reset(options={"reset_mask": torch.ones(4).bool()})


def test_gradients_flow_until_detached():
    envs = Walk(2)
    envs.reset(seed=0)
    action = torch.zeros(2, requires_grad=True)
    for _ in range(3):
        _, reward, *_ = envs.step(action)
    assert torch.autograd.grad(reward.sum(), action)[0].tolist() == [6.0, 6.0]
    assert not envs.state_dict()["state"].requires_grad
    envs.detach()
    assert not envs.step(torch.zeros(2))[0].requires_grad
    action = torch.tensor([9.0, 0], requires_grad=True)
    obs, *_ = envs.step(action)  # an episode that ended has no gradient
    assert torch.autograd.grad(obs.sum(), action)[0].tolist() == [0.0, 2.0]
    assert not envs.reset()[0].requires_grad


@pytest.mark.parametrize(
    ("space", "right", "wrong", "named"),
    [
        (spaces.Discrete(3, start=-1), [-1, 1], [1, 2], "action 2 of environment 1"),
        (
            spaces.MultiDiscrete([2, 3]),
            [[1, 2], [0, 0]],
            [[0, 2], [2, 0]],
            r"action \[2, 0\] of environment 1",
        ),
        (spaces.MultiBinary(2), [[1, 0], [0, 1]], [[0, 0], [0, 2]], "environment 1"),
    ],
)
def test_actions_out_of_range_are_refused(space, right, wrong, named):
    """Not where looking would make the host wait, as on a GPU."""

    class Chooser(Walk):
        single_action_space = space

        def dynamics(self, state, action):
            moved = state + action.reshape(2, -1).sum(1)
            return moved, moved[0], moved[0] > 99

    envs = Chooser(2)
    envs.reset(seed=0)
    states = []
    for kind in (list, np.array, torch.tensor):
        before = envs.state.clone()
        envs.step(kind(right))
        states.append(envs.state - before)
        with pytest.raises(ValueError, match=named):
            envs.step(kind(wrong))
    assert torch.allclose(states[0], states[1])
    assert torch.allclose(states[0], states[2])
    assert Chooser(2, compile=True)._action_reader._choices is None


class Thrown(Walk):
    """A walk that begins between two numbers."""

    name = "thrown"

    def __init__(self, num_envs=1, low=0.0, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.low, self.high = self.parameter("low", low), self.parameter("high", 1.0)

    def initial_state(self, noise):
        return torch.lerp(self.low, self.high, noise)


class Declared(Walk):
    gain: Parameter = 2.0
    late: "Parameter" = 0.5
    label: str = "none"
    units: ClassVar[str] = "m"

    def dynamics(self, state, action):
        return super().dynamics(state, self.gain * action + 0 * self.late)


def test_declared_attributes_are_arguments():
    envs = Declared(2, gain=[1.0, 3.0], label="mine", max_episode_steps=5)
    assert envs.gain.tolist() == [1, 3]
    assert (envs.label, envs.max_episode_steps) == ("mine", 5)
    assert torch.equal(envs.late, torch.tensor(0.5))
    assert set(envs.parameter_names) == {"gain", "late"}
    assert Declared(2).max_episode_steps is Walk(2).max_episode_steps is None
    for wrong in ("units", "gian"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{wrong}'"):
            Declared(2, **{wrong: 1})


def test_attributes_one_environment_at_a_time():
    envs = Thrown(2, low=-1.0)
    envs.reset(seed=0)
    assert envs.get_attr("low") == (-1, -1)
    assert envs.get_attr("name") == ("thrown", "thrown")
    envs.set_attr("low", [0.5, 0.25])
    assert envs.get_attr("low") == (0.5, 0.25)
    envs.set_attr("low", 0)
    assert envs.get_attr("low") == (0, 0)
    state = envs.get_attr("state")
    assert torch.equal(torch.stack(state, -1), envs.state)


def test_deep_copies_go_on_alike_and_apart():
    envs = Thrown(3, max_episode_steps=4)
    envs.reset(seed=0)
    other = copy.deepcopy(envs)
    assert_same(roll(envs, 9), roll(other, 9))
    before = other.state.clone()
    envs.step(torch.ones(3))
    assert torch.equal(other.state, before)


def test_actions_that_are_not_finite_are_refused():
    envs = gym.make_vec("yieldrl/Pendulum-v1", num_envs=3)
    envs.reset(seed=0)
    before = envs.unwrapped.state.clone()
    for bad in (np.nan, np.inf, -np.inf):
        action = envs.action_space.sample()
        action[1, -1] = bad
        for given in (action, torch.from_numpy(action), action.tolist()):
            with pytest.raises(ValueError, match="of environment 1 is not finite"):
                envs.step(given)
        assert torch.equal(before, envs.unwrapped.state)
    alone = gym.make("yieldrl/Pendulum-v1", disable_env_checker=True)
    alone.reset(seed=0)
    with pytest.raises(ValueError, match="of environment 0 is not finite"):
        alone.step(action[1])


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_where_looking_waits_the_reward_says_so(mode):
    envs = blind(gym.make_vec("yieldrl/Pendulum-v1", num_envs=3, autoreset_mode=mode))
    reader = envs._action_reader
    reader.checks_finite, reader.marks_rewards = False, True  # as on a GPU
    envs.reset(seed=0)
    action = torch.tensor([[0.5], [torch.inf], [torch.nan]])
    with NoSync():
        _, reward, *_ = envs.step(action)
    assert reward.isnan().tolist() == [False, True, True]
    again = gym.make_vec("yieldrl/Pendulum-v1", num_envs=3, autoreset_mode=mode)
    again.reset(seed=0)
    _, expected, *_ = again.step(torch.full((3, 1), 0.5))
    assert reward[0] == expected[0]


def test_state_dict_before_reset_and_misfits():
    envs, other = Walk(2), Walk(2)
    saved = envs.state_dict()
    other.load_state_dict(saved)
    assert torch.equal(envs.reset()[0], other.reset()[0])
    saved = envs.state_dict()
    before = saved["state"].clone()
    envs.state.zero_()
    assert torch.equal(saved["state"], before)
    for misfit in (Walk(3), Walk(2, dtype=torch.float64)):
        with pytest.raises(ValueError, match="saved was"):
            misfit.load_state_dict(saved)


def test_seeds_determine_everything_each_environments_own_its_first_state():
    for mode in MODES:
        runs = []
        for seed in (5, torch.tensor(5), 6, [1, 2, 3, 4], [1, 2, 3, 4]):
            envs = Walk(4, max_episode_steps=3, autoreset_mode=mode)
            runs.append([envs.reset(seed=seed)[0], *roll(envs, 10)])
        assert_same(runs[0], runs[1])
        assert_same(runs[3], runs[4])
        assert not torch.equal(runs[0][0], runs[2][0])
    these, _ = Walk(3).reset(seed=[7, None, 9])
    those, _ = Walk(2).reset(seed=np.array([9, 7]))
    assert torch.equal(these[[2, 0]], those)
    assert torch.equal(these[:1], Walk(1).reset(seed=[7])[0])
    again, _ = Walk(3).reset(seed=[7, None, 9])
    assert not torch.equal(these[1], again[1])
    assert not torch.equal(Walk(4).reset()[0], Walk(4).reset()[0])


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_first_states_are_made_only_where_they_are_needed(mode):
    """But for all where parameters differ."""
    made = []

    class Counted(Walk):
        place: Parameter = 0.0
        spread: int = 1

        def initial_state(self, noise):
            made.append(noise.shape[1])
            return self.place + self.spread * super().initial_state(noise)

    envs = Counted(5, autoreset_mode=mode)
    envs.reset(seed=0)
    made.clear()
    ends = torch.tensor([0.0, 9, 0, 9, 0])
    states = []
    for action in (torch.zeros(5), ends, torch.zeros(5)):
        envs.step(action)
        states.append(envs.state)
    assert made == [2]
    begun = states[1 if mode is AutoresetMode.SAME_STEP else 2][:, [1, 3]]
    assert (begun.abs() <= 0.5).all()
    assert begun.unique().numel() == 4
    assert torch.equal(states[2][:, ::2], states[0][:, ::2])
    envs = Counted(5, autoreset_mode=mode, place=torch.arange(5) / 10, spread=0)
    envs.reset(seed=0)
    for action in (ends, torch.zeros(5)):
        obs, *_ = envs.step(action)
        if mode is AutoresetMode.SAME_STEP:
            break
    assert torch.equal(obs[:, 0], envs.place)


def test_answers_are_the_callers_and_never_overwritten():
    envs = Walk(4, max_episode_steps=2)
    kept = [envs.reset(seed=0)[0], *roll(envs, 3)]
    copies = [x.clone() for x in kept]
    roll(envs, 5)
    assert_same(kept, copies)
    for action in (torch.zeros(4), torch.tensor([0.0, 9, 0, 0])):  # all and one end
        obs, *_, info = envs.step(action)
        state, seen = envs.state.clone(), obs.clone()
        info["final_obs"].zero_()
        assert torch.equal(obs, seen)
        obs.zero_()
        assert torch.equal(envs.state, state)


def started(**kwargs):
    envs = Walk(2, **kwargs)
    envs.reset(seed=0)
    return envs


MASK = torch.tensor([True, False])


class Undrawn(Walk):
    """Says that it has frames, and has none."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}


def frames(*seeds):
    envs = Undrawn(2, render_mode="rgb_array")
    for seed in seeds:
        envs.reset(seed=seed)
    envs.render()


def begun_anew(envs, mask):
    envs.reset(options={"reset_mask": mask})


def broken(method, *result):
    told = result if method == "dynamics" else result[0]
    return type("Broken", (Walk,), {method: lambda *_: told})(4)


@pytest.mark.parametrize(
    ("done", "error", "word"),
    [
        (lambda envs: Walk(0), ValueError, "num_envs"),
        (lambda envs: Walk(max_episode_steps=0), ValueError, "max_episode_steps"),
        (lambda envs: Walk(dtype=torch.int64), ValueError, "dtype"),
        (lambda envs: Walk(device="meta"), ValueError, "device"),
        (lambda envs: Walk(2).step(torch.zeros(2)), ResetNeeded, "reset"),
        (lambda envs: envs.reset(seed=-1), ValueError, "seed"),
        (lambda envs: envs.reset(seed=[1, 2, 3]), ValueError, "seed"),
        (lambda envs: envs.reset(seed=1.5), TypeError, "integer"),
        (lambda envs: envs.reset(options={"low": 0}), ValueError, "low"),
        (lambda envs: envs.step(torch.zeros(3)), ValueError, "floats of shape"),
        (lambda envs: envs.step(torch.zeros(2).int()), ValueError, "floats of shape"),
        (lambda envs: envs.step(np.zeros(2, complex)), ValueError, "floats of shape"),
        (lambda envs: envs.render(), ValueError, "rgb_array"),
        (lambda envs: frames(), ResetNeeded, "nothing to render yet"),
        (lambda envs: frames(0), NotImplementedError, "lacks draw"),
        (lambda envs: begun_anew(Walk(2), MASK), ResetNeeded, "reset all of them"),
        (lambda envs: begun_anew(envs, MASK[:1]), ValueError, r"not bool\[2\]"),
        (lambda envs: begun_anew(envs, 1 * MASK), ValueError, "is int64"),
        (lambda envs: Thrown(2).set_attr("low", [1, 2, 3]), ValueError, "low"),
        (lambda envs: Thrown(2).set_attr("wind", 1), ValueError, "wind"),
    ],
)
def test_what_cannot_be_is_refused(done, error, word):
    with pytest.raises(error, match=word):
        done(started())


@pytest.mark.parametrize(
    ("envs", "word"),
    [
        (broken("initial_state", torch.zeros(2, 5)), "last axis"),
        (broken("dynamics", torch.zeros(1, 4), *torch.zeros(2, 4)), "next state"),
        (broken("dynamics", torch.zeros(2, 4), *torch.zeros(2, 4)), "terminated"),
        (broken("observe", torch.zeros(4, 3)), "float32"),
    ],
)
def test_functions_that_disagree(envs, word):
    with pytest.raises(ValueError, match=word):
        envs.reset()


def test_which_steps_are_refused_and_which_actions_ignored():
    envs = started(autoreset_mode="Disabled")
    envs.step(torch.tensor([9.0, 0.0]))
    with pytest.raises(ResetNeeded, match=r"\[0\]"):
        envs.step(torch.zeros(2))
    envs.close()
    envs.close()
    with pytest.raises(ClosedEnvironmentError, match="close"):
        envs.step(torch.zeros(2))
    envs = started(max_episode_steps=1, autoreset_mode=AutoresetMode.NEXT_STEP)
    envs.step(torch.zeros(2))
    obs, *_ = envs.step(torch.full((2,), torch.nan))
    assert obs.isfinite().all()
    with pytest.raises(ValueError, match=r"action nan of environment 1 is not finite"):
        envs.step(torch.tensor([0.0, torch.nan]))
