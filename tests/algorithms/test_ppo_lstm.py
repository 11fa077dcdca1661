"""Recurrent PPO remembers what it should, forgets when it should, and learns."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from worlds import Counter

from yieldrl.algorithms import ppo, ppo_lstm
from yieldrl.collectors import evaluate
from yieldrl.core import spaces
from yieldrl.envs.t_maze import TMazeVectorEnv

SMALL = {"num_envs": 4, "num_steps": 16, "num_epochs": 2}
SMALL |= {"num_minibatches": 2, "lstm_size": 8, "hidden_sizes": (8,), "eval_every": 0}
VECTOR = Box(-np.inf, np.inf, (2,), np.float32)
LENGTHS = (1, 2, 5, 7)
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


def agent_of(observation_space=VECTOR, action_space=Discrete(2), **kwargs):  # noqa: B008
    config = ppo_lstm.Config(**{**SMALL, "normalize_reward": False, **kwargs})
    torch.manual_seed(0)
    model = ppo_lstm.Model(observation_space, action_space, config)
    return ppo_lstm.Agent(ppo_lstm.Algorithm(model, config), config)


def counters(mode):
    """Episodes of every length and both kinds of end."""
    makers = [lambda n=n: Counter(n) for n in LENGTHS]
    return SyncVectorEnv(makers, autoreset_mode=mode)


def trainer_of(mode=AutoresetMode.SAME_STEP, **kwargs):
    config = ppo_lstm.Config(**{**SMALL, "total_steps": 192, **kwargs})
    return ppo_lstm.Trainer(config, envs=counters(mode))


def alone(model, episode):
    """Values `[L]` of one episode's observations `[L, ...]`, from its first on."""
    memory = torch.zeros(1, model.memory_size)
    values = []
    with torch.no_grad():
        for t, obs in enumerate(episode):
            features, memory = model.step(
                {"obs": obs[None], "memory": memory, "first": torch.tensor([t == 0])}
            )
            values.append(model.critic(features).item())
    return values


@settings(max_examples=20)
@given(
    first=st.lists(
        st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12
    ),
    continuous=st.booleans(),
)
def test_a_sequence_repeats_what_acting_said(first, continuous):
    """log_prob and value, for episodes that begin anywhere."""
    space = Box(-1, 1, (2,), np.float32) if continuous else Discrete(3)
    agent, rows = agent_of(action_space=space), []
    model = agent.algorithm.model
    obs = torch.randn(len(first), 3, 2, generator=torch.Generator().manual_seed(1))
    agent.explore(torch.ones(3, 2))  # there are episodes under way
    for seen, begins in zip(obs, first, strict=True):
        agent.begin_episode(begins, exploring=True)
        with torch.no_grad():
            action, extras = agent.explore(seen)
            inputs = {"obs": seen, **extras}
            log_prob, _, value = model.evaluate_actions(inputs, action)
        row = {**inputs, "action": action, "log_prob": log_prob, "value": value}
        rows.append(TensorDict(row, [3]))
    data = torch.stack(rows)
    assert data["first"].tolist() == first
    inputs = agent.model.inputs(data)
    log_prob, _, value = model.evaluate_actions(inputs, data["action"].flatten(0, 1))
    torch.testing.assert_close(log_prob, data["log_prob"].flatten())
    torch.testing.assert_close(value, data["value"].flatten())


class TestForgetting:
    @pytest.mark.parametrize("mode", list(AutoresetMode))
    def test_values_are_those_of_each_episode_alone(self, mode):
        """Through resets and over the border between two rollouts."""
        trainer = trainer_of(mode, learning_rate=1e-30)
        seen = []
        for _ in trainer():
            if trainer.buffer.full and trainer.buffer.minibatches is None:
                rollout = trainer.buffer.rollout()
                trainer.algorithm.prepare(rollout)
                seen.append(rollout.select("obs", "value").clone())
                trainer.buffer.clear()
        seen = torch.cat(seen)
        assert len(seen) == 48
        for n in range(4):
            starts = (seen["obs"][:, n, 1] == 0).nonzero().flatten().tolist()
            for start, end in zip(starts, [*starts[1:], 48], strict=True):
                episode = seen[start:end, n]
                expected = alone(trainer.model, episode["obs"])
                assert episode["value"].tolist() == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("mode", list(AutoresetMode))
    def test_a_cut_episode_is_bootstrapped_from_its_own_memory(self, mode):
        trainer = trainer_of(mode)
        buffer = trainer.buffer
        next(log for log in trainer() if log["sample_step"] == 128 and buffer.full)
        rollout = buffer.rollout()
        trainer.algorithm.prepare(rollout)
        with torch.no_grad():
            following = trainer.algorithm.next_values(rollout)
        checked = 0
        for n, length in enumerate(LENGTHS):
            for start in rollout["first"][:, n].nonzero().flatten().tolist():
                last = start + length - 1
                if last >= len(rollout):
                    continue
                obs = rollout["obs"][start : last + 1, n]
                final = rollout["next_obs"][last, n][None]
                assert final[0, 1] == length
                expected = alone(trainer.model, torch.cat([obs, final]))[1:]
                got = following[start : last + 1, n].tolist()
                if not rollout["truncated"][last, n]:  # then nobody reads the last
                    expected, got = expected[:-1], got[:-1]
                assert got == pytest.approx(expected, abs=1e-5)
                checked += int(rollout["truncated"][last, n])
        assert checked >= 4

    def test_the_gradient_goes_back_to_the_start_of_the_rollout(self):
        obs = torch.ones(3, 1, 2, requires_grad=True)
        entries = {"obs": obs, "memory": torch.ones(3, 1, 16)}
        entries["first"] = torch.zeros(3, 1, dtype=torch.bool)
        inputs = TensorDict(entries, [3, 1])
        agent_of().algorithm.model.value(inputs)[-1].backward()
        assert inputs["obs"].grad.ne(0).all()


class TestPredicting:
    def test_it_remembers_until_an_episode_begins(self):
        agent = agent_of(action_space=Box(-9, 9, (1,), np.float32))
        seen = np.ones((2, 2), dtype=np.float32)
        fresh, second = agent.predict(seen), agent.predict(seen)
        assert not np.allclose(fresh, second)
        agent.begin_episode(np.array([False, True]))
        third = agent.predict(seen)
        assert third[1] == fresh[1]
        assert third[0] not in (fresh[0], second[0])
        agent.begin_episode()
        assert np.array_equal(agent.predict(seen), fresh)
        agent.sample(torch.ones(2, 2))
        before = agent.sampling.state
        agent.begin_episode()
        agent.predict(torch.ones(5, 2))
        agent.begin_episode()
        assert agent.sampling.state is before
        assert agent.predicting.state is None

    @pytest.mark.parametrize("mode", MODES)
    def test_evaluation_says_where_episodes_begin(self, mode):
        class Watching:
            has_memory = True
            begun = np.ones(4, bool)

            def begin_episode(self, where=None):
                self.begun = np.ones(4, bool) if where is None else where

            def predict(self, obs):
                assert self.begun.tolist() == (obs[:, 1] == 0).tolist()
                return np.zeros(4, dtype=np.int64)

        evaluate(Watching(), counters(mode), 12, seed=0)


@pytest.mark.filterwarnings("ignore:The given buffer is not:UserWarning")  # of 2.11
def test_exported_it_acts_as_the_agent_does(tmp_path):
    observation = Dict(a=VECTOR, b=Discrete(3, start=1))
    agent = agent_of(observation, Box(-2, 2, (3,)), normalize_observation=True)
    agent.export(tmp_path / "made" / "policy.pt2")
    program = torch.export.load(tmp_path / "made" / "policy.pt2").module()
    assert not any("critic" in name for name in program.state_dict())
    assert agent.model.critic is not None  # it is that of another model
    for count in (1, 5):
        seen = batch_space(observation, count)
        seen.seed(0)
        memory = torch.zeros(count, agent.model.memory_size)
        for begins in (True, False, False, True, False):
            obs = spaces.to_tensor(seen.sample(), agent.device)
            if begins:
                agent.begin_episode()
            found, memory = program(obs, memory, torch.full((count,), begins))
            torch.testing.assert_close(found, agent.predict(obs))


def test_without_saved_environments_episodes_begin_anew(tmp_path):
    trainer = trainer_of()
    next(log for log in trainer() if log["sample_step"] == 36)
    envs = counters(AutoresetMode.SAME_STEP)
    resumed = ppo_lstm.Trainer.load(trainer.save(tmp_path / "run.pt"), envs=envs)
    next(iter(resumed()))
    assert resumed.buffer.rollout()["first"][9].all()
    assert [log["sample_step"] for log in resumed()][-1] == 192


def test_sequences_stay_whole():
    with pytest.raises(ValueError, match=r"num_minibatches = 5: seq.* only 4"):
        ppo_lstm.Config(num_envs=4, num_minibatches=5)
    with pytest.raises(ValueError, match=r"num_minibatches = 3: seq.* only 2"):
        ppo_lstm.Trainer(ppo_lstm.Config(num_minibatches=3), envs=TMazeVectorEnv(2))


@pytest.mark.slow
def test_only_a_memory_finds_the_goal():
    options = {"env_id": "yieldrl/TMaze-v1", "env_kwargs": {"length": 5}}
    options |= {"num_envs": 16, "num_steps": 32, "total_steps": 16_000, "eval_every": 0}
    reached = []
    for module in (ppo, ppo_lstm):
        trainer = module.Trainer(module.Config(**options))
        list(trainer())
        reached.append(trainer.evaluate(300)["logs"]["episode_return"])
    assert reached[0] < 0.6  # a coin's 0.5, and over three standard deviations
    assert reached[1] > 0.95
