"""Wrappers of batches: exact numbers, in tensors and arrays, in all autoreset modes."""

from functools import partial
from itertools import islice

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import plain, trainer_of
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from worlds import Lasting, OneLasting, blind

from yieldrl.algorithms import dqn, ppo
from yieldrl.collectors.stepping import Stepper
from yieldrl.core import Config, Utf8Text
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv, check, make_eval
from yieldrl.envs.conformance import _NoWaiting
from yieldrl.envs.wrappers import (
    ActionChunks,
    ClipReward,
    EpisodeStatistics,
    FrameStack,
    GroupStarts,
    NormalizeObservation,
    NormalizeReward,
    RescaleAction,
    TimeLimit,
    TorchToNumpy,
)

SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
DISABLED = AutoresetMode.DISABLED


class TorchCounter(Lasting):
    """Observation `[length, step]`; the reward is the step times the action."""

    single_action_space = Box(-100, 100, ())

    def dynamics(self, state, action):
        state, reward, ended = super().dynamics(state, action)
        return state, reward * action, ended

    def observe(self, state):
        return state[1:].T.contiguous()


class NumpyCounter(OneLasting):
    """A single environment that counts as `TorchCounter` does."""

    action_space = Box(-100, 100, ())

    def step(self, action):
        obs, reward, *ends = super().step(action)
        return obs, reward * float(action), *ends

    def _obs(self):
        return np.array([self.length, self.time], np.float32)


def counters(kind, count=2, mode=SAME_STEP):
    functions = [lambda i=i: NumpyCounter(2 + i) for i in range(count)]
    if kind == "torch":
        return TorchCounter(count, autoreset_mode=mode)
    if kind == "serial":
        assert mode is SAME_STEP
        return SerialVectorEnv(functions)
    return SyncVectorEnv(functions, autoreset_mode=mode)


def steps(envs, actions):
    """What a `Stepper` sees, actions `[N]` repeated where they are numbers."""
    stepper = Stepper(envs)
    obs = stepper.reset(0)
    as_arrays = isinstance(obs, np.ndarray)
    found = []
    for action in actions:
        given = np.full(envs.num_envs, action, np.float32)
        found.append(stepper.step(given if as_arrays else torch.from_numpy(given)))
    return found


MODES = pytest.mark.parametrize("mode", list(AutoresetMode))
EITHER = pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("torch", SAME_STEP),
        ("sync", SAME_STEP),
        ("torch", NEXT_STEP),
        ("sync", DISABLED),
    ],
)
COMPARED = ("next_obs", "obs", "reward", "terminated", "truncated")


@pytest.mark.parametrize("kind", ["torch", "sync", "serial"])
@MODES
def test_a_time_limit_is_the_worlds_own(kind, mode):
    """As `max_episode_steps` of a batched world does it, with episodes of 2 to 5."""
    if kind == "serial" and mode is not SAME_STEP:
        return
    own = TorchCounter(4, max_episode_steps=3)
    tested = EpisodeStatistics(TimeLimit(counters(kind, 4, mode), 3))
    seen = steps(tested, [2] * 12)
    for a, b in zip(seen, steps(own, [2] * 12), strict=True):
        for name in COMPARED:
            assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
        assert a.valid is None
    for step in seen:  # 2 + 4 + 6 ... of every episode
        length = np.asarray(step.info.get("episode", {"l": 0})["l"])
        returned = np.asarray(step.info.get("episode", {"r": 0})["r"])
        assert (returned == length * (length + 1)).all()
    first = next(s.info for s in seen if s.truncated.any())
    assert first["episode"]["l"].tolist() == [0, 3, 3, 3]
    assert first["episode"]["r"].tolist() == [0, 12, 12, 12]


@pytest.mark.parametrize("kind", ["torch", "sync"])
@MODES
def test_frames(kind, mode):
    envs = FrameStack(counters(kind, mode=mode), 3)
    assert envs.single_observation_space == Box(-1000, 1000, (3, 2))
    obs, _ = envs.reset(seed=0)
    assert obs[..., 1].tolist() == [[0, 0, 0], [0, 0, 0]]
    seen = steps(envs, [1] * 3)
    assert [s.obs[..., 1].tolist() for s in seen] == [
        [[0, 0, 1], [0, 0, 1]],
        [[0, 0, 0], [0, 1, 2]],
        [[0, 0, 1], [0, 0, 0]],
    ]
    assert [s.next_obs[..., 1].tolist() for s in seen] == [
        [[0, 0, 1], [0, 0, 1]],
        [[0, 1, 2], [0, 1, 2]],
        [[0, 0, 1], [1, 2, 3]],
    ]


@pytest.mark.parametrize("kind", ["torch", "sync"])
def test_rewards_in_bounds_and_actions_that_are_stretched(kind):
    clipped = [s.reward.tolist() for s in steps(ClipReward(counters(kind)), [-9, 0.25])]
    assert clipped == [[-1, -1], [0.5, 0.5]]
    envs = RescaleAction(counters(kind))
    assert envs.single_action_space == Box(-1, 1, ())
    assert envs.action_space == Box(-1, 1, (2,))
    rewards = [s.reward.tolist()[1] for s in steps(envs, [0.5, -1, 2])]
    assert rewards == [50, -200, 300]


class Pictures(TorchVectorEnv):
    """Observations of every kind, that say how many steps there were."""

    single_action_space = Discrete(2)
    noise_size = 1

    def __init__(self, num_envs=2, **kwargs):
        self.single_observation_space = Dict(
            last=Box(0, 255, (8, 8, 3), np.uint8),
            first=Box(0, 255, (3, 8, 8), np.uint8),
            choice=Discrete(5),
            choices=MultiDiscrete([5, 6]),
        )
        super().__init__(num_envs, **{"max_episode_steps": 4, **kwargs})

    def initial_state(self, noise):
        return torch.zeros_like(noise[0])

    def dynamics(self, state, action):
        return state + 1, state, state > 10

    def observe(self, state):
        number = state.long()
        channels = (number.unsqueeze(1) * 10 + torch.arange(3)).byte()
        first = channels[:, :, None, None].expand(-1, 3, 8, 8)
        return {
            "last": first.permute(0, 2, 3, 1).contiguous(),
            "first": first.contiguous(),
            "choice": number.clone(),
            "choices": torch.stack((number, number), 1),
        }


def test_pictures_stay_pictures():
    envs = FrameStack(Pictures(), 2)
    space = envs.single_observation_space
    assert isinstance(space, Dict)
    assert space["last"] == Box(0, 255, (8, 8, 6), np.uint8)
    assert space["first"] == Box(0, 255, (6, 8, 8), np.uint8)
    assert space["choice"] == MultiDiscrete([5, 5])
    assert space["choices"] == MultiDiscrete([[5, 6], [5, 6]])
    envs.reset(seed=0)
    envs.step(torch.zeros(2, dtype=torch.int64))
    obs, *_ = envs.step(torch.zeros(2, dtype=torch.int64))
    channels = [10, 11, 12, 20, 21, 22]
    assert obs["last"][0, 3, 4].tolist() == channels
    assert obs["first"][1, :, 5, 6].tolist() == channels
    assert obs["choice"][0].tolist() == [1, 2]
    assert obs["choices"][0].tolist() == [[1, 1], [2, 2]]


@EITHER
def test_observations_are_scaled_by_all_that_were_acted_on(kind, mode):
    plain = counters(kind)
    envs = NormalizeObservation(counters(kind, mode=mode))
    ones = torch.ones(2) if kind == "torch" else np.ones(2, np.float32)
    seen = [torch.as_tensor(plain.reset(seed=0)[0])]
    obs, _ = envs.reset(seed=0)
    for _ in range(7):
        raw, _, terminated, _, info = plain.step(ones)
        obs, *_, wrapped = envs.step(ones)
        raw = torch.as_tensor(raw)
        seen.append(raw)
        rows = torch.cat(seen).double()
        mean, var = rows.mean(0), rows.var(0, correction=0)
        torch.testing.assert_close(envs.mean, mean)
        torch.testing.assert_close(envs.var, var)
        expected = ((raw - mean) * torch.rsqrt(var + 1e-8)).float()
        torch.testing.assert_close(torch.as_tensor(obs), expected)
        if terminated.any():
            i = int(terminated.nonzero()[0][0])
            last = torch.as_tensor(info["final_obs"][i])
            expected = ((last - mean) * torch.rsqrt(var + 1e-8)).float()
            found = torch.as_tensor(wrapped["final_obs"][i])
            torch.testing.assert_close(found, expected)
    assert envs.count == sum(map(len, seen))


def test_frozen_statistics_do_not_move():
    envs = NormalizeObservation(counters("torch"), limit=0.5)
    steps(envs, [1] * 5)
    before = envs.mean.clone(), envs.count.clone()
    envs.frozen = True
    seen = steps(envs, [1] * 5)
    assert torch.equal(envs.mean, before[0])
    assert envs.count == before[1]
    assert all(s.obs.abs().max() <= 0.5 for s in seen)


@EITHER
def test_rewards_are_scaled_by_the_standard_deviation_of_returns(kind, mode):
    envs = NormalizeReward(counters(kind, mode=mode), gamma=0.5, limit=1.5)
    raw = steps(counters(kind), [1, 2, 3, 4, 5, 6])
    scaled = steps(envs, [1, 2, 3, 4, 5, 6])
    returns, all_returns = [0.0, 0.0], []
    for one, other in zip(raw, scaled, strict=True):
        for i in range(2):
            returns[i] = 0.5 * returns[i] + float(one.reward[i])
            all_returns.append(returns[i])
            if one.terminated[i]:
                returns[i] = 0.0
        std = np.sqrt(np.var(all_returns) + 1e-8)
        expected = np.clip(np.asarray(one.reward) / std, -1.5, 1.5)
        np.testing.assert_allclose(np.asarray(other.reward), expected, rtol=1e-5)
        assert other.reward.dtype == one.reward.dtype


WRAPPED = {
    "statistics": EpisodeStatistics,
    "frames": lambda envs: FrameStack(envs, 3),
    "frames in a limit": lambda envs: TimeLimit(FrameStack(envs, 3), 9),
    "a limit in frames": lambda envs: FrameStack(TimeLimit(envs, 9), 3),
    "observations": lambda envs: NormalizeObservation(envs, frozen=True),
    "rewards": lambda envs: NormalizeReward(envs, frozen=True),
    "clip": ClipReward,
    "a limit in chunks": lambda envs: ActionChunks(TimeLimit(envs, 7), 3),
    "frames of chunks": lambda envs: FrameStack(ActionChunks(envs, 3), 2),
}


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("observations", SAME_STEP),
        ("rewards", NEXT_STEP),
        ("frames in a limit", SAME_STEP),
        ("a limit in frames", DISABLED),
        ("a limit in chunks", NEXT_STEP),
        ("frames of chunks", SAME_STEP),
    ],
)
def test_they_keep_the_promises(name, mode):
    wrap = WRAPPED[name]
    kwargs = {"num_envs": 4, "autoreset_mode": mode}
    check(wrap(gym.make_vec("yieldrl/CartPole-v1", **kwargs)), steps=30)
    one = lambda: gym.make("CartPole-v1", max_episode_steps=20)  # noqa: E731
    if mode is SAME_STEP:
        arrays = SerialVectorEnv([one] * 3)
    else:
        arrays = SyncVectorEnv([one] * 3, autoreset_mode=mode)
    check(wrap(arrays), steps=30)


def test_returns_of_abandoned_episodes_are_forgotten():
    """Restored into environments that begin anew, none of them goes on."""
    envs, other = (NormalizeReward(counters("serial"), gamma=0.5) for _ in range(2))
    envs.reset(seed=0)
    envs.step(np.full(2, 8, np.float32))
    assert envs.returns.tolist() == [8, 8]
    other.load_state_dict(envs.state_dict())
    assert other.var == envs.var
    other.reset()
    assert other.returns.tolist() == [0, 0]


def test_a_reset_forgets_statistics_where_it_begins_anew():
    envs = EpisodeStatistics(counters("torch", 3))
    envs.reset(seed=0)
    envs.step(torch.ones(3))
    envs.reset(options={"reset_mask": torch.tensor([False, True, False])})
    assert envs.returns.tolist() == envs.lengths.tolist() == [1, 0, 1]
    envs.reset()
    assert envs.returns.tolist() == [0, 0, 0]


class Told(Pictures):
    """Says "go" or "stop" beside numbers of which two have nearly one name."""

    def __init__(self, num_envs=3, **kwargs):
        super().__init__(num_envs, **kwargs)
        number = Box(-9e3, 9e3, (1,))
        self.single_observation_space = Dict(
            {"a.b": number, "a": Dict(b=number)},
            said=Utf8Text(4),
            flags=Box(0, 1, (1,), np.int8),
        )

    def observe(self, state):
        said = torch.from_numpy(Utf8Text(4).encode(["go", "stop"]))
        bit, number = (state > 1).long(), state.float().unsqueeze(1)
        flags = bit.to(torch.int8).unsqueeze(1)
        inner = {"b": number.clone()}
        return {"a.b": number + 1000, "a": inner, "said": said[bit], "flags": flags}


def test_numbers_alone_are_normalized_each_by_its_own_statistics():
    plain, envs, again = Told(), NormalizeObservation(Told()), Told()
    plain.reset(seed=0)
    envs.reset(seed=0)
    for _ in range(3):
        before, *_ = plain.step(torch.zeros(3).long())
        obs, *_ = envs.step(torch.zeros(3).long())
    assert (envs.mean["said"], envs.mean["flags"]) == (None, None)
    torch.testing.assert_close(envs.mean["a.b"], envs.mean["a"]["b"] + 1000)
    torch.testing.assert_close(obs["a.b"], obs["a"]["b"], rtol=1e-3, atol=1e-3)
    assert envs.single_observation_space["said"] == Utf8Text(4)
    for name in ("said", "flags"):
        assert torch.equal(obs[name], before[name])
    loaded = NormalizeObservation(again)
    loaded.load_state_dict(envs.state_dict())
    assert torch.equal(loaded.mean["a.b"], envs.mean["a.b"])
    stacked = FrameStack(Told(), 2)
    assert stacked.single_observation_space["said"] == Utf8Text(8)
    obs, _ = stacked.reset(seed=0)
    assert torch.equal(obs["said"][:, :4], obs["said"][:, 4:])


@MODES
def test_worlds_of_tensors_end_and_begin_as_gymnasiums(mode):
    """Two of four are cut: episodes of 2 to 5 steps, of which 3 are allowed."""
    envs = TorchCounter(4, max_episode_steps=3, autoreset_mode=mode)
    limited = partial(gym.wrappers.TimeLimit, max_episode_steps=3)
    functions = [lambda i=i: limited(NumpyCounter(2 + i)) for i in range(4)]
    arrays = SyncVectorEnv(functions, autoreset_mode=mode)
    for a, b in zip(steps(envs, [1] * 12), steps(arrays, [1] * 12), strict=True):
        for name in (*COMPARED, "valid"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        if mode is SAME_STEP:
            assert a.info["_final_obs"].tolist() == b.ended.tolist()


@MODES
def test_arrays_for_worlds_of_tensors(mode):
    envs = TorchToNumpy(counters("torch", mode=mode))
    arrays = counters("sync")
    for a, b in zip(steps(envs, [1] * 8), steps(arrays, [1] * 8), strict=True):
        for name in COMPARED:
            assert isinstance(getattr(a, name), np.ndarray)
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert ("final_obs" in a.info) == ("final_obs" in b.info)


def test_a_step_does_not_wait_for_the_device():
    """But for a time limit's or a chunk's: it looks on a CPU, where looking is free."""
    for name, wrap in WRAPPED.items():
        if "limit" in name or "chunks" in name:
            continue
        envs = wrap(blind(counters("torch")))
        envs.reset(seed=0)
        with _NoWaiting():
            for _ in range(4):
                envs.step(torch.ones(2))


def stacked(kind):
    if kind == "torch":
        envs = gym.make_vec("yieldrl/CartPole-v1", num_envs=4)
    else:
        envs = SerialVectorEnv([lambda: gym.make("CartPole-v1")] * 4)
    frames = FrameStack(EpisodeStatistics(TimeLimit(envs, 9)), 2)
    return NormalizeReward(NormalizeObservation(frames))


def test_ppo_trains_and_evaluates_in_wrapped_worlds():
    envs = stacked("serial")
    options = {"total_steps": 64, "eval_every": 64, "eval_episodes": 2}
    trainer = trainer_of(ppo, envs=envs, **options)
    last = list(trainer())[-1]
    assert last["log_type"] == "evaluate"
    assert last["logs"]["episode_length"] <= 9
    # Returns are those of the task, in observations on the scale of training.
    assert last["logs"]["episode_return"] == last["logs"]["episode_length"]
    inside = trainer.evaluator.envs
    assert inside.frozen
    assert inside.mean is envs.env.mean


def test_training_is_resumed_bitwise(tmp_path):
    made = partial(trainer_of, ppo, total_steps=128)
    whole = [*map(plain, made(envs=stacked("torch"))())]
    first = made(envs=stacked("torch"))
    assert [*map(plain, islice(first(), 21))] == whole[:21]
    second = made(envs=stacked("torch"))
    second.load_state_dict(first.state_dict())
    assert [*map(plain, second())] == whole[21:]


def test_what_was_learned_outlasts_worlds_that_cannot_be_saved():
    made = partial(trainer_of, dqn, total_steps=64)
    first, second = (made(envs=stacked("serial")) for _ in range(2))
    list(islice(first(), 20))
    second.load_state_dict(first.state_dict())
    tested, compared = first.envs.env, second.envs.env
    assert tested.count > 0
    assert torch.equal(tested.mean, compared.mean)
    second.collector.step()
    assert compared.count > tested.count  # it goes on from there, in new episodes
    assert compared.env.env.lengths.max() == 1


def test_evaluation_makes_what_is_inside_again():
    envs = TimeLimit(FrameStack(counters("serial"), 2), max_episode_steps=7)
    other = make_eval(envs, Config(eval_episodes=3))
    assert (other.max_episode_steps, other.num_envs) == (7, 3)
    assert other.single_observation_space == envs.single_observation_space
    rewards = make_eval(NormalizeReward(ClipReward(counters("torch"))), Config())
    assert isinstance(rewards, TorchVectorEnv)


class Own(VectorEnv):
    metadata = {"autoreset_mode": SAME_STEP}  # noqa: RUF012
    single_action_space = Discrete(2)
    num_envs = 2


class Late(Own):
    metadata = {"autoreset_mode": NEXT_STEP}  # noqa: RUF012


@pytest.mark.parametrize(
    ("made", "error", "word"),
    [
        (lambda _: FrameStack(NumpyCounter(2), 2), TypeError, "vector environments"),
        (lambda _: TimeLimit(Own(), 5), TypeError, "reset some"),
        (lambda _: ClipReward(Late()), TypeError, "reset some.* another autoreset"),
        (lambda envs: TimeLimit(envs, 0), ValueError, "max_episode_steps"),
        (lambda envs: FrameStack(envs, 0), ValueError, "num_frames"),
        (lambda _: NormalizeObservation(Pictures()), TypeError, "to normalise"),
        (lambda envs: NormalizeReward(envs, gamma=1.5), ValueError, "gamma"),
        (lambda envs: ClipReward(envs, 1, 1), ValueError, "low"),
        (lambda _: RescaleAction(Pictures()), TypeError, "nothing to be stretched"),
        (lambda envs: ActionChunks(envs, 0), ValueError, "length"),
        (lambda envs: ActionChunks(envs, 3, execute=4), ValueError, "execute"),
        (lambda envs: ActionChunks(envs, 3, gamma=1.1), ValueError, "gamma"),
        (lambda _: ActionChunks(Own(), 2), TypeError, "reset some environments alone"),
        (lambda envs: GroupStarts(envs, 1, 10), ValueError, "group_size"),
        (lambda envs: GroupStarts(envs, 3, 10), ValueError, "multiple of 3"),
        (lambda envs: GroupStarts(envs, 2, 0), ValueError, "num_steps"),
        (lambda _: GroupStarts(Own(), 2, 10), TypeError, "reset some environments"),
        (
            lambda envs: GroupStarts(envs, 2, 9).reset(options={"reset_mask": ()}),
            ValueError,
            "a reset_mask would part a group",
        ),
        (
            lambda envs: FrameStack(counters("torch", 3), 2).load_state_dict(
                FrameStack(envs, 2).state_dict()
            ),
            ValueError,
            "as many of the same",
        ),
        (
            lambda envs: EpisodeStatistics(envs).load_state_dict(
                FrameStack(counters("torch"), 2).state_dict()
            ),
            ValueError,
            "EpisodeStatistics",
        ),
    ],
)
def test_what_cannot_be_is_refused(made, error, word):
    with pytest.raises(error, match=word):
        made(counters("torch"))
    assert ActionChunks(Own(), 2, execute=1).execute == 1  # which resets nobody alone
