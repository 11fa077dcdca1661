"""DPO: its loss by hand, which pairs teach, and that a clone learns to add by them."""

import functools
import math

import pytest
import torch
from factories import plain, resumed, step, trainer_of
from lettered import Lettered
from tensordict import TensorDict

from yieldrl.algorithms import dpo
from yieldrl.language import TokenPolicy, policy_for

SMALL = functools.partial(policy_for, d_model=32, num_layers=1, num_heads=2)
SUMS = {"env_kwargs": {"max_operand": 2}, "num_envs": 64}
SUMS |= {"demonstration_steps": 64, "clone_steps": 4, "total_steps": 128}
SUMS |= {"num_epochs": 2, "pairs_per_step": 8, "eval_every": 0, "device": "cpu"}


def sums(**options):
    return dpo.Trainer(dpo.Config(**{**SUMS, **options}), model=SMALL)


def algorithm_of(beta=0.5):
    config = dpo.Config(beta=beta, learning_rate=0.1, device="cpu")
    return dpo.Algorithm(Lettered(2), config)


def pairs_of(algorithm, actions):
    """Pairs `[B, 2, 1]` of answers with two tokens."""
    tokens = torch.tensor(actions).unsqueeze(2)
    size = tokens.shape[:3]
    reference = algorithm.reference.evaluate_actions(None, tokens.flatten(0, 2))[0]
    data = {
        "obs": torch.zeros(*size, 3),
        "action": tokens,
        "valid": torch.ones(size, dtype=torch.bool),
        "reference": reference.detach().unflatten(0, size),
    }
    return TensorDict(data, list(size))


ACTIONS = [[[1, 2], [2, 0]], [[2, 2], [0, 0]]]


def test_the_loss_is_equation_7():
    algorithm = algorithm_of(beta=0.5)
    data = pairs_of(algorithm, ACTIONS)
    loss, logs = algorithm.loss(data)
    assert loss.item() == pytest.approx(math.log(2))  # at the reference
    assert float(logs["kl"]) == float(logs["margin"]) == float(logs["accuracy"]) == 0

    with torch.no_grad():
        algorithm.model.logits[:3] = torch.tensor([0.0, 1.0, -1.0])
    new, old = (
        model._log_probs()[0].tolist()
        for model in (algorithm.model, algorithm.reference)
    )
    moved = [a - b for a, b in zip(new, old, strict=True)]
    margins = [0.5 * (moved[1] - moved[2]), 0.5 * (moved[2] - moved[0])]
    loss, logs = algorithm.loss(data)
    expected = sum(math.log(1 + math.exp(-m)) for m in margins) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert float(logs["margin"]) == pytest.approx(sum(margins) / 2, rel=1e-5)
    assert float(logs["accuracy"]) == sum(m > 0 for m in margins) / 2 == 0.5
    divergence = [math.exp(moved[i]) - 1 - moved[i] for i in (1, 2, 2, 0)]
    assert float(logs["kl"]) == pytest.approx(sum(divergence) / 4, rel=1e-4)


def test_what_follows_the_end_of_an_answer_counts_for_nothing():
    algorithm = algorithm_of()
    with torch.no_grad():
        algorithm.model.logits.add_(torch.arange(6.0))
    one, other = ([[[1, 1], [0, last]]] for last in (0, 2))
    found = [algorithm.loss(pairs_of(algorithm, of))[0] for of in (one, other)]
    assert torch.equal(*found)


def test_learning_raises_the_margin_and_leaves_the_reference():
    algorithm = algorithm_of()
    data = pairs_of(algorithm, ACTIONS)
    before = algorithm.reference.logits.clone()
    losses = [float(step(algorithm, data)["loss"]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert torch.equal(algorithm.reference.logits, before)
    algorithm.sync_target()
    assert torch.equal(algorithm.reference.logits, algorithm.model.logits)


def test_pairs_of_whole_episodes_hold_what_the_reference_says_of_them():
    trainer = trainer_of(dpo, num_envs=4, total_steps=32)
    algorithm, logs = trainer.algorithm, trainer()
    while not trainer.buffer.full:
        next(logs)
    rollout = trainer.buffer.rollout().clone()
    before = algorithm.prepare(rollout)["reference"]
    assert before.any()
    learned = [x["logs"] for x in logs if x["log_type"] == "train"]
    assert learned[0]["dpo/pairs"] == 2
    assert float(learned[0]["loss"]) == pytest.approx(math.log(2))
    assert float(learned[-1]["loss"]) < math.log(2)
    assert torch.equal(algorithm.prepare(rollout)["reference"], before)


def test_the_judge_says_which_answer_comes_first():
    trainer = sums(judge="judges:longest")
    logs = trainer()
    while not (trainer.buffer.full and trainer.cloning is None):
        next(logs)
    rollout = trainer.buffer.rollout()
    pairs = trainer.algorithm.prepare(rollout)
    assert (pairs["obs", "prompt"][:, 0] == pairs["obs", "prompt"][:, 1]).all()
    lengths = trainer.model.written(pairs["action"].flatten(0, 2)).sum(1).view(-1, 2)
    ends = (pairs["action"][..., -1] == 0).view(-1, 2)  # or it was cut, without an end
    lengths = lengths - ends.long()
    assert (lengths[:, 0] > lengths[:, 1]).all()
    assert set(rollout["true_reward"].unique().tolist()) <= {0.0, 1.0}
    first = next(log["logs"] for log in logs if "dpo/pairs" in log["logs"])
    assert 0 < first["dpo/pairs"] < 32, "pairs of equal judgement are dropped"
    assert float(first["dpo/equal_pairs"]) == 1 - first["dpo/pairs"] / 32
    assert {"judged_reward", "true_reward"} <= first.keys()


def test_the_clone_is_the_reference():
    trainer = sums()
    assert isinstance(trainer.model, TokenPolicy)
    assert next(log for log in trainer() if log["logs"]["phase"] == 1)
    cloned = dict(trainer.model.named_parameters())
    for name, parameter in trainer.algorithm.reference.named_parameters():
        assert torch.equal(parameter, cloned[name]), name
        assert not parameter.requires_grad


def test_a_resumed_run_is_the_same_to_the_bit(tmp_path):
    options = {"judge": "judges:longest"}
    expected = list(map(plain, sums(**options)()))
    for stop in (3, len(expected) - 2):  # while cloning, and among the pairs
        found = resumed(sums(**options), stop, tmp_path, model=SMALL, trust=True)
        assert found == expected


def test_what_does_not_fit_is_said_at_construction():
    with pytest.raises(ValueError, match="num_envs = 7: two make a pair"):
        dpo.Config(num_envs=7)
    for judge in ("nowhere:f", "f"):
        with pytest.raises(ValueError, match=f"judge = '{judge}'"):
            sums(judge=judge)
