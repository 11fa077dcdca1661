"""The compiled step is the eager five lines, to rounding."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.networks import MLP, CompiledStep

pytestmark = pytest.mark.slow  # compiling takes ten seconds


class Scaled(MLP):
    """A network with a buffer, as a normalizer has one."""

    def __init__(self):
        super().__init__([3, 8, 1])
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        return super().forward(x) * self.scale


class Learner:
    def __init__(self, model, compiled):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
        self.compiled = (
            CompiledStep(self.loss, model, self.optimizer, 0.5) if compiled else None
        )

    def loss(self, data):
        loss = (self.model(data["x"]).squeeze(1) - data["y"]).square().mean()
        return loss, {"loss": loss.detach()}

    def learn(self, data):
        if self.compiled is not None:
            return self.compiled(data)
        loss, logs = self.loss(data)
        self.optimizer.zero_grad()
        loss.backward()
        parameters = self.model.parameters()
        logs["grad_norm"] = nn.utils.clip_grad_norm_(parameters, 0.5)
        self.optimizer.step()
        return logs


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(16, 3, generator=generator)
    return {"x": x, "y": 3 * x.sum(1)}


def test_it_is_the_eager_step():
    torch.manual_seed(0)
    model = Scaled()
    eager, compiled = Learner(copy.deepcopy(model), False), Learner(model, True)

    def both(step):
        logs = [learner.learn(batch(step)) for learner in (eager, compiled)]
        for name in ("loss", "grad_norm"):
            assert logs[0][name].item() == pytest.approx(logs[1][name].item(), rel=1e-4)
            assert not logs[1][name].requires_grad
        pairs = zip(eager.model.parameters(), model.parameters(), strict=True)
        for ours, theirs in pairs:
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)

    for step in range(5):
        both(step)
    for learner in (eager, compiled):  # a buffer that moves is seen
        learner.model.scale.fill_(0.5)
        learner.optimizer.param_groups[0]["lr"] = 0.002
    for step in range(5, 8):
        both(step)
    # The optimizer's state is the eager one's, and may be loaded either way.
    states = [learner.optimizer.state_dict() for learner in (eager, compiled)]
    assert [s["state"][0]["step"].item() for s in states] == [8, 8]
    states = copy.deepcopy(states)
    eager.optimizer.load_state_dict(states[1])
    compiled.optimizer.load_state_dict(states[0])
    for step in range(8, 11):
        both(step)


def test_each_step_is_compiled_for_itself():
    """Shapes alone do not tell two of them apart."""
    model = nn.Linear(2, 1)
    for factor in (1.0, 3.0):

        def loss(data, factor=factor):
            loss = factor * model(data["x"]).mean()
            return loss, {"loss": loss.detach()}

        optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
        data = {"x": torch.ones(4, 2)}
        logs = CompiledStep(loss, model, optimizer, 1.0)(data)
        torch.testing.assert_close(logs["loss"], loss(data)[1]["loss"])


def test_another_optimizer_is_refused():
    model = Scaled()
    with pytest.raises(TypeError, match="needs Adam"):
        CompiledStep(lambda data: data, model, torch.optim.AdamW(model.parameters()), 1)
