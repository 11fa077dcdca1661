"""A policy that writes: sampler and learner agree about what was written."""

import itertools

import pytest
import torch
from gymnasium.spaces import Dict, Discrete

import yieldrl.envs  # noqa: F401 (registers the worlds)
from yieldrl.core import Utf8Text
from yieldrl.language import Characters, TokenPolicy, Transformer, policy_for

PROMPT, ANSWER = Utf8Text(6), Utf8Text(4)
SPACES = Dict(prompt=PROMPT), ANSWER
PROMPTS = ["1+2=", "17+25=", "9", "", "80+19=", "3+4="]


def policy(answer=ANSWER, characters="0123456789+=", scale=0.2, **options):
    """A small one whose weights are nothing that an initialisation makes."""
    torch.manual_seed(0)
    tokenizer = Characters(characters)
    sizes = {"d_model": 16, "num_layers": 2, "num_heads": 2}
    model = Transformer(tokenizer.vocab_size, 6 + answer.max_bytes, **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(scale * torch.randn_like(parameter))
    return TokenPolicy(SPACES[0], answer, model, tokenizer, **options).eval()


def asked(prompts=PROMPTS, space=PROMPT):
    return {"prompt": torch.from_numpy(space.encode(prompts))}


def sampled(model, obs, seed=0):
    answer = model.sample(obs, torch.Generator().manual_seed(seed))
    return answer[0], answer[1]["log_prob"]


VARIANTS = [
    {},
    {"temperature": 2.0, "top_k": 3},
    {"temperature": 2.0, "top_k": 3, "tempered_learning": False},
]


@pytest.mark.parametrize("options", VARIANTS)
def test_sampler_and_learner_agree(options):
    model, obs = policy(**options), asked(PROMPTS * 20)
    action, log_prob = sampled(model, obs)
    assert action.shape == log_prob.shape == (120, 4)
    assert (action.dtype, log_prob.dtype) == (torch.int64, torch.float32)
    learned, entropy, value = model.evaluate_actions(obs, action)
    torch.testing.assert_close(learned, log_prob, rtol=0, atol=1e-5)
    assert entropy.shape == (120,)
    assert value is None
    written = model.written(action)  # after the end there is nothing
    assert ({4} if options else {1, 2, 4}) <= set(written.sum(1).tolist())
    assert (action[~written] == model.tokenizer.end).all()
    assert (log_prob[~written] == 0).all()
    assert (log_prob[written] < 0).all()
    assert (learned[~written] == 0).all()


def test_all_answers_together_have_the_probability_one():
    """Every text of at most two of three characters, with or without an end."""
    model = policy(Utf8Text(2), characters="ab", temperature=0.7)
    answers = [
        (first, second)
        for first, second in itertools.product(range(4), repeat=2)
        if first or not second
    ]
    action = torch.tensor(answers)
    assert len(action) == 1 + 3 * 4
    obs = asked(["1+2="] * len(action))
    log_prob, *_ = model.evaluate_actions(obs, action)
    assert log_prob.sum(1).exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_answers_are_drawn_as_often_as_they_are_likely():
    model, count = policy(Utf8Text(1), characters="ab"), 20_000
    obs = asked(["1+2="] * count)
    tokens, _ = sampled(model, obs)
    share = torch.bincount(tokens.flatten(), minlength=4) / count
    every = torch.arange(4).unsqueeze(1)
    log_prob, *_ = model.evaluate_actions(asked(["1+2="] * 4), every)
    likely = log_prob.flatten().exp()
    deviation = (likely * (1 - likely) / count).sqrt()
    assert ((share - likely).abs() < 4 * deviation).all()


def test_entropy_is_the_mean_over_what_was_written():
    model = policy(Utf8Text(2), characters="ab")
    obs, action = asked(["1+2=", "1+2="]), torch.tensor([[0, 0], [1, 2]])
    first = model.evaluate_actions(asked(["1+2="] * 4), torch.tensor([[0, 0]] * 4))[1]
    every = torch.tensor([[1, second] for second in range(4)])
    second, *_ = model.evaluate_actions(asked(["1+2="] * 4), every)
    log_p = second[:, 1]  # of the second token, after the first
    after = -(log_p.exp() * log_p).sum()
    _, entropy, _ = model.evaluate_actions(obs, action)
    torch.testing.assert_close(entropy[0], first[0])
    torch.testing.assert_close(entropy[1], (first[0] + after) / 2)


def test_the_best_answer_is_the_most_likely_token_each_time():
    model, obs = policy(temperature=3.0), asked()
    action = model.predict(obs)
    assert torch.equal(action, model(obs, deterministic=True)[0])
    assert torch.equal(action, model.predict(obs))
    written = model.written(action)
    best, *_ = model.evaluate_actions(obs, action)
    for token in range(model.tokenizer.vocab_size):
        for place in range(4):
            other = action.clone()
            other[:, place] = token
            log_prob, *_ = model.evaluate_actions(obs, other)
            worse = log_prob[:, place] <= best[:, place] + 1e-5
            assert worse[written[:, place]].all()


def test_a_prompt_means_the_same_in_every_batch():
    model, obs = policy(), asked()
    action, _ = sampled(model, obs)
    together, *_ = model.evaluate_actions(obs, action)
    for row, text in enumerate(PROMPTS):
        alone = asked([text], Utf8Text(max(1, len(text))))
        log_prob, *_ = model.evaluate_actions(alone, action[row : row + 1])
        torch.testing.assert_close(log_prob[0], together[row])


def test_draws_come_from_the_generator_alone():
    model, obs = policy(), asked()
    first, _ = sampled(model, obs, seed=1)
    torch.manual_seed(9)
    assert torch.equal(first, sampled(model, obs, seed=1)[0])
    assert not torch.equal(first, sampled(model, obs, seed=2)[0])
    # Learning reaches every parameter, and acting none.
    action, log_prob, _ = model(obs)
    assert not log_prob.requires_grad
    model.evaluate_actions(obs, action)[0].sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    assert all(grad is not None and grad.any() for grad in gradients.values())


class Counting(torch.nn.Module):
    """A model that notes how many tokens each pass is over."""

    def __init__(self, inside):
        super().__init__()
        self.inside, self.passes = inside, []
        self.new_cache = inside.new_cache

    def forward(self, tokens, shown, cache=None, last=None):
        self.passes.append(tokens.shape[1])
        return self.inside(tokens, shown, cache, last)


def test_nothing_is_computed_after_the_longest_answer():
    model, obs = policy(), asked(["1+2=", "9"])
    action = torch.tensor([[3, 0, 0, 0], [0, 0, 0, 0]])
    expected, entropy, _ = model.evaluate_actions(obs, action)
    longer = torch.cat([action, torch.tensor([[3, 4, 5, 6]])])
    found = model.evaluate_actions(asked(["1+2=", "9", "1"]), longer)
    torch.testing.assert_close(found[0][:2], expected)
    torch.testing.assert_close(found[1][:2], entropy)
    model.model = Counting(model.model)
    assert model.evaluate_actions(obs, action)[0].shape == (2, 4)
    assert model.model.passes == [6 + 1]
    with torch.no_grad():  # always the end first
        model.model.inside.norm.weight.zero_()
        model.model.inside.head.weight.zero_()
        model.model.inside.head.weight[0] = 100 * model.model.inside.norm.bias
    model.model.passes.clear()
    assert (model.predict(obs) == 0).all()
    assert model.model.passes == [6]


@pytest.mark.parametrize(
    "spaces", [(Dict(other=PROMPT), ANSWER), (PROMPT, ANSWER), (SPACES[0], Discrete(3))]
)
def test_other_spaces_are_refused(spaces):
    with pytest.raises(TypeError, match=r"reads Dict\(prompt=Utf8Text\(P\)\)"):
        policy_for(*spaces)
