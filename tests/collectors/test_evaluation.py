"""Every episode counts, none twice, and short ones are not favoured."""

from functools import partial

import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from worlds import Counter, Idle, TensorIdle

from yieldrl.algorithms import ppo
from yieldrl.collectors import Evaluator, evaluate, evaluate_in_order, evaluation
from yieldrl.collectors.evaluation import Evaluation, play_in_order, successes
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv
from yieldrl.envs.processes import ProcessVectorEnv
from yieldrl.envs.wrappers import ActionChunks


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_each_environment_plays_its_share(mode):
    lengths = (1, 5, 9)
    envs = SyncVectorEnv([lambda n=n: Counter(n) for n in lengths], autoreset_mode=mode)
    result = evaluate(Idle(), envs, episodes=7, seed=0)
    # Counted as they come, the first seven to end would all be of length 1.
    assert result.lengths.tolist() == [1, 1, 1, 5, 5, 9, 9]
    assert result.returns.tolist() == [1, 1, 1, 15, 15, 45, 45]


def test_an_endless_episode_is_stopped(monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_EPISODE_STEPS", 50)
    envs = SerialVectorEnv([lambda: Counter(10**9)])
    with pytest.raises(RuntimeError, match="time limit"):
        evaluate(Idle(), envs, 1, seed=0)


def test_the_seed_decides():
    class Greedy(Idle):
        def predict(self, obs):
            return (obs[:, 2] > 0).astype(np.int64)

    envs = SerialVectorEnv([lambda: TimeLimit(CartPoleEnv(), 500)] * 3)
    first, second, other = (evaluate(Greedy(), envs, 6, seed) for seed in (1, 1, 2))
    assert first.returns.tolist() == second.returns.tolist()
    assert first.returns.tolist() != other.returns.tolist()


class Third(TorchVectorEnv):
    """Two steps an episode; environments 0, 3, 6 ... succeed at the second."""

    single_observation_space = Box(-9, 9, (1,))
    single_action_space = Discrete(2)
    noise_size = 1

    def initial_state(self, noise):
        return torch.zeros_like(noise)

    def dynamics(self, state, action):
        return state + 1, state[0], state[0] >= 1

    def step(self, actions):
        obs, reward, terminated, truncated, info = super().step(actions)
        third = torch.arange(self.num_envs) % 3 == 0
        info = {**info, "success": third & terminated}
        return obs, reward, terminated, truncated, info


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_success_in_tensors_and_in_mid_chunk(mode):
    plain = evaluate(TensorIdle(), Third(6, autoreset_mode=mode), 12, seed=0)
    assert plain.logs()["success_rate"] == pytest.approx(1 / 3)
    chunks = ActionChunks(Third(6, autoreset_mode=mode), 5)
    result = evaluate(TensorIdle(5), chunks, 12, seed=0)
    half = [True] * 2 + [False] * 4  # of environments 0, 1 and 2, and of 3, 4 and 5
    assert result.successes.tolist() == half * 2
    assert result.returns.tolist() == plain.returns.tolist()
    assert result.lengths.tolist() == [1] * 12  # decisions


class Unlisted(Counter):
    """Says in its own word, and to nobody in advance, whether an episode ended well.

    One of even number does; before the end all seems well.
    """

    info_keys = ()

    def __init__(self, word="success", within=None, always=True):
        super().__init__(3)
        self.word, self.within, self.always = word, within, always

    def step(self, action):
        obs, reward, terminated, truncated, _ = super().step(action)
        info = {self.word: not truncated} if self.always or terminated else {}
        info = info if self.within is None else {self.within: info}
        return obs, reward, terminated, truncated, info


SAME_STEP = partial(AsyncVectorEnv, autoreset_mode=AutoresetMode.SAME_STEP)
WORLDS = [
    SerialVectorEnv,
    pytest.param(ProcessVectorEnv, marks=pytest.mark.slow),
    pytest.param(SAME_STEP, id="gymnasium's processes"),
    *(partial(SyncVectorEnv, autoreset_mode=mode) for mode in AutoresetMode),
]


@pytest.mark.parametrize("world", WORLDS)
def test_success_needs_no_configuring(world):
    ways = [{"word": "is_success", "always": False}]
    if world not in (ProcessVectorEnv, SAME_STEP):
        ways += [{"word": "success"}, {"word": "success", "within": "task"}]
    for options in ways:
        envs = world([partial(Unlisted, **options)] * 2)
        result = evaluate(Idle(), envs, episodes=6, seed=0)
        envs.close()
        assert result.successes.tolist() == [True, False, True] * 2


class Named(Unlisted):
    """Says which of two tasks it is."""

    info_keys = ("task",)

    def __init__(self, task):
        super().__init__()
        self.task = task

    def step(self, action):
        *answer, info = super().step(action)
        return *answer, {**info, "task": self.task}


@pytest.mark.parametrize("world", [*WORLDS[:2], WORLDS[-2]])
def test_success_is_told_by_task(world):
    """Episodes are 1, 0 and 1 successes in a row, of which one task plays the most."""
    envs = world([partial(Named, "open"), partial(Named, 3)])
    logs = evaluate(Idle(), envs, episodes=5, seed=0).logs()
    envs.close()
    assert logs == {
        "episode_return": 6.0,
        "episode_return_std": 0.0,
        "episode_return_min": 6.0,
        "episode_return_max": 6.0,
        "episode_length": 3.0,
        "episodes": 5.0,
        "success_rate": 0.6,
        "success_rate/open": 2 / 3,
        "success_rate/3": 0.5,
    }


def test_a_dict_is_of_tasks_that_play_all_episodes_each():
    tasks = {"short": lambda: Counter(2), "long": lambda: Unlisted(word="success")}
    evaluator = Evaluator(tasks, ppo.Config(eval_episodes=3), "cpu")
    logs = evaluator(Idle(), 3)
    evaluator.close()
    assert logs["episodes"] == 6
    assert logs["success_rate/short"] == 0, "it says nothing of success"
    assert logs["success_rate/long"] > 0


def test_success_is_found_in_infos_of_every_form():
    final = {"task": {"success": np.array([1, 0])}}
    assert successes({"final_info": final}, 2).tolist() == [True, False]
    assert successes({"final_info": {"lives": np.ones(2)}}, 2) is None
    said = {"is_success": torch.tensor([[1.0], [0.0]])}
    assert successes(said, 2).tolist() == [True, False]
    said = {"is_success": np.array([1.0, 0.0]), "success": {"part": np.ones(2)}}
    assert successes(said, 2).tolist() == [True, False]
    assert successes({}, 2) is None


def test_a_success_rate_has_an_interval():
    """Wilson's, by hand: z = 1.96."""
    for number, low, high in ((10, 0.2993, 0.7007), (0, 0, 0.1611), (20, 0.8389, 1)):
        said = np.arange(20) < number
        found = Evaluation(np.zeros(20), np.ones(20), said).success_interval()
        assert found == pytest.approx((low, high), abs=1e-4)


class Drawn(Counter):
    """Its episodes are as long as a reset draws."""

    def reset(self, *, seed=None, options=None):
        answer = super().reset(seed=seed)
        self.length = int(self.np_random.integers(1, 50))
        return answer


def drawn(seeds):
    """Lengths of the episodes that begin from these seeds."""
    return [np.random.default_rng(seed).integers(1, 50) for seed in seeds]


@pytest.mark.parametrize("count", [1, 3])
def test_fixed_starts_are_played_once_each_in_their_order(count):
    """Whatever the number of environments: of five, the last batch is not full."""
    seeds = [11, 3, 7, 3, 5]

    envs = SerialVectorEnv([lambda: Drawn(1)] * count)
    found = evaluate_in_order(Idle(), envs, seeds)
    assert found.lengths.tolist() == drawn(seeds)
    with pytest.raises(ValueError, match="seeds are empty"):
        evaluate_in_order(Idle(), envs, [])
    with pytest.raises(ValueError, match="episodes = 0: play at least one"):
        play_in_order(Idle(), envs, 0, seed=3)


def test_a_trainers_evaluations_may_be_in_order():
    for in_order in (True, False):
        config = ppo.Config(eval_episodes=2, eval_in_order=in_order)
        evaluator = Evaluator(lambda: Drawn(1), config, "cpu")
        found = evaluator.play(Idle(), 5, seed=3).lengths.tolist()
        assert (sorted(found) == sorted(drawn(range(3, 8)))) == in_order
    with pytest.raises(ValueError, match="episodes = 0: play at least one"):
        evaluator.play(Idle(), 0, seed=3)
    with pytest.raises(ValueError, match="eval_in_order = True: actors have none"):
        ppo.Config(collection="ray", eval_actors=1, eval_in_order=True)
