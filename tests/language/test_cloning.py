"""An expert's answers are cloned into a policy that writes."""

import copy
import functools

import pytest
import torch

from yieldrl.algorithms import behavior_cloning
from yieldrl.core.text import decode
from yieldrl.language import TokenPolicy, policy_for

SMALL = functools.partial(policy_for, d_model=32, num_layers=1, num_heads=2)


def trainer(env_id="yieldrl/Sums-v1", model=SMALL, **options):
    fields = {
        "env_id": env_id,
        "num_envs": 16,
        "demonstration_steps": 256,
        "learn_steps": 10,
        "batch_size": 64,
        "eval_every": 0,
        "device": "cpu",
        **options,
    }
    return behavior_cloning.Trainer(behavior_cloning.Config(**fields), model=model)


def test_where_actions_are_text_the_policy_writes():
    made = trainer(model=None)
    assert isinstance(made.model, TokenPolicy)
    assert made.model.model.head.weight.shape == (98, 128)
    assert isinstance(
        trainer("yieldrl/CartPole-v1", None).model, behavior_cloning.Model
    )


@pytest.mark.parametrize("world", ["Sums", "Steps"])
def test_the_expert_is_read_in_the_policys_tokens(world):
    made = trainer(f"yieldrl/{world}-v1")
    next(log for log in made() if log["log_type"] == "train")
    data = made.buffer.windows.minibatch(0, 32)
    assert data["action"].dtype == torch.int64
    spoken = decode(data["action"].to(torch.uint8))
    sums = [text.rstrip("=").split("+") for text in decode(data["obs"]["prompt"])]
    assert [text.split(">")[-1] for text in spoken] == [
        str(int(a) + int(b)) for a, b in sums
    ]
    tokens = made.agent.in_its_words(data)["action"]
    spelled = made.model.tokenizer.to_bytes(tokens, made.model.length)
    assert decode(spelled) == spoken
    # The loss is the probability of a whole answer.
    data = made.agent.in_its_words(made.buffer.windows.minibatch(0, 32))
    loss, logs = made.algorithm.loss(data)
    log_prob, entropy, _ = made.model.evaluate_actions(data["obs"], data["action"])
    torch.testing.assert_close(loss, -log_prob.sum(1).mean())
    torch.testing.assert_close(logs["entropy"], entropy.detach().mean())


def test_what_was_shown_is_learned():
    made = trainer(
        env_kwargs={"max_operand": 1},
        learn_steps=80,
        learning_rate=1e-2,
        anneal_learning_rate=False,
    )
    logs = [log["logs"] for log in made() if log["log_type"] == "train"]
    assert float(logs[-1]["log_likelihood"]) > -0.1 > float(logs[0]["log_likelihood"])
    answers = made.agent.predict({"prompt": ["0+0=", "0+1=", "1+0=", "1+1="]})
    assert decode(answers) == ["0", "1", "1", "2"]
    assert decode(made.agent.predict({"prompt": "1+1="})) == ["2"]
    assert float(made.evaluate(20)["logs"]["success_rate"]) == 1.0


def test_agents_explore_in_tokens_and_act_in_bytes_and_so_do_copies():
    made = trainer()
    obs, _ = made.envs.reset(seed=0)
    action, extras = made.agent.sample(obs)
    assert action.dtype == torch.uint8
    assert (extras["action"].dtype, extras["action"].shape) == (torch.int64, (16, 3))
    assert extras["log_prob"].shape == (16, 3)
    spelled = made.model.tokenizer.to_bytes(extras["action"], 3)
    assert torch.equal(action, spelled)
    arrays = {"prompt": obs["prompt"].numpy()}
    assert made.agent.sample(arrays)[0].dtype.name == "uint8"
    model = copy.deepcopy(made.model)
    assert torch.equal(model.predict(obs), made.model.predict(obs))
    actor = made.agent.actor()
    actor.generator.set_state(made.agent.generator.get_state())
    assert torch.equal(actor.sample(obs)[0], made.agent.sample(obs)[0])
