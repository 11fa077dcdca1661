"""REINFORCE: the gradient by hand, whole episodes only, and that it learns."""

import itertools
import math
from functools import partial

import factories
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict
from worlds import Counter

from yieldrl.algorithms import reinforce

VECTOR = Box(-1, 1, (3,), np.float32)
algorithm_of = partial(factories.algorithm_of, reinforce, VECTOR, Discrete(3))


def batch_of(returns):
    generator = torch.Generator().manual_seed(1)
    size = len(returns)
    data = {
        "obs": torch.randn(size, 3, generator=generator),
        "action": torch.randint(3, (size,), generator=generator),
        "returns": torch.tensor(returns),
    }
    return TensorDict(data, [size])


class TestGradient:
    @pytest.mark.parametrize("baseline", ["none", "mean", "batch"])
    def test_by_hand(self, baseline):
        """`d log pi(a) / d logits = 1[a] - pi`, times the weight, the sign turned."""
        algorithm = algorithm_of(baseline=baseline)
        if baseline == "mean":
            algorithm.running_mean.update(torch.tensor([1.5]))
        data = batch_of([2.0, -1.0, 4.0, 3.0])
        mean, spread = 2.0, math.sqrt((0 + 9 + 4 + 1) / 4)
        weight = {
            "none": data["returns"],
            "mean": data["returns"] - 1.5,
            "batch": (data["returns"] - mean) / spread,
        }[baseline]
        chosen = torch.nn.functional.one_hot(data["action"], 3)
        probability = algorithm.model.action(data["obs"]).softmax(-1)
        expected = -((chosen - probability) * weight.unsqueeze(1)).mean(0)
        loss, _ = algorithm.loss(data)
        bias = torch.autograd.grad(loss, algorithm.model.actor.layers[-1].bias)[0]
        torch.testing.assert_close(bias, expected)

    def test_the_running_mean_knows_earlier_batches_only(self):
        algorithm = algorithm_of(baseline="mean")
        logs = [algorithm.learn(batch_of([x, x])) for x in (1.0, 3.0)]
        assert logs[0]["loss"] != 0
        # (0.9 * 1 + 3) / (0.9 + 1)
        assert algorithm.running_mean.value.item() == pytest.approx(3.9 / 1.9)
        restored = algorithm_of(baseline="mean")
        restored.load_state_dict(algorithm.state_dict())
        assert restored.running_mean.value.item() == pytest.approx(3.9 / 1.9)

    def test_equal_returns_teach_nothing(self):
        algorithm = algorithm_of(baseline="batch")
        logs = algorithm.learn(batch_of([5.0, 5.0, 5.0]))
        assert logs["loss"].item() == 0
        assert all(p.isfinite().all() for p in algorithm.model.parameters())


def test_returns_end_with_the_episode_whichever_way():
    """Rewards 1, 2, 3: termination and truncation alike add nothing."""
    episodes = TensorDict(
        {
            "obs": torch.zeros(4, 2, 3),
            "action": torch.zeros(4, 2, dtype=torch.int64),
            "reward": torch.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [9.0, 9.0]]),
            "terminated": torch.tensor([[0, 0], [0, 0], [1, 0], [0, 0]]).bool(),
            "truncated": torch.tensor([[0, 0], [0, 0], [0, 1], [0, 0]]).bool(),
            "valid": torch.tensor([[1, 1], [1, 1], [1, 1], [0, 0]]).bool(),
        },
        [4, 2],
    )
    batch = algorithm_of(gamma=0.5).prepare(episodes)
    assert batch.shape == (6,)
    assert batch["returns"].tolist() == [2.75, 2.75, 3.5, 3.5, 3.0, 3.0]


def lengths(*numbers):
    """A function that makes Counters of these lengths in turn."""
    turn = itertools.cycle(numbers)
    return lambda: Counter(next(turn))


class TestSchedule:
    def test_one_environment_wastes_nothing(self):
        config = reinforce.Config(num_episodes=3, total_steps=50, eval_every=0)
        logs = list(reinforce.Trainer(config, envs=lengths(4))())
        trained = [log["sample_step"] for log in logs if log["log_type"] == "train"]
        assert trained == [12, 24, 36, 48]
        assert logs[-1]["sample_step"] == 50  # what was not whole is not learned from
        returns = [x["logs"]["returns"] for x in logs if x["log_type"] == "train"]
        whole = [sum(k * 0.99 ** (k - t) for k in range(t, 5)) for t in (1, 2, 3, 4)]
        assert returns == pytest.approx([sum(whole) / 4] * 4)

    def test_every_environment_plays_its_share(self):
        small = {"num_envs": 2, "num_episodes": 3, "total_steps": 40, "eval_every": 0}
        trainer = reinforce.Trainer(reinforce.Config(**small), envs=lengths(2, 7))
        seen, learn = [], trainer.agent.learn
        trainer.agent.learn = lambda x: seen.append(x["obs"].clone()) or learn(x)
        logs = list(trainer())
        # Two short episodes and a long one; the longest decides, all begin anew.
        trained = [log["sample_step"] for log in logs if log["log_type"] == "train"]
        assert trained == [14, 28]
        for obs in seen:
            assert len(obs) == 2 * 2 + 7
            assert (obs[:, 1] == 0).sum() == 3
        reported = [log["logs"].get("episodes", 0) for log in logs]
        assert sum(reported[:7]) == 3 + 1  # all that ended, those uncounted too

    def test_episodes_are_as_many_as_environments(self):
        with pytest.raises(ValueError, match="num_episodes = 3"):
            reinforce.Config(num_envs=4, num_episodes=3)
        with pytest.raises(ValueError, match="baseline = 'median'"):
            reinforce.Config.from_dict({"baseline": "median"})

    def test_an_endless_episode_ends_with_training(self):
        config = reinforce.Config(total_steps=700, eval_every=0)
        *_, log = reinforce.Trainer(config, envs=lengths(10_000))()
        assert (log["sample_step"], log["learn_step"]) == (700, 0)

    def test_resumed_without_its_environments_it_begins_new_episodes(self, tmp_path):
        config = reinforce.Config(num_episodes=2, total_steps=30, eval_every=0)
        trainer = reinforce.Trainer(config, envs=lengths(5))
        next(log for log in trainer() if log["sample_step"] == 7)
        path = trainer.save(tmp_path / "run.pt")
        resumed = reinforce.Trainer.load(path, envs=lengths(5))
        logs = list(resumed())
        trained = [log["sample_step"] for log in logs if log["log_type"] == "train"]
        assert trained == [12, 22]  # the two steps of the abandoned episode are lost
        returns = [x["logs"]["returns"] for x in logs if x["log_type"] == "train"]
        assert returns[0] == returns[1]  # of two whole episodes each
