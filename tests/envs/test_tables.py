"""FrozenLake, CliffWalking and Taxi follow gymnasium's tables; values of tables."""

from collections import Counter

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs import check, policy_evaluation, value_iteration
from yieldrl.envs.tabular import FrozenLakeVectorEnv, TableVectorEnv, TaxiVectorEnv

WORLDS = {
    "FrozenLake-v1": ("FrozenLake-v1", {}),
    "FrozenLake-v1 not slippery": ("FrozenLake-v1", {"is_slippery": False}),
    "FrozenLake8x8-v1": ("FrozenLake8x8-v1", {}),
    "CliffWalking-v1": ("CliffWalking-v1", {}),
    "CliffWalkingSlippery-v1": ("CliffWalkingSlippery-v1", {}),
    "Taxi-v4": ("Taxi-v1", {}),
    "Taxi-v4 in the rain": ("Taxi-v1", {"is_rainy": True}),
}
each = pytest.mark.parametrize("world", WORLDS)


def make(world, num_envs, **kwargs):
    name, options = WORLDS[world]
    return gymnasium.make_vec(f"yieldrl/{name}", num_envs, **options, **kwargs)


def original(world, **kwargs):
    return gymnasium.make(world.split()[0], **WORLDS[world][1], **kwargs).unwrapped


@each
def test_follows_the_table(world):
    table = original(world).P
    chance = any(len(outcomes) > 1 for a in table.values() for outcomes in a.values())
    copies = 3000 if chance and len(table) < 100 else 60 if chance else 1
    pairs = [(s, a) for s in table for a in table[s]]
    envs = make(world, len(pairs) * copies)
    envs.reset(seed=0)
    state, action = torch.tensor(pairs).repeat(copies, 1).T
    envs.state = state.clone()
    obs, reward, terminated, truncated, info = envs.step(action.contiguous())
    assert obs.dtype == torch.int64
    assert not truncated.any()
    answers = info["final_obs"], reward, terminated
    seen = [x.reshape(copies, -1).T.tolist() for x in answers]
    for i, (s, a) in enumerate(pairs):
        found = Counter(zip(*(x[i] for x in seen), strict=True))
        wanted = {}
        for p, *outcome in table[s][a]:
            key = tuple(float(x) for x in outcome)
            wanted[key] = wanted.get(key, 0) + p
        assert found.keys() <= wanted.keys()
        for outcome, p in wanted.items():
            share = found[outcome] / copies
            assert abs(share - p) <= 5 * np.sqrt(p * (1 - p) / copies) + 1e-9


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_taxi_says_which_actions_are_possible(mode):
    """In info, as gymnasium's, of the state that is to be acted on next."""
    gymnasiums, n = original("Taxi-v4"), 50
    check(TaxiVectorEnv(4, action_mask=True, autoreset_mode=mode), steps=20)
    kwargs = {"autoreset_mode": mode, "max_episode_steps": 3}
    plain = TaxiVectorEnv(n, **kwargs)
    seeing = TaxiVectorEnv(n, action_mask=True, **kwargs)
    obs, info = plain.reset(seed=0)
    seen, _ = seeing.reset(seed=0)
    for _ in range(8):
        wanted = np.stack([gymnasiums.action_mask(s) for s in plain.state.tolist()])
        assert info["action_mask"].dtype == torch.int8
        np.testing.assert_array_equal(info["action_mask"], wanted)
        assert seen["action_mask"].dtype == torch.bool
        np.testing.assert_array_equal(seen["action_mask"], wanted)
        assert torch.equal(seen["observation"], obs)
        action = plain.action_space.sample()
        obs, _, terminated, truncated, info = plain.step(action)
        seen, *_, more = seeing.step(action)
        if mode is AutoresetMode.SAME_STEP:
            last = more["final_obs"]
            assert torch.equal(last["observation"], info["final_obs"])
            wanted = plain.action_mask[info["final_obs"]].bool()
            assert torch.equal(last["action_mask"], wanted)
        if mode is AutoresetMode.DISABLED:
            ended = {"reset_mask": terminated | truncated}
            (obs, info), (seen, _) = (e.reset(options=ended) for e in (plain, seeing))


@each
def test_begins_where_the_table_says_and_is_registered_as_gymnasiums(world):
    n, distribution = 30_000, original(world).initial_state_distrib
    envs = make(world, n, max_episode_steps=1)
    for obs in (envs.reset(seed=0)[0], envs.step(envs.action_space.sample())[0]):
        share = torch.bincount(obs, minlength=len(distribution)).numpy() / n
        assert (share[distribution == 0] == 0).all()
        std = np.sqrt(distribution * (1 - distribution) / n)
        assert (np.abs(share - distribution) <= 5 * std).all()
    gymnasiums = gymnasium.spec(world.split()[0])
    made = make(world, 2)
    assert made.max_episode_steps == gymnasiums.max_episode_steps
    spec = gymnasium.spec(f"yieldrl/{WORLDS[world][0]}")
    assert spec.reward_threshold == gymnasiums.reward_threshold
    env = original(world)
    assert made.single_observation_space == env.observation_space
    assert made.single_action_space == env.action_space
    again = made.clone(5)
    assert (again.next_state == made.next_state).all()


def test_chance_is_independent_between_steps_and_of_first_states():
    n = 20_000
    envs = make("CliffWalkingSlippery-v1", n)
    envs.reset(seed=0)
    slips = []
    for _ in range(3):
        envs.state = torch.full((n,), 17)  # in the open: all three ways differ
        obs, *_ = envs.step(torch.zeros(n, dtype=torch.int64))
        slips.append(obs.numpy())
    correlation = np.corrcoef(slips) - np.eye(3)
    assert np.abs(correlation).max() < 4 / np.sqrt(n)
    taxis = TaxiVectorEnv(n, is_rainy=True, max_episode_steps=1)
    taxis.reset(seed=0)
    taxis.state = torch.full((n,), 241)
    obs, *_, info = taxis.step(torch.zeros(n, dtype=torch.int64))
    drift = info["final_obs"].numpy()
    assert len(np.unique(drift)) == 3
    assert abs(np.corrcoef(drift, obs.numpy())[0, 1]) < 4 / np.sqrt(n)


def test_a_map_of_ones_own():
    envs = FrozenLakeVectorEnv(2, desc=["SH", "FG"], is_slippery=False)
    envs.reset(seed=0)
    down, right = torch.tensor([1, 2]), torch.tensor([2, 0])
    _, reward, terminated, *_ = envs.step(down)
    assert (reward.tolist(), terminated.tolist()) == ([0, 0], [False, True])
    _, reward, terminated, _, info = envs.step(right)
    assert (reward.tolist(), terminated.tolist()) == ([1, 0], [True, False])
    assert info["final_obs"].tolist() == [3, 0]
    with pytest.raises(ValueError, match=r"map_name = '5x5': choose one of"):
        FrozenLakeVectorEnv(map_name="5x5")


def test_a_table_of_ones_own():
    class Coin:
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(1)
        initial_state_distrib = np.array([1.0, 0.0])
        P = {  # noqa: RUF012
            0: {0: [(0.25, 0, 1.0, False), (0.75, 1, 2.0, True)]},
            1: {0: [(1.0, 1, 0.0, True)]},
        }

    envs = TableVectorEnv(8000, Coin())
    envs.reset(seed=0)
    _, reward, terminated, *_ = envs.step(torch.zeros(8000, dtype=torch.int64))
    assert torch.equal(reward == 2, terminated)
    assert abs(terminated.float().mean() - 0.75) < 0.02
    assert TableVectorEnv(2, Coin()).max_episode_steps is None


@pytest.mark.parametrize("world", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_render_is_gymnasiums(world):
    pytest.importorskip("pygame", reason="pygame is not installed")
    envs = make(world, 3, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.state = torch.tensor([0, 9, 14])
    frames = envs.render()
    envs.clone(1)  # which must not take the painter away
    reference = original(world, render_mode="rgb_array")
    reference.reset(seed=0)
    for i, state in enumerate(envs.state.tolist()):
        reference.s = state
        np.testing.assert_array_equal(reference.render(), frames[i])
        np.testing.assert_array_equal(envs.render([i])[0], frames[i])


# Action 0 stays and costs 1; action 1 wins 1 and ends with probability 1/2.
WALK = {
    0: {0: [(1.0, 0, -1.0, False)], 1: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]},
    1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]},
}


def test_by_hand():
    value, q_value = value_iteration(WALK, gamma=0.5)
    # V = 0.5 * 0.5 V + 0.5 gives 2/3; staying: -1 + 0.5 V.
    assert value == pytest.approx([2 / 3, 0])
    assert q_value == pytest.approx(np.array([[-2 / 3, 2 / 3], [0, 0]]))
    # Half and half: V = 0.5 (-1 + 0.5 V) + 0.5 (0.25 V + 0.5) = -0.25 + 0.375 V.
    even = np.full((2, 2), 0.5)
    assert policy_evaluation(WALK, even, gamma=0.5) == pytest.approx([-0.4, 0])
    assert policy_evaluation(WALK, np.array([0, 0]), 0.5) == pytest.approx([-2, 0])


def test_known_optima():
    assert value_iteration(original("CliffWalking-v1").P, 1.0)[0][36] == -13
    value, _ = value_iteration(original("FrozenLake-v1").P, 0.99)
    assert value[0] == pytest.approx(0.5420, abs=1e-4)
    stiff, _ = value_iteration(original("FrozenLake-v1 not slippery").P, 0.9)
    assert stiff[0] == pytest.approx(0.9**5)  # six steps, the reward at the last


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.0, 0.95))
def test_the_best_policy_is_worth_the_best_values(seed, gamma):
    rng = np.random.default_rng(seed)
    table = {
        state: {
            action: [
                (p, int(rng.integers(5)), float(rng.normal()), bool(rng.random() < 0.1))
                for p in rng.dirichlet(np.ones(3))
            ]
            for action in range(3)
        }
        for state in range(5)
    }
    value, q_value = value_iteration(table, gamma)
    best = policy_evaluation(table, q_value.argmax(1), gamma)
    assert best == pytest.approx(value, abs=1e-7)
    other = policy_evaluation(table, rng.dirichlet(np.ones(3), size=5), gamma)
    assert (other <= value + 1e-7).all()


def test_values_without_end_are_refused():
    endless = {0: {0: [(1.0, 0, 1.0, False)]}}
    with pytest.raises(ValueError, match=r"gamma = 1: .* choose a smaller one"):
        value_iteration(endless, 1)
    with pytest.raises(ValueError, match="goes on for ever"):
        policy_evaluation(WALK, np.array([0, 0]), 1)
    assert policy_evaluation(WALK, np.array([1, 0]), 1) == pytest.approx([1, 0])
