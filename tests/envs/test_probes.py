"""The probe worlds: their rules, that their answers are right, and who passes them."""

import gymnasium
import pytest
import torch

from yieldrl.algorithms import a2c, dqn, ppo
from yieldrl.envs import value_iteration

NAMES = ("Reward", "Observation", "Delay", "Cut", "Action", "Choice")


def world(name, num_envs=1, **kwargs):
    made = gymnasium.make_vec(f"yieldrl/Probe{name}-v1", num_envs=num_envs, **kwargs)
    made.reset(seed=0)
    return made


def table(envs, seen):
    """The world as gymnasium lists tables: `P[state][action]`."""
    found = {row: {} for row in range(len(seen))}
    for row, obs in enumerate(seen):
        for action in (0, 1):
            state = torch.tensor([[float(obs)]])
            after, *answer = envs.dynamics(state, torch.tensor([action]))
            reward, ended = float(answer[0]), bool(answer[1])
            there = row if ended else seen.index(float(after))
            found[row][action] = [(1.0, there, reward, ended)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_value_iteration(name):
    envs = world(name, num_envs=64)
    for gamma in (0.5, 0.9):
        answer = envs.answer(gamma)
        seen = answer.obs.squeeze(1).tolist()
        value, q_value = value_iteration(table(envs, seen), gamma)
        assert answer.value.tolist() == pytest.approx(value.tolist(), abs=1e-5)
        gap = q_value[:, 1] - q_value[:, 0]
        if answer.action is None:
            assert gap == pytest.approx(0)
        else:
            assert ((gap > 0) == answer.action.bool().numpy()).all()
    found, (obs, _) = set(), envs.reset(seed=1)
    for step in range(12):  # an answer is given for all that is seen before acting
        found |= set(obs.flatten().tolist())
        obs, *_ = envs.step(torch.full((64,), step % 2))
    assert found == set(envs.answer(0.9).obs.flatten().tolist())


def test_sides_are_a_fair_coin():
    obs, _ = world("Choice", num_envs=10_000).reset(seed=0)
    assert set(obs.flatten().tolist()) == {-1.0, 1.0}
    assert abs(obs.mean()) < 0.04  # four standard deviations


def test_only_one_is_cut_and_it_never_ends():
    flags = {}
    for name in NAMES:
        envs = world(name)
        steps = [envs.step(torch.tensor([0])) for _ in range(10)]
        flags[name] = [
            "e" if terminated else "c" if truncated else "-"
            for _, _, terminated, truncated, _ in steps
        ]
    assert "".join(flags.pop("Cut")) == "----c----c"
    assert "".join(flags.pop("Delay")) == "-e-e-e-e-e"
    assert {"".join(of) for of in flags.values()} == {"e" * 10}


SETTINGS = {
    ppo: {"num_steps": 16, "num_minibatches": 2, "normalize_reward": False},
    a2c: {"learning_rate": 0.02, "normalize_reward": False},
    dqn: {"num_envs": 16, "learning_rate": 0.02, "learning_starts": 64}
    | {"train_every": 16, "tau": 0.5, "batch_size": 32},
}


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("Cut", ppo), ("Action", ppo), ("Delay", dqn), ("Cut", dqn), ("Choice", a2c)],
)
def test_algorithms_learn_what_there_is_to_learn(name, algorithm):
    common = {"env_id": f"yieldrl/Probe{name}-v1", "num_envs": 8, "total_steps": 2_048}
    common |= {"learning_rate": 0.01, "gamma": 0.8, "hidden_sizes": (16,)}
    config = algorithm.Config(**(common | SETTINGS[algorithm]), eval_every=0)
    trainer = algorithm.Trainer(config)
    list(trainer())
    answer = world(name).answer(config.gamma)
    with torch.no_grad():
        said = trainer.model.value(answer.obs)
    value = said.amax(1) if algorithm is dqn else said
    assert value.tolist() == pytest.approx(answer.value.tolist(), abs=0.25)
    if answer.action is not None:
        assert trainer.agent.predict(answer.obs).tolist() == answer.action.tolist()
