"""Claims about policies that write: what looks see, and what is demanded."""

import functools
import itertools

import pytest
import torch

from yieldrl.benchmarks.claims.writing import (
    defaults,
    gradient,
    lengths,
    sums,
    tokens,
)
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.language import policy_for

WORLD = {"env_id": "yieldrl/Sums-v1", "env_kwargs": {"max_operand": 1}}


@functools.cache
def policy():
    torch.manual_seed(0)
    clone = {"num_envs": 8, "demonstration_steps": 64, "learn_steps": 2}
    fields = {**sums.CLONE, **clone, "warmup_steps": 1, "batch_size": 16}
    return sums.cloned(WORLD, fields, seed=1).model


def test_a_clone_is_no_distance_from_itself():
    look = sums.Look(WORLD, policy())
    found = dict(zip(sums.LOOKS[1:], look(policy()), strict=True))
    assert found["kl"] == pytest.approx(0, abs=1e-4)
    assert 1 <= found["length"] <= policy().length
    assert look(policy()) == look(policy())


def test_whoever_is_always_right_has_groups_that_are_all_alike():
    look = sums.Look(WORLD, policy())

    class Knows(type(policy())):
        def write(self, obs, generator=None, greedy=False):
            answer = super().write(obs, generator, greedy)
            right = self.tokenizer.to_tokens(look.envs.expert())
            return answer._replace(tokens=right)

    spaces = policy().observation_space, policy().action_space
    knows = Knows(*spaces, policy().model, policy().tokenizer)
    found = dict(zip(sums.LOOKS[1:], look(knows), strict=True))
    assert (found["right"], found["informative"]) == (1, 0)
    assert found["length"] == 2  # a digit and the end


def test_an_algorithm_goes_on_from_a_copy(monkeypatch):
    monkeypatch.setitem(sums.COMMON, "total_steps", 512)
    monkeypatch.setattr(sums, "EPISODES", 8)
    monkeypatch.setattr(sums, "EVERY", 512)
    before = {name: x.clone() for name, x in policy().state_dict().items()}
    look = sums.Look(WORLD, policy())
    run = sums.improved("reinforce", policy(), look, **WORLD, seed=1)
    assert [points[0] for points in run["curve"]] == [512]
    assert all(torch.equal(before[k], x) for k, x in policy().state_dict().items())


def runs_of(**last):
    return [
        {
            "side": side,
            "seed": seed,
            "accuracy": right,
            "curve": [[0, 0.1, 2, 0, 0.4, 3], [9, right, 1, 0.5, 0.2, 4]],
        }
        for side in sums.SIDES
        for seed, right in enumerate([last.get(side, 0.3)] * 2)
    ]


def test_what_is_demanded_of_the_defaults():
    claim = CLAIMS["writing"]["defaults"]
    better = [{"seed": s, "clone": 0.9, "last": 0.93 + s / 100} for s in range(1, 6)]
    assert all(verdict.holds for verdict in claim.judge(better))
    once_worse = [*better[1:], {"seed": 1, "clone": 0.928, "last": 0.88}]
    assert not claim.judge(once_worse)[0].holds
    _, rows = claim.table(better)
    assert rows[0] == [
        "1",
        "0.900 (0.880 to 0.917)",
        "0.940 (0.924 to 0.953)",
        "+0.040",
    ]
    assert rows[-1][:3] == ["mean", "0.900", "0.960"]
    assert set(defaults.SETTINGS) < set(defaults.grpo.Config().to_dict())


def test_what_is_demanded_of_sums():
    claim = CLAIMS["writing"]["sums"]
    assert all(verdict.holds for verdict in claim.judge(runs_of(clone=0.1)))
    worse = claim.judge(runs_of(clone=0.1, ppo=0.05))
    assert [verdict.holds for verdict in worse] == [False, True]
    assert worse[0].value == pytest.approx(-0.05)
    header, rows = claim.table(runs_of(clone=0.1))
    assert len(rows) == len(sums.SIDES) == 9
    grpo = dict(zip(header, rows[1], strict=True))
    assert grpo["KL from the clone"] == "0.50"
    assert grpo["groups that differ: halfway"] == "0.20"
    assert lengths.length(runs_of())[0] == 4


def timed(side, seed, seconds):
    parts = dict.fromkeys(tokens.PARTS, seconds)
    return {"side": side, "seed": seed, "parameters": 1, **parts}


def test_tokens_are_compared_round_by_round():
    runs = [timed("yieldrl", 1, 1.0), timed("trl", 1, 2.0)]
    runs += [timed("trl", 2, 3.0), timed("yieldrl", 2, 2.0)]
    assert tokens.ratio_grpo(runs) == [2.0, 1.5]
    written = tokens.TASK["batch"] * tokens.TASK["answer"]
    assert tokens.sampled(runs[:1]) == written
    slow = [*runs, timed("yieldrl", 3, 9.0), timed("trl", 3, 1.0)]
    judged = CLAIMS["writing"]["tokens"].judge(slow)
    assert [verdict.value for verdict in judged] == [1.5, 1.5]


def test_both_sides_have_as_many_parameters():
    task = tokens.TASK
    envs = tokens.LongSums(2)
    spaces = envs.single_observation_space, envs.single_action_space
    model = policy_for(*spaces, d_model=task["d_model"], num_heads=task["num_heads"])
    assert envs.answer_length == task["answer"]
    assert sum(p.numel() for p in model.parameters()) == 823_296
    assert model.model.places.weight.shape[0] == task["prompt"] + task["answer"]


def bandit():
    logits, rewards = torch.tensor([[0.3, -0.2, 0.5, 0.0], [1.0, -0.5, 0.25, 2.0]])
    return logits, rewards


def test_gradients_of_a_bandit_are_those_of_the_expected_return():
    """RLOO's to rounding, Dr. GRPO's but for its length; and differences are right."""
    logits, rewards = bandit()
    exact = torch.func.grad(lambda x: x.softmax(0) @ rewards)(logits)
    torch.testing.assert_close(gradient.differences(logits, rewards), exact)
    for size in gradient.SIZES:
        found = gradient.Groups("rloo", size, rewards).gradient(logits)
        torch.testing.assert_close(found, exact)
        shrunk = gradient.Groups("dr_grpo", size, rewards).gradient(logits)
        torch.testing.assert_close(shrunk, exact * (size - 1) / size)


@pytest.mark.parametrize("side", ["dapo", "gspo", "reinforce_pp"])
def test_some_gradients_of_a_bandit_are_grpos(side, monkeypatch):
    """With one prompt and one token; REINFORCE++'s if it has one group alone."""
    monkeypatch.setattr(gradient, "TOGETHER", {})
    logits, rewards = bandit()
    expected = gradient.Groups("grpo", 3, rewards).gradient(logits)
    found = gradient.Groups(side, 3, rewards).gradient(logits)
    torch.testing.assert_close(found, expected)


def test_a_gradient_of_grpo_is_the_mean_over_groups_in_any_order():
    logits, rewards = bandit()
    expected, log_p = torch.zeros(4), logits.log_softmax(0)
    for arms in itertools.product(range(4), repeat=3):
        own = rewards[[*arms]]
        advantage = (own - own.mean()) / (own.std(correction=0) + 1e-6)
        scores = torch.eye(4)[[*arms]] - log_p.exp()  # of log pi, by the logits
        expected += log_p[[*arms]].sum().exp() * (advantage @ scores) / 3
    found = gradient.Groups("grpo", 3, rewards).gradient(logits)
    torch.testing.assert_close(found, expected)


def test_what_is_demanded_of_gradients(monkeypatch):
    monkeypatch.setattr(gradient, "SIZES", [2, 6])
    monkeypatch.setitem(gradient.TOGETHER, "reinforce_pp", 2)
    runs = gradient.train(1)["runs"]
    claim = CLAIMS["writing"]["gradient"]
    assert all(verdict.holds for verdict in claim.judge(runs))
    header, rows = claim.table(runs)
    dr_grpo = dict(zip(header, rows[1], strict=True))
    assert (dr_grpo["length: G = 2"], dr_grpo["G = 6"]) == ("0.500", "0.833")
    changed = [{**run, "ratio": 1.0, "error": 0.1, "steps": 150} for run in runs]
    assert not any(verdict.holds for verdict in claim.judge(changed))
