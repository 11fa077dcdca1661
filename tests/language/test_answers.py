"""Whole answers as actions: their probability, a critic, and who learns from them."""

import functools

import gymnasium
import pytest
import torch

from yieldrl.algorithms import ppo, reinforce
from yieldrl.envs.writing import SumsVectorEnv
from yieldrl.language import AnswerCritic, AnswerPolicy, policy_for

FIELDS = {"env_id": "yieldrl/Sums-v1", "env_kwargs": {"max_operand": 9}}
FIELDS |= {"num_envs": 16, "eval_every": 0, "device": "cpu"}
PPO = {"num_steps": 1, "num_epochs": 1, "num_minibatches": 1, "entropy_coef": 0.0}
PPO |= {"normalize_reward": False, "gamma": 1.0}


@functools.cache
def world():
    return gymnasium.make_vec("yieldrl/Sums-v1", num_envs=16)


def written(**options):
    torch.manual_seed(0)
    spaces = world().single_observation_space, world().single_action_space
    return policy_for(*spaces, d_model=16, num_layers=1, num_heads=2, **options)


def asked():
    obs, _ = world().reset(seed=0)
    return obs


def small(kind, *spaces):
    torch.manual_seed(0)
    model = policy_for(*spaces[:2], d_model=16, num_layers=1, num_heads=2)
    return kind(model)


@pytest.mark.parametrize("kind", [AnswerPolicy, AnswerCritic])
def test_an_answer_is_as_likely_as_all_its_tokens(kind):
    tokens, obs = written(temperature=0.5, top_k=20), asked()
    model = kind(tokens)
    assert model.model is tokens.model
    assert (model.temperature, model.top_k) == (0.5, 20)
    action, kept = model.sample(obs, torch.Generator().manual_seed(1))
    drawn, each = tokens.sample(obs, torch.Generator().manual_seed(1))
    assert torch.equal(action, drawn)
    assert torch.equal(kept["log_prob"], each["log_prob"].sum(1))
    log_prob, entropy, _ = model.evaluate_actions(obs, action)
    assert log_prob.shape == entropy.shape == (16,)
    torch.testing.assert_close(log_prob, kept["log_prob"], rtol=0, atol=1e-5)
    assert torch.equal(entropy, tokens.evaluate_actions(obs, action)[1])
    best, likely, _ = model(obs, deterministic=True)
    assert torch.equal(best, tokens.predict(obs))
    torch.testing.assert_close(likely, model.evaluate_actions(obs, best)[0])


@pytest.mark.parametrize("tempered", [True, False])
def test_answers_are_as_likely_to_be_learned_from_as_their_tokens(tempered):
    tokens, obs = written(temperature=0.5, tempered_learning=tempered), asked()
    action, _ = tokens.sample(obs, torch.Generator().manual_seed(1))
    log_prob, *_ = AnswerPolicy(tokens).evaluate_actions(obs, action)
    assert torch.equal(log_prob, tokens.evaluate_actions(obs, action)[0].sum(1))


def test_entropy_is_of_the_latest_answers_or_of_new_ones():
    model, obs = AnswerPolicy(written()), asked()
    torch.manual_seed(1)
    entropy = model.policy(obs).entropy()
    torch.manual_seed(1)
    policy = model.policy(obs)
    drawn, best = policy.sample(), policy.mode()
    torch.testing.assert_close(entropy, model.evaluate_actions(obs, drawn)[1])
    policy.log_prob(best)
    torch.testing.assert_close(policy.entropy(), model.evaluate_actions(obs, best)[1])


def test_the_critic_reads_the_prompt_alone_and_begins_at_zero():
    model, obs = AnswerCritic(written()), asked()
    assert model.has_critic
    assert not AnswerPolicy.has_critic
    action, _ = model.sample(obs, torch.Generator().manual_seed(1))
    assert (model.get_value(obs) == 0).all()
    with torch.no_grad():
        model.critic.model.head.weight.normal_()
    value = model.get_value(obs)
    assert len(value.unique()) == 16
    for other in (action, torch.zeros_like(action)):
        assert torch.equal(model.evaluate_actions(obs, other)[2], value)
    assert torch.equal(model(obs)[2], value)
    alone = model.get_value({"prompt": obs["prompt"][3:4]})
    torch.testing.assert_close(alone, value[3:4])
    # Actor and critic share no weights.
    value.sum().backward()
    assert all(p.grad is None for p in model.model.parameters())
    gradients = [p.grad for p in model.critic.parameters()]
    assert all(grad is not None and grad.any() for grad in gradients)
    model.zero_grad()
    model.evaluate_actions(obs, action)[0].sum().backward()
    assert all(p.grad is None for p in model.critic.parameters())


def test_ppo_begins_with_the_ratio_one_and_a_critic_that_knows_nothing():
    config = ppo.Config(**FIELDS, **PPO, total_steps=16)
    model = functools.partial(small, AnswerCritic)
    with ppo.Trainer(config, model=model) as trainer:
        loop = trainer()
        next(loop)
        reward = trainer.buffer.rollout()["reward"].clone()
        logs = next(loop)["logs"]
    assert float(logs["approx_kl"]) == pytest.approx(0, abs=1e-6)
    assert float(logs["clip_fraction"]) == 0
    expected = 0.5 * float(reward.square().mean())
    assert float(logs["value_loss"]) == pytest.approx(expected, abs=1e-6)


def test_reinforce_weighs_answers_by_their_rewards():
    config = reinforce.Config(**FIELDS, num_episodes=16, total_steps=16)
    model = functools.partial(small, AnswerPolicy)
    with reinforce.Trainer(config, model=model, envs=Even(16)) as trainer:
        loop = trainer()
        next(loop)
        steps = trainer.buffer.episodes()
        obs, action, reward = (steps[k][0] for k in ("obs", "action", "reward"))
        weight = (reward - reward.mean()) / (reward.std(correction=0) + 1e-8)
        log_prob, *_ = trainer.model.evaluate_actions(obs, action)
        expected = -(log_prob * weight).mean().item()
        logs = next(loop)["logs"]
    assert 0 < reward.mean() < 1
    assert float(logs["loss"]) == pytest.approx(expected, abs=1e-5)


class Even(SumsVectorEnv):
    """Rewards answers that begin with an even byte."""

    def grade(self, state, answer):
        return (answer[:, 0] % 2 == 0).float()
