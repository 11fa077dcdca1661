"""Every episode counts, none twice, and short ones are not favoured."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from worlds import Counter, Idle

from yieldrl.collectors import evaluate, evaluation
from yieldrl.envs import SerialVectorEnv


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_each_environment_plays_its_share(mode):
    lengths = (1, 5, 9)
    envs = SyncVectorEnv([lambda n=n: Counter(n) for n in lengths], autoreset_mode=mode)
    result = evaluate(Idle(), envs, episodes=7, seed=0)
    # Counted as they come, the first seven to end would all be of length 1.
    assert result.lengths.tolist() == [1, 1, 1, 5, 5, 9, 9]
    assert result.returns.tolist() == [1, 1, 1, 15, 15, 45, 45]


def test_summary():
    result = evaluate(Idle(), SerialVectorEnv([lambda: Counter(2)]), 3, seed=0)
    assert result.logs() == {
        "episode_return": 3.0,
        "episode_return_std": 0.0,
        "episode_return_min": 3.0,
        "episode_return_max": 3.0,
        "episode_length": 2.0,
        "episodes": 3.0,
    }


def test_no_episode_is_no_evaluation():
    with pytest.raises(ValueError, match="episodes = 0"):
        evaluate(Idle(), SerialVectorEnv([Counter]), 0, seed=0)


def test_an_endless_episode_is_stopped(monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_EPISODE_STEPS", 50)
    envs = SerialVectorEnv([lambda: Counter(10**9)])
    with pytest.raises(RuntimeError, match="time limit"):
        evaluate(Idle(), envs, 1, seed=0)


def test_the_seed_decides():
    class Greedy(Idle):
        def predict(self, obs):
            return (obs[:, 2] > 0).astype(np.int64)

    from gymnasium.envs.classic_control import CartPoleEnv
    from gymnasium.wrappers import TimeLimit

    envs = SerialVectorEnv([lambda: TimeLimit(CartPoleEnv(), 500)] * 3)
    first, second, other = (evaluate(Greedy(), envs, 6, seed) for seed in (1, 1, 2))
    assert first.returns.tolist() == second.returns.tolist()
    assert first.returns.tolist() != other.returns.tolist()
