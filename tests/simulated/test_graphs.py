"""A replay of a recorded step is that step, whatever has changed in the meantime."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
import simulated.graphs
import torch
from factories import config_of, plain, trainer_of
from simulated.device import DEVICE
from torch import Tensor

from yieldrl.cli import catalog
from yieldrl.core.recorded import Recorded


@pytest.fixture(autouse=True)
def graphs(monkeypatch):
    return simulated.graphs.install(monkeypatch)


def numbers(count=3):
    return torch.arange(float(count), device=DEVICE)


def test_a_replay_reads_new_inputs_and_writes_in_place(graphs):
    total = torch.zeros(3, device=DEVICE)

    def step(x):
        total.add_(x)
        return x * 2

    step = Recorded("step", step)
    results = [step(numbers() + i).tolist() for i in range(5)]
    assert results == [[2 * i, 2 * i + 2, 2 * i + 4] for i in range(5)]
    assert total.tolist() == [10.0, 15.0, 20.0]
    assert [graph.replays for graph in graphs] == [3]


class Owner:
    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_attributes_that_are_replaced_are_carried_on(graphs):
    owner = Owner(state=numbers(), factor=2.0)

    def step():
        owner.state = owner.state * owner.factor + 1
        return owner.state.sum()

    recorded = Recorded("step", step, owners=(owner,))
    recorded(), recorded(), recorded()
    assert owner.state.tolist() == [7.0, 15.0, 23.0]
    owner.state = numbers()  # a checkpoint is loaded, say
    assert float(recorded()) == 1 + 3 + 5
    assert len(graphs) == 1
    owner.factor = 3.0  # is recorded again
    recorded(), recorded(), recorded()
    assert owner.state.tolist() == [40.0, 94.0, 148.0]
    assert len(graphs) == 2


def test_a_number_of_a_module_is_looked_at(graphs):
    owner = Owner(model=torch.nn.Dropout(0.5))
    step = lambda x: x * 2 if owner.model.training else x + 0  # noqa: E731
    recorded = Recorded("step", step, owners=(owner,))
    for training in True, False, True:
        owner.model.train(training)
        for _ in range(3):
            assert float(recorded(numbers()).sum()) == (6 if training else 3)
    assert len(graphs) == 2


@pytest.mark.parametrize("what", ["value", "count", "shape"])
def test_what_cannot_be_recorded_says_why_and_runs_as_it_is(what, graphs, caplog):
    owner = Owner(count=0, state=numbers())

    def step():
        if what == "value" and owner.state.sum() > 100:
            return owner.state
        if what == "count":
            owner.count += 1
        if what == "shape":
            owner.state = torch.cat([owner.state, owner.state])
        return owner.state.sum() + owner.count

    recorded = Recorded("step", step, owners=(owner,))
    with caplog.at_level(logging.WARNING, "yieldrl.compile"):
        results = [float(recorded()) for _ in range(3)]
    wanted = {"value": [3, 3, 3], "count": [4, 5, 6], "shape": [6, 12, 24]}
    assert results == wanted[what]
    assert not graphs
    assert caplog.text.count("not recorded") == 1
    named = {"value": "waits for the GPU", "count": "Owner.count", "shape": "state"}
    assert named[what] in caplog.text


def test_another_thread_may_wait_while_a_step_is_watched(graphs):
    """It collects in the background, say."""
    calls = []

    def step():
        calls.append(1)
        if len(calls) == 2:  # is watched
            with ThreadPoolExecutor() as others:
                assert others.submit(numbers().sum().item).result() == 3
        return numbers() * 2

    recorded = Recorded("step", step)
    assert [recorded().tolist() for _ in range(4)] == [[0, 2, 4]] * 4
    assert recorded.refused == ""
    assert len(graphs) == 1


def test_random_numbers_are_those_of_the_generator(graphs):
    drawn = torch.Generator(DEVICE).manual_seed(3)
    alike = torch.Generator(DEVICE).manual_seed(3)
    draw = lambda: torch.rand(2, generator=drawn, device=DEVICE).mul(1)  # noqa: E731
    recorded = Recorded("step", draw, generators=(drawn,))
    for _ in range(4):
        wanted = torch.rand(2, generator=alike, device=DEVICE)
        assert recorded().tolist() == wanted.tolist()
    assert graphs[0].replays == 2


def trained(name, compile_it, **options):
    """A trainer with learning rates that float32 holds, as a graph's have to be."""
    defaults = vars(config_of(name)).items()
    floats = {field for field, value in defaults if type(value) is float}
    rates = {field: 2.0**-10 for field in floats if field.endswith("rate")}
    if "anneal_learning_rate" in dict(defaults):
        options = {"anneal_learning_rate": False, **options}
    return trainer_of(name, device=str(DEVICE), compile=compile_it, **rates, **options)


def in_world(name, compile_it, **options):
    world = {"env_id": "yieldrl/CartPole-v1", "total_steps": 96}
    return trained(name, compile_it, **world, **options)


def of_all(trainer, stop=None):
    logs = []
    for log in trainer():
        logs.append(plain(log))
        if log["sample_step"] == stop:
            break
    return logs


def check_same(make, name, **options):
    """One after the other: both draw from PyTorch's generator, from their seeds on."""
    both = []
    for compile_it in (False, True):
        with make(name, compile_it, **options) as trainer:
            both.append(of_all(trainer))
    for one, other in zip(*both, strict=True):
        assert other["logs"] == pytest.approx(one["logs"], rel=1e-6, nan_ok=True)
        assert other["sample_step"] == one["sample_step"]


@pytest.mark.parametrize("name", ["dqn", "ppo", "ppo_lstm", "rainbow"])
def test_training_is_as_without_graphs(name, graphs):
    check_same(in_world, name)
    assert graphs
    assert all(graph.replays for graph in graphs)


TABLES = {"q_learning", "reinforce", "sarsa"}  # without a gradient, or few steps
UNRECORDED = {*TABLES, "a2c"}  # RMSprop is graphs' on CUDA alone


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.folders())
def test_all_train_as_without_graphs(name, graphs):
    length = "learn_steps" if name == "behavior_cloning" else "total_steps"
    check_same(trained, name, **{length: 64})
    assert bool(graphs) == (name not in UNRECORDED)


def test_a_checkpoint_between_two_replays_goes_on_bitwise(graphs, tmp_path):
    with in_world("ppo", True) as trainer:
        of_all(trainer, stop=40)
        path = trainer.save(tmp_path / "run.pt")
        wanted = of_all(trainer)
        weights = trainer.algorithm.state_dict()["model"]
    with type(trainer).load(path) as again:
        assert of_all(again) == wanted
        for name, tensor in again.algorithm.state_dict()["model"].items():
            assert torch.equal(tensor.detach().raw, weights[name].raw)


def test_what_is_yielded_is_not_overwritten_by_the_next_replay(graphs):
    with in_world("dqn", True) as trainer:
        logs = [(log["logs"], plain(log)["logs"]) for log in trainer()]
    assert graphs
    assert all({k: float(x) for k, x in of.items()} == then for of, then in logs)


def test_a_learning_rate_that_changes_needs_no_other_graph(graphs):
    weights = []
    for compile_it in (False, True):
        with in_world("ppo", compile_it, anneal_learning_rate=True) as trainer:
            logs = [log["logs"] for log in of_all(trainer)]
            weights.append([p.detach().raw for p in trainer.model.parameters()])
    assert len({x["learning_rate"] for x in logs if "learning_rate" in x}) == 6
    assert len(graphs) == 2  # a collecting step and a gradient step
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-6)


def test_rollouts_of_ones_own_are_collected_as_before(graphs):
    with in_world("ppo", True) as trainer, in_world("ppo", False) as eager:
        for one in trainer, eager:
            one.rollouts = [one.collector.collect(8) for _ in range(2)]
        for mine, other in zip(trainer.rollouts, eager.rollouts, strict=True):
            assert torch.equal(mine["obs"].raw, other["obs"].raw)
    assert not graphs


def test_frozen_parameters_are_seen(graphs):
    with in_world("ppo", True) as trainer:
        of_all(trainer, stop=32)
        count = len(graphs)
        for parameter in trainer.model.actor.parameters():
            parameter.requires_grad_(False)
        before = [Tensor.clone(p).tolist() for p in trainer.model.actor.parameters()]
        of_all(trainer)
        after = [p.tolist() for p in trainer.model.actor.parameters()]
    assert before == after
    assert len(graphs) == count + 1
