"""WindowedMeans: what is averaged, how it is weighed, when it is read."""

import gc
import math
import weakref

import pytest
import torch

from yieldrl.loggers.writer import WindowedMeans


def log(step, log_type="train", **logs):
    return {
        "log_type": log_type,
        "sample_step": step,
        "learn_step": step // 2,
        "logs": logs,
    }


class Means(WindowedMeans):
    """Hands out due rows at once."""

    def add(self, log):
        super().add(log)
        rows, self.due = self.due, []
        return rows

    def ended(self):
        super().flush()
        return self.add({"logs": {}})


@pytest.fixture
def count_reads(monkeypatch):
    """The names of the tensor methods that made the program wait for a value."""
    found = []
    for name in ("__float__", "__bool__", "__int__", "item", "tolist", "cpu", "numpy"):
        original = getattr(torch.Tensor, name)

        def method(self, *args, _name=name, _do=original):
            found.append(_name)
            return _do(self, *args)

        monkeypatch.setattr(torch.Tensor, name, method)
    return found


def test_a_window_ends_at_multiples():
    means = Means(100)
    assert means.add(log(1, loss=1.0)) == []
    assert means.add(log(100, loss=3.0)) == []
    assert means.add(log(101, loss=7.0)) == [log(100, loss=2.0)]
    # Nothing happened for a while: no rows without logs.
    assert means.add(log(1000, loss=9.0)) == [log(101, loss=7.0)]
    assert means.add(log(1000, loss=10.0)) == []
    row = means.add(log(1000, "evaluate", loss=torch.tensor(8.0)))
    assert row == [log(1000, "evaluate", loss=8.0)]  # at once
    assert means.ended() == [log(1000, loss=9.5)]
    assert means.ended() == []


def test_returns_are_means_over_episodes():
    for number in (float, torch.tensor):
        means = Means(10)
        for step, told in ((2, (10.0, 5.0, 1.0)), (4, (40.0, 9.0, 3.0))):
            names = ("episode_return", "episode_length", "episodes")
            logs = dict(zip(names, map(number, told), strict=True))
            means.add(log(step, "collect", **logs))
        wanted = {"episode_return": 32.5, "episode_length": 8.0, "episodes": 4.0}
        assert means.ended() == [log(4, "collect", **wanted)]
        means.add(log(2, "collect", episode_return=number(0.0), episodes=number(0.0)))
        assert math.isnan(means.ended()[0]["logs"]["episode_return"])


def test_zero_makes_every_log_a_row():
    means = Means(0)
    with torch.inference_mode():
        assert means.add(log(2, loss=torch.tensor(2.0))) == [log(2, loss=2.0)]
    tensor = torch.tensor(1.5, requires_grad=True)
    assert means.add(log(4, loss=tensor, kl=2)) == [log(4, loss=1.5, kl=2.0)]
    assert type(means.add(log(4, kl=2))[0]["logs"]["kl"]) is float


@pytest.fixture
def elsewhere(monkeypatch):
    """Tensors that say they lie on a device where reading them means waiting."""
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)


def test_tensors_are_not_read_before_a_row_is_due(count_reads):
    means = Means(1000)
    tensors = [torch.tensor(float(i)) for i in range(1, 201)]
    for i, loss in enumerate(tensors, 1):
        means.add(log(i, loss=loss, kl=torch.tensor(2.0)))
    assert count_reads == []
    assert means.ended() == [log(200, loss=100.5, kl=2.0)]
    assert torch.stack(tensors).equal(torch.arange(1.0, 201)), "none was summed into"


@pytest.mark.usefixtures("elsewhere")
def test_a_device_is_waited_for_once_a_row_and_metric(count_reads):
    means = Means(10**6)
    for i in range(1, 1001):
        means.add(log(i, loss=torch.tensor(float(i)), kl=torch.tensor(2.0), n=1))
    assert count_reads == []
    assert means.ended() == [log(1000, loss=500.5, kl=2.0, n=1.0)]
    assert count_reads == ["tolist"] * 2
    for i in range(1, 3001):  # more than may wait without being summed up
        means.add(log(i, loss=torch.tensor(float(i))))
    assert means.ended() == [log(3000, loss=1500.5)]
    assert count_reads == ["tolist"] * 5
    for _ in range(300):  # half precision is summed in single
        means.add(log(1, loss=torch.tensor(1.0078125, dtype=torch.bfloat16)))
    assert means.ended()[0]["logs"]["loss"] == pytest.approx(1.0078125, abs=1e-6)


def tensors_alive():
    return {id(x): x for x in gc.get_objects() if type(x) is torch.Tensor}


def test_few_tensors_are_kept_and_none_with_its_graph():
    before = tensors_alive()  # what other tests have left
    means, parameter = Means(10**6), torch.ones(3, requires_grad=True)
    tensors = []
    for i in range(3000):
        loss = (parameter * i).sum()
        detached = loss.detach()
        tensors.append(weakref.ref(detached))
        means.add(log(1, loss=loss, again=detached))
    del loss, detached
    kept = [x for name, x in tensors_alive().items() if name not in before]
    assert kept
    assert not any(tensor.grad_fn for tensor in kept)
    assert sum(reference() is not None for reference in tensors) <= 1024
    row = means.ended()[0]["logs"]
    assert row["loss"] == row["again"] == 3 * 2999 / 2


@pytest.mark.parametrize("every", [0, 10])
@pytest.mark.parametrize("value", ["low", torch.zeros(3)])
def test_what_is_not_one_number_is_refused(every, value, monkeypatch):
    for here in (True, False):
        monkeypatch.setattr(torch.Tensor, "is_cpu", here)
        means = Means(every)
        with pytest.raises(ValueError, match=r"logs\['loss'\] is not one number but"):
            means.add(log(1, loss=value)) or means.ended()
