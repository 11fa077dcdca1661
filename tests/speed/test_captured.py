"""A step that is recorded on a GPU is the eager one: seen here with a stand-in for it.

The stand-in keeps what a CUDA graph keeps: the addresses that were recorded, and
results that the next replay writes over.
"""

import copy

import pytest
import torch
from torch import nn

from yieldrl.algorithms import ppo
from yieldrl.networks import GradientStep
from yieldrl.speed import CompiledStep, Plan, captured

RECORDED = []


def record(run):
    """What `record_cuda_graph` does, without a GPU."""
    results = run()
    RECORDED.append(results)

    def replay():
        with torch.no_grad():
            for old, new in zip(results, run(), strict=True):
                old.copy_(new)

    return replay, results


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    RECORDED.clear()
    monkeypatch.setattr(captured, "record_cuda_graph", record)


def pair(mode="cudagraph", steps=1, **options):
    """An eager step and one that is recorded, of equal networks."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    twin = copy.deepcopy(model)
    made = Plan(mode, steps, lambda: 0, gpu=True)

    def loss_of(net):
        def loss(data):
            error = (net(data["x"]).squeeze(-1) - data["y"]).square()
            return error.mean(), {"worst": error.detach().max()}

        return loss

    adam = {"lr": 0.05, "eps": 1e-5}
    eager = GradientStep(
        loss_of(model), torch.optim.Adam(model.parameters(), **adam), 1.0
    )
    optimizer = torch.optim.Adam(twin.parameters(), **adam)
    return eager, CompiledStep(loss_of(twin), optimizer, 1.0, twin, made), model, twin


def batches(count, size=6):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(size, 3, generator=generator)
        yield {"x": x, "y": x.sum(-1)}


@pytest.mark.parametrize(("mode", "steps"), [("cudagraph", 1), ("auto", 2000)])
def test_weights_and_logs_are_those_of_eager_steps(mode, steps):
    eager, step, model, twin = pair(mode, steps)
    logs = []
    for data in batches(20):
        want, got = eager(data), step(data)
        logs.append(got)
        for name in ("worst", "grad_norm"):
            torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-6)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    assert len(RECORDED) == 1
    assert len({float(log["worst"]) for log in logs}) == 20, "each is a copy of its own"
    assert step.plan.decisions == [f"recorded as a CUDA graph: {steps:,} steps ahead"]


def test_recording_moves_nothing():
    _, step, _, twin = pair()
    before = [parameter.clone() for parameter in twin.parameters()]
    (data,) = batches(1)
    step._candidate({("x",): data["x"], ("y",): data["y"]})
    follow = step._trace({("x",): data["x"], ("y",): data["y"]}, data)
    captured.Captured(follow.graph, follow.tensors, fixed=follow.fixed)
    for parameter, old in zip(twin.parameters(), before, strict=True):
        assert torch.equal(parameter, old)


def test_a_batch_of_another_size_is_recorded_too_and_a_changed_rate_is_seen():
    eager, step, model, twin = pair()
    for size in (6, 4, 6):
        for one in (eager, step):
            one.optimizer.param_groups[0]["lr"] /= 2
        for data in batches(3, size):
            eager(data), step(data)
    assert len(RECORDED) == 2
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_what_cannot_be_recorded_stays_eager_or_says_so(monkeypatch):
    def fails(run):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(captured, "record_cuda_graph", fails)
    (data,) = batches(1)
    eager, step, model, twin = pair("auto", 2000)
    eager(data), step(data)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other)
    assert step.plan.decisions == [
        "eager: no CUDA graph can be recorded: operation not permitted when stream is"
        " capturing"
    ]
    with pytest.raises(RuntimeError, match="not permitted"):
        pair("cudagraph")[1](data)


def test_a_whole_run_is_that_of_eager_steps(monkeypatch):
    """Collecting, looking back and gradient steps, all of them recorded."""
    settings = {
        "env_id": "yieldrl/CartPole-v1",
        "num_envs": 8,
        "num_steps": 16,
        "total_steps": 512,
        "eval_every": 0,
    }

    def run(speed):
        with ppo.Trainer(ppo.Config(**settings, speed=speed)) as trainer:
            logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
            return logs, trainer.algorithm.plan.decisions

    eager, _ = run("eager")
    with monkeypatch.context() as patch:
        make = Plan("cudagraph", 64, lambda: 0, gpu=True)
        patch.setattr(ppo.Algorithm, "make_plan", lambda self: copy.copy(make))
        recorded, decisions = run("auto")
    assert len(RECORDED) == 3
    assert [line.partition(":")[0] for line in decisions] == [
        "collecting",
        "looking",
        "recorded as a CUDA graph",
    ]
    for want, got in zip(eager, recorded, strict=True):
        for name in ("loss", "entropy", "approx_kl"):
            torch.testing.assert_close(got[name], want[name], rtol=1e-3, atol=1e-5)


def test_without_a_gpu_it_is_refused():
    with pytest.raises(ValueError, match="needs a GPU, and this run is on cpu: choose"):
        ppo.Trainer(ppo.Config(speed="cudagraph", device="cpu"))
