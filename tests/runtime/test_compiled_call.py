"""A compiled call gives what its function gives, with the same random numbers."""

import torch
from torch import nn

from yieldrl.algorithms import ppo
from yieldrl.networks import MLP
from yieldrl.runtime import CompiledCall
from yieldrl.speed import Plan


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = MLP([3, 8, 2])
        self.sharp = False

    def act(self, inputs, generator):
        logits = self.mlp(inputs["obs"]["seen"]) + inputs["bias"]
        noise = torch.empty_like(logits).exponential_(generator=generator)
        choice = (logits - (0 if self.sharp else noise.log())).argmax(-1)
        spread = torch.empty_like(logits).uniform_(-1, 1, generator=generator)
        return {"action": choice, "spread": logits + spread}


def inputs(count=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    seen = torch.randn(count, 3, generator=generator)
    return {"obs": {"seen": seen}, "bias": torch.ones(count, 2)}


def calls_of(actor):
    made = Plan("compile", 1, lambda: 0)
    return CompiledCall("acting", actor.act, made)


def agree(actor, call, *, seed=0, **options):
    """The function and the call, from generators of one seed; and again after it."""
    pair = [torch.Generator().manual_seed(seed) for _ in range(2)]
    for turn in range(3):
        given = inputs(seed=turn, **options)
        with torch.inference_mode():
            want = actor.act(given, pair[0])
            got = call(given, pair[1])
        assert got.keys() == want.keys()
        for name in want:
            torch.testing.assert_close(got[name], want[name])
        assert torch.equal(pair[0].get_state(), pair[1].get_state())


def test_numbers_and_generator_are_those_of_the_function(traced):
    actor = Actor()
    call = calls_of(actor)
    agree(actor, call)
    agree(actor, call, seed=7)
    assert len(traced) == 1
    for parameter in actor.parameters():
        parameter.data = torch.randn_like(parameter)  # other memory, too
    agree(actor, call)
    assert len(traced) == 1
    agree(actor, call, count=2)
    assert len(traced) == 2
    actor.sharp = True  # an attribute that changes is seen
    agree(actor, call)


def test_numbers_that_cannot_be_drawn_outside_are_left_to_the_function(traced):
    def act(inputs, generator):
        weights = torch.ones(4)
        return {"action": torch.multinomial(weights, 2, generator=generator)}

    made = Plan("compile", 1, lambda: 0)
    call = CompiledCall("acting", act, made)
    one, other = (torch.Generator().manual_seed(1) for _ in range(2))
    for _ in range(3):
        found = call({"x": torch.ones(1)}, one)
        assert torch.equal(found["action"], act({}, other)["action"])
    assert made.decisions == ["acting: eager: it draws random numbers by multinomial"]


def test_agents_act_as_they_do_without(traced):
    """Of both kinds of actions, bit by bit: generator, actions, and what is kept."""
    options = {"num_envs": 4, "num_steps": 8, "total_steps": 96, "eval_every": 0}
    options |= {"env_id": "yieldrl/HiddenPendulum-v1", "num_minibatches": 2}
    rollouts = []
    for speed in ("eager", "compile"):
        with ppo.Trainer(ppo.Config(**options, speed=speed)) as trainer:
            rollouts.append(trainer.collector.collect(8))
            generator = trainer.agent.generator.get_state()
            rollouts[-1]["state"] = generator.expand(8, 4, -1)
    eager, compiled = rollouts
    assert traced
    for name in eager.keys(include_nested=True, leaves_only=True):
        torch.testing.assert_close(eager[name], compiled[name], rtol=1e-4, atol=1e-5)
