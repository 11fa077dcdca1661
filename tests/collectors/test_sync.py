"""What is written down must be what happened, in every autoreset mode."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from worlds import Broken, Counter, Idle, Reusing, TensorIdle

from yieldrl.algorithms import ppo
from yieldrl.buffers import ReplayBuffer, RolloutBuffer
from yieldrl.collectors import SyncCollector, statistics
from yieldrl.collectors.expert import Expert
from yieldrl.collectors.statistics import (
    ArrayStatistics,
    DistributedStatistics,
    TensorStatistics,
)
from yieldrl.collectors.stepping import Stepper
from yieldrl.envs import SerialVectorEnv, make
from yieldrl.envs.classic_control import CartPoleVectorEnv
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


# Gymnasium's own SAME_STEP loses the last observation of a world that reuses its
# array, before anyone can see it; SerialVectorEnv does not.
@pytest.mark.parametrize(
    ("world", "mode"),
    [(Counter, mode) for mode in MODES]
    + [(Reusing, mode) for mode in (*MODES[1:], "serial")],
)
def test_transitions_are_what_happened(world, mode):
    """Even episodes of a Counter terminate, and odd ones are cut."""
    lengths = (1, 2, 5)
    worlds = [lambda n=n: world(n) for n in lengths]
    if mode == "serial":
        envs = SerialVectorEnv(worlds)
    else:
        envs = SyncVectorEnv(worlds, copy=False, autoreset_mode=mode)
    rollout, _ = collect(envs, 20)
    for env, length in enumerate(lengths):
        rows = rollout[:, env]
        rows = rows[rows.get("valid", torch.ones(20, dtype=torch.bool))]
        assert len(rows) >= 10  # NEXT_STEP spends up to every other step on resets
        number = torch.arange(len(rows))
        episode, step = number // length, number % length
        ends, odd = step == length - 1, episode % 2 == 1
        assert torch.equal(rows["obs"], torch.stack([episode, step], 1).float())
        after = torch.stack([episode, step + 1], 1).float()
        assert torch.equal(rows["next_obs"], after)
        assert torch.equal(rows["reward"], step + 1.0)
        assert torch.equal(rows["terminated"], ends & ~odd)
        assert torch.equal(rows["truncated"], ends & odd)


@pytest.mark.parametrize("mode", MODES)
def test_advantages_are_the_same_in_every_mode(mode):
    """A critic V(s) = 10 episode + step makes every bootstrap recognisable."""
    envs = SyncVectorEnv([lambda: Counter(3)], autoreset_mode=mode)
    rollout, _ = collect(envs, 12)
    critic = torch.tensor([10.0, 1.0])
    value, after = rollout["obs"] @ critic, rollout["next_obs"] @ critic
    ends = rollout["terminated"], rollout["truncated"]
    valid = rollout.get("valid", None)
    advantage = gae(rollout["reward"], value, after, *ends, 0.5, 0.5, valid=valid)
    if valid is not None:
        advantage = advantage[valid]
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
        envs, agent = CartPoleVectorEnv(1, max_episode_steps=2, **mode), TensorIdle()
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


def ended(*rewards):
    """A step that ends the episodes of all environments whose reward is not 0."""
    reward = np.array(rewards, dtype=float)
    ends = reward != 0
    return SimpleNamespace(reward=reward, terminated=ends, truncated=ends, valid=None)


def test_every_episode_of_every_process_counts_alike(monkeypatch):
    """One here of return 6, and in the other process three of 2."""
    device = torch.device("cpu")
    mine, other = (DistributedStatistics(ArrayStatistics(n), 1, device) for n in (1, 3))
    sums = []
    both = SimpleNamespace(all_reduce_sum=lambda x: sums.append(x.clone()) or sum(sums))
    monkeypatch.setattr(statistics, "ranks", lambda: both)
    other.update(ended(2, 2, 2))
    logs = mine.update(ended(6))
    assert logs == {"episode_return": 3.0, "episode_length": 1.0, "episodes": 4.0}


def test_what_waits_for_other_processes_is_saved(monkeypatch):
    """And a run of one process goes on in several."""
    both = SimpleNamespace(count=2, all_reduce_sum=lambda x: 2 * x)  # they do the same
    monkeypatch.setattr(statistics, "ranks", lambda: both)
    parts = np.zeros((1, 2)), 1, 3, torch.device("cpu")
    one, other = statistics.make_statistics(*parts), statistics.make_statistics(*parts)
    assert one.update(ended(6)) == one.update(ended(0)) == {}
    other.load_state_dict(one.state_dict())
    wanted = {"episode_return": 6.0, "episode_length": 1.0, "episodes": 2.0}
    assert other.report() == one.update(ended(0)) == wanted
    alone = ArrayStatistics(1)
    alone.update(ended(0))
    other.load_state_dict(alone.state_dict())
    assert other.report() == {}
    other.update(ended(5))
    assert other.report()["episode_length"] == 2.0


def test_steps_that_wait_on_a_device_need_the_room_that_they_had():
    device = torch.device("cpu")
    saved, fewer = (TensorStatistics(1, device, every) for every in (3, 2))
    assert saved.report() == {}, "there was no step"
    one, ends = torch.ones(1), torch.tensor([False])
    step = SimpleNamespace(reward=one, terminated=ends, truncated=ends, valid=None)
    for _ in range(2):
        assert saved.update(step) == {}
    with pytest.raises(ValueError, match=r"2 steps wait .* every 2 are: keep report_"):
        fewer.load_state_dict(saved.state_dict())


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


class Pushed(Counter):
    """Its reward is the action."""

    def __init__(self):
        super().__init__(length=3)
        self.action_space = Box(-1, 1, (2,))

    def step(self, action):
        obs, _, *rest = super().step(0)
        return obs + np.float32(action.sum()), float(action.sum()), *rest


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


def test_numbers_that_are_none_are_named_with_who_gave_them(config):
    class Diverged(Idle):
        def sample(self, obs):
            return np.float32([[0, 0], [np.nan, 0]]), {}

    for what in ("reward", "observation"):
        envs = SerialVectorEnv([lambda: Counter(9), lambda what=what: Broken(what)])
        with pytest.raises(ValueError, match=f"environment 1 returned {what} (na|in)"):
            collect(envs, 4)
    with pytest.raises(FloatingPointError, match=r"gave environment 1 the .*nan"):
        collect(SerialVectorEnv([Pushed, Pushed]), 4, Diverged())

    envs = make("yieldrl/CartPole-v1", config, num_envs=2)
    envs.reset(seed=0)
    step = envs.step

    def broken(action):
        obs, reward, *rest = step(action)
        return obs, torch.where(torch.tensor([False, True]), torch.nan, reward), *rest

    envs.step = broken
    with pytest.raises(ValueError, match="environment 1 returned reward nan"):
        collect(envs, 4, TensorIdle(), report_every=4)


@pytest.mark.parametrize("nested", [True, False])
def test_observations_outside_of_their_choices_are_refused(nested):
    """A negative one would index a table from its end, without a word."""
    space = Discrete(5, start=-1)

    class Outside(Counter):
        def __init__(self, wrong):
            super().__init__(length=3)
            self.wrong = wrong
            self.observation_space = Dict(a=Dict(b=space)) if nested else space

        def _obs(self):
            value = self.wrong if self.step_number == 2 else self.step_number
            return {"a": {"b": value}} if nested else value

    stepper = Stepper(SerialVectorEnv([lambda: Outside(1), lambda: Outside(-2)]))
    stepper.reset(0)
    stepper.step(np.zeros(2, np.int64))
    name = r"observation\['a'\]\['b'\]" if nested else "observation"
    message = rf"environment 1 of .* returned {name} -2 at step 2, .*Discrete"
    with pytest.raises(ValueError, match=message):
        stepper.step(np.zeros(2, np.int64))


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

    monkeypatch.setattr(statistics, "ArrayStatistics", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(trainer())
    next(whole()), next(trainer())
    assert np.array_equal(trainer.collector.obs, whole.collector.obs)
