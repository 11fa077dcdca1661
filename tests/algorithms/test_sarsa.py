"""SARSA: the action that learning counts on is the one that is taken."""

import itertools

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import ends_alike
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from quick_tasks import short_cliff

from yieldrl.algorithms import sarsa
from yieldrl.envs import SerialVectorEnv

from .test_q_learning import batch


def agent_of(table, **kwargs):
    options = {"gamma": 0.5, "epsilon_start": 0.0, "epsilon_end": 0.0, **kwargs}
    config = sarsa.Config(**options)
    states, actions = Discrete(len(table)), Discrete(len(table[0]))
    model = sarsa.Model(states, actions, config)
    model.table.copy_(torch.tensor(table))
    return sarsa.Agent(sarsa.Algorithm(model, config), config)


class TestTarget:
    def test_by_hand(self):
        algorithm = agent_of([[0.0, 0], [2.0, 6.0]]).algorithm
        data = batch([0] * 3, [0] * 3, [1.0] * 3, [1] * 3, terminated=[2])
        data["next_action"] = torch.tensor([0, 1, 1])
        # 1 + .5 * Q(s', a'): of the action taken, be it good or bad.
        assert algorithm.td_target(data).tolist() == [2.0, 4.0, 1.0]

    def test_a_truncated_episode_is_valued_by_an_action_in_its_last_state(self):
        agent = agent_of([[0.0, 0], [2.0, 6.0]], visit_power=0.0)
        agent.learn(batch([0], [0], [1.0], [1], truncated=[0]))
        assert agent.model.table.tolist() == [[4.0, 0.0], [2.0, 6.0]]


class TestPlannedAction:
    def test_it_is_made_before_the_update_and_kept_after_it(self):
        # Both actions of state 0 look alike until the update makes one of them bad.
        planned = []
        for seed in range(20):
            agent = agent_of([[0.0, 0.0]], seed=seed)
            agent.learn(batch([0], [0], [-1.0], [0]))
            action, _ = agent.sample(np.array([0]))
            planned.append(int(action[0]))
            assert agent.predict(0) == 1
            assert agent.sample(np.array([0]))[0].tolist() == action.tolist()
        assert set(planned) == {0, 1}

    @pytest.mark.parametrize("end", ["terminated", "truncated"])
    def test_a_new_episode_begins_after_the_update(self, end):
        # Though its first state be the last one's last: action 1 is the better now.
        for seed in range(20):
            agent = agent_of([[0.0, 0.0]], seed=seed)
            agent.learn(batch([0], [0], [-1.0], [0], **{end: [0]}))
            assert agent.sample(np.array([0]))[0].tolist() == [1]

    def test_it_is_of_the_state_it_was_made_for(self):
        agent = agent_of([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        agent.learn(batch([0, 0], [0, 0], [0.0, 0.0], [1, 2]))
        assert agent.sample(np.array([1, 2]))[0].tolist() == [1, 0]
        assert agent.sample(np.array([2, 1]))[0].tolist() == [0, 1]
        assert agent.sample(np.array([2]))[0].tolist() == [0]
        assert agent.sample(np.array([1, 1, 2]))[0].tolist() == [1, 1, 0]


def lake():
    return gym.make("FrozenLake-v1", max_episode_steps=5)


def cliff():
    return gym.make("CliffWalking-v1", max_episode_steps=5)


class Recording(sarsa.Trainer):
    """Writes down what it learns from."""

    def __init__(self, *args, **parts):
        super().__init__(*args, **parts)
        self.learned, learn = [], self.algorithm.learn
        self.algorithm.learn = lambda x: self.learned.append(x.clone()) or learn(x)


MODES = {
    "SAME_STEP": lambda: SerialVectorEnv([lake] * 3),
    "NEXT_STEP": lambda: SyncVectorEnv([lake] * 3),
    "DISABLED": lambda: SyncVectorEnv(
        [lake] * 3, autoreset_mode=AutoresetMode.DISABLED
    ),
}


class TestOnPolicy:
    @pytest.mark.parametrize("mode", list(MODES))
    def test_the_next_action_is_the_one_that_is_taken(self, mode):
        config = sarsa.Config(total_steps=1500, eval_every=0)
        trainer = Recording(config, envs=MODES[mode]())
        list(trainer())
        learned, kept, ends = trainer.learned, 0, set()
        for now, then in itertools.pairwise(learned):
            valid = now.get("valid", torch.ones(3, dtype=torch.bool))
            ends |= {end for end in ("terminated", "truncated") if now[end].any()}
            goes_on = valid & ~now["terminated"] & ~now["truncated"]
            assert then["obs"][goes_on].equal(now["next_obs"][goes_on])
            assert then["action"][goes_on].equal(now["next_action"][goes_on])
            kept += int(goes_on.sum())
        assert kept > 500
        assert ends == {"terminated", "truncated"}

    def test_it_is_the_textbooks_loop(self):
        options = {"learning_rate": 0.3, "visit_power": 0.0, "eval_every": 0}
        config = sarsa.Config(total_steps=2000, **options)
        trainer = Recording(config, envs=cliff)
        list(trainer())
        table = np.zeros((48, 4))
        for data in trainer.learned:
            one = {name: data[name].item() for name in data.keys()}  # noqa: SIM118
            future = 0.99 * table[one["next_obs"], one["next_action"]]
            target = one["reward"] + (0.0 if one["terminated"] else future)
            here = one["obs"], one["action"]
            table[here] += 0.3 * (target - table[here])
        assert table.min() < -10
        assert trainer.model.table.numpy() == pytest.approx(table, rel=1e-5)


@pytest.mark.parametrize("logs", [48, 49])  # beside a truncation
def test_a_saved_run_goes_on_bitwise(tmp_path, logs):
    config = sarsa.Config(total_steps=240, eval_every=0)
    trainer = sarsa.Trainer(config, envs=short_cliff(5))
    list(itertools.islice(trainer(), logs))
    trainer.save(tmp_path / "half.pt")
    other = sarsa.Trainer.load(tmp_path / "half.pt", envs=short_cliff(5))
    ends_alike(trainer, other)


def test_what_was_planned_is_not_done_in_another_state(tmp_path):
    trainer = sarsa.Trainer(sarsa.Config(total_steps=300, num_envs=2, eval_every=0))
    for log in trainer():
        if log["sample_step"] == 100 and log["log_type"] == "train":
            break
    other = sarsa.Trainer.load(trainer.save(tmp_path / "half.pt"))
    other.agent.planned[0], other.agent.planned[1] = 5, 99
    list(other())
    assert other.algorithm.visits.sum() == 300
