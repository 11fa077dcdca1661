"""Q-learning: its table, exact updates, exploration, its schedule, what it learns."""

import dataclasses

import numpy as np
import pytest
import torch
from factories import ends_alike
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_tasks import short_cliff
from tensordict import TensorDict

from yieldrl.algorithms import q_learning
from yieldrl.cli import catalog
from yieldrl.envs import policy_evaluation, value_iteration


def algorithm_of(table, **kwargs):
    config = q_learning.Config(**{"gamma": 0.5, **kwargs})
    states, actions = Discrete(len(table)), Discrete(len(table[0]))
    model = q_learning.Model(states, actions, config)
    model.table.copy_(torch.tensor(table))
    return q_learning.Algorithm(model, config)


def batch(obs, action, reward, next_obs, terminated=(), truncated=()):
    """Transitions; ends are told by their rows."""
    rows = range(len(obs))
    return TensorDict(
        {
            "obs": torch.tensor(obs),
            "action": torch.tensor(action),
            "reward": torch.tensor(reward),
            "next_obs": torch.tensor(next_obs),
            "terminated": torch.tensor([row in terminated for row in rows]),
            "truncated": torch.tensor([row in truncated for row in rows]),
        },
        [len(obs)],
    )


def greedy_value(trainer):
    """The greedy policy's value at the start, and the best policy's."""
    world = trainer.envs.envs[0].unwrapped
    start, gamma = world.initial_state_distrib, trainer.config.gamma
    policy = trainer.model.table.argmax(1).numpy()
    best, _ = value_iteration(world.P, gamma)
    return start @ policy_evaluation(world.P, policy, gamma), start @ best


class TestTable:
    @pytest.mark.parametrize(
        "space",
        [
            Discrete(5, start=-2),
            MultiDiscrete([3, 4, 2], start=[1, 0, -5]),
            MultiDiscrete([[2, 3], [4, 1]]),
        ],
    )
    def test_every_state_has_a_row_of_its_own(self, space):
        model = q_learning.Model(space, Discrete(2), q_learning.Config())
        space.seed(0)
        seen = torch.as_tensor(np.stack([space.sample() for _ in range(1000)]))
        rows = model.state(seen)
        assert sorted(set(rows.tolist())) == list(range(model.num_states))
        assert len(torch.unique(seen, dim=0)) == model.num_states
        assert model.table.shape == (model.num_states, 2)

    def test_what_cannot_be_numbered_is_refused(self):
        config = q_learning.Config()
        with pytest.raises(TypeError, match=r"got Box.*take DQN"):
            q_learning.Model(Box(-1, 1, (2,)), Discrete(2), config)
        with pytest.raises(TypeError, match=r"Discrete action space.*take PPO"):
            q_learning.Model(Discrete(3), Box(-1, 1, (2,)), config)
        with pytest.raises(ValueError, match=r"1e\+60 states x 2 actions.*take DQN"):
            q_learning.Model(MultiDiscrete([1000] * 20), Discrete(2), config)


class TestUpdate:
    def test_the_target_by_hand(self):
        algorithm = algorithm_of([[0.0, 0], [2.0, 6.0]])
        data = batch([0, 0], [0, 0], [1.0, 1.0], [1, 1], [1], truncated=[0])
        # 1 + .5 * max(2, 6), though truncated; only the reward after a termination.
        assert algorithm.td_target(data).tolist() == [4.0, 1.0]
        data["discount"] = torch.tensor([0.25, 1.0])  # they may bring one of their own
        assert algorithm.td_target(data).tolist() == [2.5, 1.0]

    def test_entries_move_towards_targets_of_before_the_batch(self):
        table = [[0.0, 2.0], [2.0, 6.0]]
        algorithm = algorithm_of(table, learning_rate=0.25, visit_power=0.0)
        logs = algorithm.learn(batch([1, 0], [1, 1], [9.0, 1.0], [0, 1]))
        # 6 + (9 + 2 / 2 - 6) / 4, and 2 + (1 + 6 / 2 - 2) / 4
        assert algorithm.model.table.tolist() == [[0.0, 2.5], [2.0, 7.0]]
        assert logs["td_error"] == (4 + 2) / 2

    def test_but_never_beyond_the_mean_of_their_targets(self):
        algorithm = algorithm_of([[0.0]], learning_rate=0.5, visit_power=0.0)
        data = batch([0] * 4, [0] * 4, [1.0, 2.0, 3.0, 6.0], [0] * 4, range(4))
        algorithm.learn(data)
        assert algorithm.model.table.tolist() == [[3.0]]

    @settings(max_examples=30)
    @given(
        st.lists(
            st.lists(st.integers(-9, 9), min_size=1, max_size=6), min_size=1, max_size=6
        )
    )
    def test_one_over_n_is_the_mean_however_it_is_batched(self, rewards):
        algorithm = algorithm_of([[7.0]], learning_rate=1.0, visit_power=1.0)
        for some in rewards:
            n = len(some)
            data = batch([0] * n, [0] * n, list(map(float, some)), [0] * n, range(n))
            algorithm.learn(data)
        mean = np.mean([reward for some in rewards for reward in some])
        assert algorithm.model.table.item() == pytest.approx(mean, abs=1e-4)

    def test_steps_shrink_with_the_visits_of_an_entry(self):
        algorithm = algorithm_of([[0.0, 0]], learning_rate=0.5, visit_power=0.5)
        state, action = torch.tensor([0]), torch.tensor([1])
        found = [algorithm.entry_rate(state, action).item() for _ in range(4)]
        assert found == pytest.approx([0.5, 0.5 / 2**0.5, 0.5 / 3**0.5, 0.25])
        assert algorithm.visits.tolist() == [[0, 4]]


class TestExploration:
    def agent(self, row, **kwargs):
        config = q_learning.Config(total_steps=1000, exploration_fraction=0.5, **kwargs)
        model = q_learning.Model(Discrete(1), Discrete(len(row)), config)
        model.table.copy_(torch.tensor([row]))
        return q_learning.Agent(q_learning.Algorithm(model, config), config)

    def shares(self, agent, count=40_000):
        obs = np.zeros(count, dtype=np.int64)
        actions, _ = agent.sample(obs)
        return np.bincount(actions, minlength=4) / count

    def test_ties_are_broken_at_random(self):
        agent = self.agent([1.0, 0.0, 1.0, 1.0], epsilon_start=0.0, epsilon_end=0.0)
        assert self.shares(agent) == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=0.01)

    def test_the_rest_is_spread_over_all_actions(self):
        agent = self.agent([0.0, 2.0, 0.0, 1.0], epsilon_start=0.4, epsilon_end=0.4)
        assert self.shares(agent) == pytest.approx([0.1, 0.7, 0.1, 0.1], abs=0.01)

    def test_acting_well_takes_the_first_of_the_best(self):
        agent = self.agent([0.0, 2.0, 2.0])
        assert agent.predict(np.zeros(20, dtype=np.int64)).tolist() == [1] * 20
        assert agent.predict(0) == 1


@pytest.mark.parametrize("logs", [40, 41])  # after learning, and after collecting
def test_a_saved_run_goes_on_bitwise(tmp_path, logs):
    config = q_learning.Config(total_steps=300, eval_every=0)
    trainer = q_learning.Trainer(config, envs=short_cliff())
    kinds = [log["log_type"] for _, log in zip(range(logs), trainer(), strict=False)]
    assert kinds[:4] == ["collect", "train"] * 2, "every step is learned from at once"
    trainer.algorithm.learning_rate = 0.125
    trainer.save(tmp_path / "half.pt")
    other = q_learning.Trainer.load(tmp_path / "half.pt", envs=short_cliff())
    assert other.algorithm.learning_rate == 0.125
    ends_alike(trainer, other)
    assert trainer.algorithm.visits.sum() == 300


def trained(name, **options):
    config = catalog.load_config(name, q_learning.Trainer)
    trainer = q_learning.Trainer(dataclasses.replace(config, eval_every=0, **options))
    list(trainer())
    return trainer


def test_it_learns_the_shortest_way_along_the_cliff():
    trainer = trained("cliffwalking", total_steps=5_000)
    assert trainer.evaluate(1)["logs"]["episode_return"] == -13


@pytest.mark.slow
def test_it_learns_to_drive_a_taxi():
    # Of more taxis than in the file, a step of which costs little more than of one.
    value, best = greedy_value(trained("taxi", num_envs=64, total_steps=120_000))
    assert value > best - 0.1
