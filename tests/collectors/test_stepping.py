"""The stepper hands nothing out that others write, and takes nothing in unseen."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import trainer_of
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from worlds import Counter, Idle, Reusing

from yieldrl.collectors.evaluation import evaluate
from yieldrl.collectors.stepping import Stepper, check_answer
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv

UNBOUNDED = Box(-np.inf, np.inf, (2,), np.float32)
BOUNDED = Box(-1, 1, (2,), np.float32)


class Overwriting(Counter):
    """Writes into its action, at once and at the next step; `seen` is what it got."""

    def __init__(self, action_space=UNBOUNDED):
        super().__init__(length=5)
        self.action_space = action_space
        self.kept = []

    def step(self, action):
        answer = super().step(0)
        reward = float(np.asarray(action, np.float64).sum())
        self.kept.append(action)
        for one in self.kept:
            one[...] = -77 if one.dtype.kind == "f" else 99
        return answer[0], reward, *answer[2:]


def batch(kind, make):
    if kind == "serial":
        return SerialVectorEnv([make] * 2)
    if kind == "wrapped":
        inside = SerialVectorEnv([make] * 2)
        return gym.wrappers.vector.RecordEpisodeStatistics(inside)
    mode = AutoresetMode(kind)
    return SyncVectorEnv([make] * 2, autoreset_mode=mode)


@pytest.mark.parametrize("kind", ["serial", "wrapped", *AutoresetMode])
def test_the_action_stays_what_the_policy_chose(kind):
    for space in (UNBOUNDED, BOUNDED, MultiDiscrete([3, 4]), MultiBinary(3)):
        envs = batch(kind, lambda space=space: Overwriting(space))
        stepper = Stepper(envs)
        stepper.reset(0)
        envs.action_space.seed(0)
        for _ in range(7):
            action = envs.action_space.sample()
            chosen = action.copy()
            step = stepper.step(action)
            np.testing.assert_array_equal(action, chosen)
            if step.valid is None:
                wanted = chosen.astype(np.float64).sum(1)
                np.testing.assert_allclose(step.reward, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "collection"),
    [("ppo", "async"), ("ppo_lstm", "sync"), ("reinforce", None), ("sac", "async")],
)
def test_what_is_learned_from_is_what_was_done(algorithm, collection):
    """By the reward, which is the sum of the action that the environment got."""
    space = BOUNDED if algorithm == "sac" else UNBOUNDED
    envs, options = SerialVectorEnv([lambda: Overwriting(space)] * 2), {}
    if collection is not None:
        options["collection"] = collection
    with trainer_of(algorithm, envs=envs, **options) as trainer:
        rollout = trainer.collector.collect(8)
    torch.testing.assert_close(rollout["reward"], rollout["action"].sum(-1))


class WritingWorld(TorchVectorEnv):
    """Its dynamics write into action and state, and it observes its state itself."""

    noise_size = 0
    single_observation_space = Box(-np.inf, np.inf, (1,))
    single_action_space = UNBOUNDED

    def initial_state(self, noise) -> torch.Tensor:
        return torch.zeros(1, noise.shape[1])

    def dynamics(self, state, action):
        reward = action.sum(1)
        action.mul_(0)
        state += 1
        return state, reward, torch.zeros_like(reward, dtype=torch.bool)

    def observe(self, state) -> torch.Tensor:
        return state.T


def test_tensors_stay_what_they_were_too():
    stepper = Stepper(WritingWorld(2))
    first = stepper.reset(0)
    start, action = first.clone(), torch.ones(2, 2)
    step = stepper.step(action)
    later = stepper.step(action)
    assert action.eq(1).all()
    assert first.equal(start)
    assert step.obs.equal(start + 1)
    assert step.next_obs.equal(start + 1)
    assert later.obs.equal(start + 2)


class Priceless(WritingWorld):
    """The second one pays no number."""

    max_episode_steps = 2
    single_action_space = Discrete(2)

    def dynamics(self, state, action):
        return state + 1, torch.tensor([1.0, torch.nan]), torch.zeros(2).bool()


def test_evaluation_refuses_returns_that_are_not_finite():
    """In float32, which buffers hold, 1e39 is infinite."""
    for envs in (SerialVectorEnv([Counter, lambda: Paying(1e39)]), Priceless(2)):
        with pytest.raises(ValueError, match=r"environment 1 returned reward .* in"):
            evaluate(Idle(), envs, 2, seed=0)


def test_evaluation_keeps_the_actions_of_its_agent():
    class Constant:
        action = np.ones((2, 2), np.float32)

        def predict(self, obs):
            return self.action

    result = evaluate(Constant(), SerialVectorEnv([Overwriting] * 2), 4, seed=0)
    assert result.returns.tolist() == [10, 10, 10, 10]  # two a step, for five steps


class Kept(Counter):
    """Writes rewards, infos and observations into arrays that it keeps."""

    recorded_info = ("progress",)

    def __init__(self):
        super().__init__(length=2)
        self.array, self.reward = np.zeros(2, np.float32), np.zeros(1)
        self.progress = np.zeros(1)

    def reset(self, **kwargs):
        obs, info = super().reset(**kwargs)
        self.array[:], self.reward[:], self.progress[:] = obs, -5, -5
        return self.array, info

    def step(self, action):
        obs, reward, *flags, _ = super().step(action)
        self.array[:], self.reward[:], self.progress[:] = obs, reward, reward
        return self.array, self.reward, *flags, {"progress": self.progress}


def test_what_an_environment_writes_again_was_read_in_time():
    stepper = Stepper(SerialVectorEnv([Kept] * 2))
    held = [stepper.reset(0)]
    for _ in range(4):
        step = stepper.step(np.zeros(2, np.int64))
        held += [step.next_obs, step.info["progress"][:, 0], step.reward]
    assert [h.tolist()[0] for h in held[1::3]] == [[0, 1], [0, 2], [1, 1], [1, 2]]
    assert [h.tolist() for h in held[2::3]] == [[1, 1], [2, 2]] * 2
    assert [h.tolist() for h in held[3::3]] == [[1, 1], [2, 2]] * 2


class Saying(gym.Env):
    """Observes one value of any kind, from a step on."""

    action_space = Discrete(2)

    def __init__(self, space, value, when):
        self.observation_space, self.value, self.when = space, value, when
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        return self._obs(), {}

    def step(self, action):
        self.steps += 1
        return self._obs(), 1.0, False, False, {}

    def _obs(self):
        space = self.observation_space
        one = space["a"] if isinstance(space, Dict) else space
        early = np.zeros(one.shape, one.dtype)[()]
        value = early if self.steps < self.when else self.value
        return {"a": value} if isinstance(space, Dict) else value


def play(stepper):
    stepper.reset(0)
    for _ in range(2):
        stepper.step([0, 0])


class Paying(Counter):
    """Pays what it is told to."""

    def __init__(self, reward):
        super().__init__()
        self.reward = reward

    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, self.reward, *rest


def test_rewards_of_an_environment_are_of_every_real_kind():
    for reward in (2, True, np.float16(2), [2.0], torch.tensor(2.0)):
        stepper = Stepper(SerialVectorEnv([Counter, partial(Paying, reward)]))
        stepper.reset(0)
        wanted = 1.0 if reward is True else 2.0
        assert stepper.step([0, 0]).reward.tolist() == [1.0, wanted]
    message = r"environment 1, .*, at step 1 returned the reward .* one number"
    for reward in (1j, "1.5", None):
        stepper = Stepper(SerialVectorEnv([Counter, partial(Paying, reward)]))
        with pytest.raises(ValueError, match=message):
            play(stepper)


def test_what_gymnasium_lost_at_an_end_is_not_learned_from():
    """Its SAME_STEP keeps no copy of the array that a reset writes into."""
    space = Dict(a=Box(-np.inf, np.inf, (2,)))

    def nested():
        return gym.wrappers.TransformObservation(
            Reusing(2), lambda obs: {"a": obs}, space
        )

    for made in (lambda: Reusing(2), nested):
        envs = SyncVectorEnv([made] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
        stepper = Stepper(envs)
        play(stepper)
        with pytest.raises(ValueError, match=r"writes its obs.*keeps no co"):
            stepper.step(np.zeros(2, np.int64))


BYTES = Box(0, 255, (2,), np.uint8)
MISFITS = [
    (BYTES, np.array([0.0, 0.7]), r"0\.7, which uint8 cannot hold"),
    (BYTES, [3, -1], "-1, which uint8 cannot hold"),
    (Box(0, 1, (2,), np.bool_), np.array([2, 0]), "2, which bool"),
    (Box(-9, 9, (2,)), np.array([1e39, 0]), r"1e\+39, which float32"),
    (Box(-9, 9, (2,)), np.array([1j, 0]), r"1j, which is no real number"),
    (Discrete(3), 1.5, r"1\.5, which int64 cannot hold"),
    (Discrete(3), "2", "'2', which is no real number"),
    (Box(-9, 9, (2,), np.int64), [2**70, 0], "which is no real number"),
]


@pytest.mark.parametrize(("when", "nested"), [(0, False), (2, True)])
def test_values_that_a_dtype_cannot_hold_are_refused(when, nested):
    for one, value, message in MISFITS:
        space = Dict(a=one) if nested else one
        made = [partial(Saying, space, value, step) for step in (9, when)]
        entry = r"\['a'\]" if nested else ""
        place = rf"environment 1, .*Saying.*, at step {when} returned observation"
        with pytest.raises(ValueError, match=rf"{place}{entry} .*{message}"):
            play(Stepper(SerialVectorEnv(made)))


FITS = [
    (BYTES, [0.0, 255.0], [0, 255]),
    (BYTES, [True, False], [1, 0]),
    (Box(-9, 9, (2,)), [0.1, 3], [np.float32(0.1), 3]),
    (Discrete(3), 2.0, 2),
    (Discrete(3), np.array(2, np.uint8), 2),
    (MultiBinary(2), np.array([True, False]), [1, 0]),
]


def test_values_of_another_dtype_that_fit_are_taken():
    for space, value, wanted in FITS:
        made = partial(Saying, space, value, 0)
        obs = Stepper(SerialVectorEnv([made] * 2)).reset(0)
        assert (obs.dtype, obs.tolist()) == (space.dtype, [wanted] * 2)
        inside = partial(Saying, Dict(a=space), value, 0)
        obs = Stepper(SerialVectorEnv([inside] * 2)).reset(0)
        assert obs["a"].tolist() == [wanted] * 2


class Answering(VectorEnv):
    """A batch of somebody's own, whose answers are as they are told."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012
    num_envs = 2
    single_observation_space = BYTES
    single_action_space = Discrete(2)

    def __init__(self, obs, first=None, reward=None, **flags):
        self.obs, self.first = obs, obs if first is None else first
        self.reward = np.ones(2) if reward is None else reward
        self.flags = flags

    def reset(self, *, seed=None, options=None):
        return self.first, {}

    def step(self, actions):
        nobody = np.zeros(2, np.bool_)
        if isinstance(self.obs, torch.Tensor):
            nobody = torch.from_numpy(nobody)
        flags = (self.flags.get(k, nobody) for k in ("terminated", "truncated"))
        return self.obs, self.reward, *flags, {}


def test_batches_of_arrays_and_tensors_are_looked_at_too():
    for first in (None, np.zeros((2, 2), np.uint8)):
        for value in (0.7, 300.0, -1.0, np.nan):
            stepper = Stepper(Answering(np.array([[0, 0], [0, value]]), first))
            with pytest.raises(ValueError, match=r"environment 1 of .*uint8 cannot"):
                play(stepper)
    fits = Stepper(Answering(torch.tensor([[0.0, 255.0]] * 2))).reset(0)
    assert fits.tolist() == [[0, 255]] * 2
    with pytest.raises(ValueError, match=r"environment 0 .* with 0\.5, which uint8"):
        Stepper(Answering(torch.full((2, 2), 0.5))).reset(0)


def test_rewards_of_a_batch_are_numbers_and_flags_are_booleans():
    """Numbers would be read as the indices of environments: 0 ends the first one's."""
    wrong = [("reward", r) for r in (np.ones(2) * 1j, np.ones((2, 1)), ["a", "b"])]
    for name in ("terminated", "truncated"):
        for flags in ([0, 1], np.zeros(2, np.uint8), np.zeros((2, 1))):
            wrong.append((name, np.array(flags)))
    for name, given in wrong:
        stepper = Stepper(Answering(np.zeros((2, 2), np.uint8), **{name: given}))
        stepper.reset(0)
        with pytest.raises(ValueError, match=rf"returned {name} of .* a (real|bool)"):
            stepper.step([0, 0])


def test_one_environment_is_no_batch():
    with pytest.raises(TypeError, match=r"envs is <.*Counter.*SerialVectorEnv\(\[make"):
        Stepper(Counter())


def test_a_value_that_is_not_finite_is_found_behind_integers():
    obs = {"count": np.ones((2, 1), np.int64), "place": np.array([[0.0], [np.inf]])}
    with pytest.raises(ValueError, match=r"environment 1 .*observation\['place'\] inf"):
        check_answer(obs, "a step", reward=np.zeros(2), action=np.zeros(2))


class Breaking(Counter):
    """Observes NaN at one time: `begin`, `middle`, `end`, or at a later `begin`."""

    def __init__(self, when, episode=1):
        super().__init__()
        self.when, self.which, self.begun = when, episode, 0

    def reset(self, **options):
        self.begun += 1
        obs, info = super().reset(**options)
        return self._broken(obs, "begin"), info

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        when = "end" if terminated or truncated else "middle"
        return self._broken(obs, when), reward, terminated, truncated, info

    def _broken(self, obs, when):
        now = (when, self.begun) == (self.when, self.which)
        return np.full_like(obs, np.nan) if now else obs


@pytest.mark.parametrize("mode", [None, *AutoresetMode])
def test_observations_are_finite_from_an_episodes_first_to_its_last(mode):
    for place in (("begin", 1), ("middle", 1), ("end", 1), ("begin", 2)):
        made = [Counter, partial(Breaking, *place)]
        envs = SerialVectorEnv(made)
        if mode is not None:
            envs = SyncVectorEnv(made, autoreset_mode=mode)
        with pytest.raises(ValueError, match="environment 1 returned observation nan"):
            evaluate(Idle(), envs, 6, seed=0)
