"""What is written down must be what happened, in every autoreset mode."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from worlds import Broken, Counter, Idle, Reusing

from yieldrl.algorithms import ppo
from yieldrl.buffers import ReplayBuffer, RolloutBuffer
from yieldrl.collectors import SyncCollector, distributed_statistics
from yieldrl.collectors.distributed_statistics import DistributedStatistics
from yieldrl.collectors.expert import Expert
from yieldrl.collectors.statistics import ArrayStatistics
from yieldrl.collectors.stepping import Stepper
from yieldrl.envs import SerialVectorEnv, make
from yieldrl.envs.cartpole import CartPoleVectorEnv
from yieldrl.functional import gae

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]


def buffer_for(envs, steps, kind=RolloutBuffer):
    spaces = envs.single_observation_space, envs.single_action_space
    count = envs.num_envs
    if kind is ReplayBuffer:
        return kind(steps * count, *spaces, num_envs=count, gamma=0.9)
    return kind(steps, *spaces, num_envs=count)


def collect(envs, steps, agent=None, **kwargs):
    buffer = buffer_for(envs, steps)
    collector = SyncCollector(envs, agent or Idle(), buffer, seed=0, **kwargs)
    logs = [collector.step() for _ in range(steps)]
    return buffer.rollout(), logs


def transitions(rollout, env):
    """The valid rows of one environment, as plain tuples."""
    column = rollout[:, env]
    valid = column.get("valid", torch.ones(len(column), dtype=torch.bool))
    return [
        (
            tuple(row["obs"].tolist()),
            row["reward"].item(),
            tuple(row["next_obs"].tolist()),
            row["terminated"].item(),
            row["truncated"].item(),
        )
        for row, is_valid in zip(column, valid, strict=True)
        if is_valid
    ]


def truth(length, count):
    """The first transitions of a Counter, written down by hand."""
    rows = []
    episode = 0
    while len(rows) < count:
        for step in range(1, length + 1):
            ended = step == length
            rows.append(
                (
                    (float(episode), step - 1.0),
                    float(step),
                    (float(episode), float(step)),
                    ended and episode % 2 == 0,
                    ended and episode % 2 == 1,
                )
            )
        episode += 1
    return rows[:count]


# Gymnasium's own SAME_STEP loses the last observation of a world that reuses its
# array, before anyone can see it; SerialVectorEnv does not.
@pytest.mark.parametrize(
    ("world", "mode"),
    [(Counter, mode) for mode in MODES] + [(Reusing, mode) for mode in MODES[1:]],
)
def test_transitions_are_what_happened(world, mode):
    lengths = (1, 2, 5)
    envs = SyncVectorEnv(
        [lambda n=n: world(n) for n in lengths], copy=False, autoreset_mode=mode
    )
    rollout, _ = collect(envs, 20)
    for env, length in enumerate(lengths):
        found = transitions(rollout, env)
        assert found == truth(length, len(found))
        assert len(found) >= 10  # NEXT_STEP spends up to every other step on resets


@pytest.mark.parametrize("world", [Counter, Reusing])
def test_our_own_vector_environment_agrees(world):
    rollout, _ = collect(SerialVectorEnv([lambda: world(2), lambda: world(3)]), 12)
    assert transitions(rollout, 0) == truth(2, 12)
    assert transitions(rollout, 1) == truth(3, 12)


@pytest.mark.parametrize("mode", MODES)
def test_advantages_are_the_same_in_every_mode(mode):
    """A critic V(s) = 10 episode + step makes every bootstrap recognisable."""
    envs = SyncVectorEnv([lambda: Counter(3)], autoreset_mode=mode)
    rollout, _ = collect(envs, 12)
    critic = torch.tensor([10.0, 1.0])
    rollout["value"] = rollout["obs"] @ critic
    advantage = gae(
        rollout["reward"],
        rollout["value"],
        rollout["next_obs"] @ critic,
        rollout["terminated"],
        rollout["truncated"],
        gamma=0.5,
        gae_lambda=0.5,
        valid=rollout.get("valid", None),
    )
    if "valid" in rollout.keys():  # noqa: SIM118
        advantage = advantage[rollout["valid"]]
    # Episode 0 ends by termination: values 0 1 2, rewards 1 2 3, nothing after.
    #   delta = 1 + .5*1 - 0, 2 + .5*2 - 1, 3 - 2 = 1.5, 2, 1
    # Episode 1 is cut at V(final_obs) = 13: values 10 11 12.
    #   delta = 1 + .5*11 - 10, 2 + .5*12 - 11, 3 + .5*13 - 12 = -3.5, -3, -2.5
    expected = [1.5 + 0.25 * 2.25, 2 + 0.25 * 1, 1.0]
    expected += [-3.5 + 0.25 * (-3 - 0.625), -3 - 0.625, -2.5]
    assert advantage.flatten()[:6].tolist() == pytest.approx(expected)


def test_an_episode_is_reported_when_it_ends_and_only_then():
    _, logs = collect(SerialVectorEnv([lambda: Counter(2), lambda: Counter(3)]), 6)
    returns = [log.get("episode_return") for log in logs]
    assert returns == [None, 3.0, 6.0, 3.0, None, 4.5]
    assert logs[5]["episode_length"] == 2.5
    assert logs[5]["episodes"] == 2


@pytest.mark.parametrize("tensors", [False, True])
def test_the_length_leaves_out_steps_that_only_reset(tensors):
    mode = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    envs, agent = SyncVectorEnv([lambda: Counter(2)], **mode), Idle()
    if tensors:
        envs, agent = CartPoleVectorEnv(1, max_episode_steps=2, **mode), _TensorIdle()
    _, logs = collect(envs, 8, agent, report_every=1)
    assert [log["episode_length"] for log in logs if log] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("mode", MODES)
def test_memory_is_forgotten_where_an_observation_is_an_episodes_first(mode):
    class Remembering(Idle):
        has_memory = True

        def begin_episode(self, where=None, *, exploring):
            forgets.append(where)

    forgets = []
    envs = SyncVectorEnv([lambda n=n: Counter(n) for n in (2, 3)], autoreset_mode=mode)
    rollout, _ = collect(envs, 8, Remembering())
    firsts = rollout["obs"][..., 1] == 0
    assert np.array_equal(forgets[1:-1], firsts[1:])  # the very first is everywhere


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_number_that_is_none_is_named_with_its_environment(what):
    envs = SerialVectorEnv([lambda: Counter(9), lambda: Broken(what)])
    with pytest.raises(ValueError, match=f"environment 1 returned {what} (nan|inf)"):
        collect(envs, 4)


def test_every_episode_of_every_process_counts_alike(monkeypatch):
    """One here of return 6, and in the other process three of 2."""
    mine, other = (
        DistributedStatistics(ArrayStatistics(n), 1, torch.device("cpu"))
        for n in (1, 3)
    )
    sums = []
    both = SimpleNamespace(all_reduce_sum=lambda x: sums.append(x.clone()) or sum(sums))
    monkeypatch.setattr(distributed_statistics, "ranks", lambda: both)
    for own, reward in ((other, [2.0] * 3), (mine, [6.0])):
        ends = np.ones(len(reward), dtype=bool)
        step = SimpleNamespace(
            reward=np.array(reward), terminated=ends, truncated=ends, valid=None
        )
        logs = own.update(step)
    assert logs == {"episode_return": 3.0, "episode_length": 1.0, "episodes": 4.0}


def test_tensor_environments_report_the_same_episodes(config):
    """Deferred statistics on tensors equal immediate ones on arrays."""
    envs = make("yieldrl/CartPole-v1", config, num_envs=3)

    class Random(Idle):
        generator = torch.Generator().manual_seed(3)

        def sample(self, obs):
            return torch.randint(2, (len(obs),), generator=self.generator), {}

    buffer = buffer_for(envs, 300)
    collector = SyncCollector(envs, Random(), buffer, seed=5, report_every=50)
    logs = [collector.step() for _ in range(300)]
    assert {i % 50 for i, log in enumerate(logs) if log} == {49}
    ended = buffer.rollout()["terminated"] | buffer.rollout()["truncated"]
    lengths = []
    for env in range(3):
        ends = [-1, *ended[:, env].nonzero().flatten().tolist()]
        lengths += [b - a for a, b in pairwise(ends)]
    episodes = sum(log["episodes"] for log in logs if log)
    total = sum(log["episodes"] * log["episode_length"] for log in logs if log)
    assert episodes == len(lengths)
    assert total == pytest.approx(sum(lengths))
    assert all(log["episode_return"] == log["episode_length"] for log in logs if log)


def test_bad_numbers_of_tensor_environments_are_named(config):
    envs = make("yieldrl/CartPole-v1", config, num_envs=2)
    envs.reset(seed=0)
    step = envs.step

    def broken(action):
        obs, reward, *rest = step(action)
        return obs, torch.where(torch.tensor([False, True]), torch.nan, reward), *rest

    envs.step = broken
    buffer = buffer_for(envs, 8)
    collector = SyncCollector(envs, _TensorIdle(), buffer, seed=0, report_every=4)
    for _ in range(3):
        collector.step()
    with pytest.raises(ValueError, match="environment 1 returned reward nan"):
        collector.step()


class _TensorIdle(Idle):
    def sample(self, obs):
        return torch.zeros(len(obs), dtype=torch.int64), {}


@pytest.mark.parametrize("kind", [RolloutBuffer, ReplayBuffer])
def test_episodes_that_cannot_be_restored_are_cut_and_not_joined(kind):
    """A resumed run begins new ones: what was under way must not run into them."""
    envs = SerialVectorEnv([lambda: Counter(9)] * 2)  # they cannot say where they stand
    buffer = buffer_for(envs, 6, kind)
    collector = SyncCollector(envs, Idle(), buffer, seed=0)
    for _ in range(3):
        collector.step()
    state = collector.state_dict()
    assert not buffer._storage["truncated"].any()  # saving cuts nothing
    collector.load_state_dict(state)
    for _ in range(3):
        collector.step()
    rows = buffer._storage.tensordict()
    assert rows["truncated"][:, 0].tolist() == [False, False, True] + [False] * 3
    assert rows["obs"][3, 0].tolist() == [1.0, 0.0]  # the second episode


def test_episodes_that_cannot_be_restored_are_not_played_again():
    envs = SerialVectorEnv([CartPoleEnv])
    buffer, agent = buffer_for(envs, 2), Idle()
    collector = SyncCollector(envs, agent, buffer, seed=0)
    collector.step()
    agent.sample_step = 1
    collector.load_state_dict(collector.state_dict())
    collector.step()
    first, resumed = buffer.rollout()["obs"]
    assert not first.equal(resumed)


def test_an_end_stays_what_it_was_when_the_episodes_are_cut():
    envs = SerialVectorEnv([lambda: Counter(2)])
    buffer = buffer_for(envs, 4, ReplayBuffer)
    buffer.end_episodes()  # of nothing
    collector = SyncCollector(envs, Idle(), buffer, seed=0)
    for _ in range(2):
        collector.step()
    buffer.end_episodes()
    assert buffer._storage["terminated"][:2, 0].tolist() == [False, True]
    assert not buffer._storage["truncated"].any()


class Outside(Counter):
    """Its observations are choices, one of which its space does not have."""

    def __init__(self, wrong, when, nested=False):
        super().__init__(length=3)
        self.wrong, self.when, self.nested = wrong, when, nested
        space = Discrete(5, start=-1)
        self.observation_space = Dict(a=Dict(b=space)) if nested else space

    def _obs(self):
        value = self.wrong if self.step_number == self.when else self.step_number
        return {"a": {"b": value}} if self.nested else value


@pytest.mark.parametrize(
    ("kind", "nested", "wrong", "when"),
    [
        (SerialVectorEnv, True, -2, 2),
        (SyncVectorEnv, False, 9, 0),
    ],
)
def test_observations_outside_of_their_choices_are_refused(wrong, when, nested, kind):
    """A negative one would index a table from its end, without a word."""
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = kind(
        [lambda: Outside(1, 2, nested), lambda: Outside(wrong, when, nested)],
        **(same_step if kind is SyncVectorEnv else {}),
    )
    stepper = Stepper(envs)
    name = r"observation\['a'\]\['b'\]" if nested else "observation"
    message = rf"environment 1 of .* returned {name} {wrong} at step {when}, .*Discrete"

    def play():
        stepper.reset(0)
        for _ in range(3):
            stepper.step(np.zeros(2, np.int64))

    with pytest.raises(ValueError, match=message):
        play()


class Pushed(Counter):
    """Its reward is the action."""

    def __init__(self):
        super().__init__(length=3)
        self.action_space = Box(-1, 1, (2,))

    def step(self, action):
        obs, _, *rest = super().step(0)
        return obs + np.float32(action.sum()), float(action.sum()), *rest


class Diverged(Idle):
    def sample(self, obs):
        action = np.zeros((len(obs), 2), np.float32)
        action[1, 0] = np.nan
        return action, {}


def test_a_diverged_policy_is_not_blamed_on_the_environment():
    envs = SerialVectorEnv([Pushed, Pushed])
    buffer = buffer_for(envs, 4)
    collector = SyncCollector(envs, Diverged(), buffer, seed=0)
    with pytest.raises(FloatingPointError, match=r"gave environment 1 the .*nan"):
        collector.step()


def test_an_experts_rule_is_kept_where_a_random_action_is_executed():
    envs = SerialVectorEnv([Pushed])
    buffer, agent = buffer_for(envs, 1), Idle()
    agent.count_steps, agent.device = lambda _: None, torch.device("cpu")
    agent.generator = torch.Generator().manual_seed(0)
    expert = Expert(lambda envs, obs: np.ones((1, 2)), envs, agent, noise=1.0)
    SyncCollector(envs, expert, buffer, seed=0).step()
    rollout = buffer.rollout()
    assert rollout["action"].tolist() == [[[1, 1]]]
    assert rollout["reward"].item() < 2


def test_environments_say_what_else_belongs_to_a_transition():
    class Lasting(SerialVectorEnv):
        recorded_info = ("reward", "discount")

        def step(self, actions):
            obs, reward, terminated, truncated, info = super().step(actions)
            info["reward"] = 10 * reward
            info["discount"] = np.float32([0.5, 0.25])
            return obs, reward, terminated, truncated, info

    rollout, logs = collect(Lasting([lambda: Counter(2)] * 2), 4)
    assert rollout["reward"].tolist() == [[10, 10], [20, 20]] * 2
    assert rollout["discount"].tolist() == [[0.5, 0.25]] * 4
    assert logs[1]["episode_return"] == 3  # the task's own


def test_a_first_reset_that_was_interrupted_is_made_again_with_its_seed(monkeypatch):
    config = ppo.Config(total_steps=64, num_steps=4, num_minibatches=1, eval_every=0)
    whole, trainer = ppo.Trainer(config), ppo.Trainer(config)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed_statistics, "ArrayStatistics", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(trainer())
    next(whole()), next(trainer())
    assert np.array_equal(trainer.collector.obs, whole.collector.obs)
