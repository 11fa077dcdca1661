"""WindowedMeans: what is averaged, how it is weighed, when it is read."""

import gc
import math
import weakref
from typing import Any

import pytest
import torch

from yieldrl.loggers.windowed_means import WindowedMeans


def log(step: int, log_type: str = "train", **logs: Any) -> Any:
    return {
        "log_type": log_type,
        "sample_step": step,
        "learn_step": step // 2,
        "logs": logs,
    }


@pytest.fixture
def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tensor methods that made the program wait for a value."""
    found: list[str] = []
    for name in ("__float__", "__bool__", "__int__", "item", "tolist", "cpu", "numpy"):
        original = getattr(torch.Tensor, name)

        def method(
            self: Any, *args: Any, _name: str = name, _do: Any = original
        ) -> Any:
            found.append(_name)
            return _do(self, *args)

        monkeypatch.setattr(torch.Tensor, name, method)
    return found


def test_a_window_ends_at_multiples() -> None:
    means = WindowedMeans(100)
    assert means.add(log(1, loss=1.0)) == []
    assert means.add(log(100, loss=3.0)) == []
    assert means.add(log(101, loss=7.0)) == [log(100, loss=2.0)]
    # Nothing happened for a while: no rows without logs.
    assert means.add(log(1000, loss=9.0)) == [log(101, loss=7.0)]
    assert means.add(log(1000, loss=10.0)) == []
    assert means.flush() == [log(1000, loss=9.5)]
    assert means.flush() == []


def test_returns_are_means_over_episodes() -> None:
    for number in (float, torch.tensor):
        means = WindowedMeans(10)
        for step, told in ((2, (10.0, 5.0, 1.0)), (4, (40.0, 9.0, 3.0))):
            names = ("episode_return", "episode_length", "episodes")
            logs = dict(zip(names, map(number, told), strict=True))
            means.add(log(step, "collect", **logs))
        wanted = {"episode_return": 32.5, "episode_length": 8.0, "episodes": 4.0}
        assert means.flush() == [log(4, "collect", **wanted)]


def test_no_episodes_have_no_mean() -> None:
    means = WindowedMeans(10)
    means.add(log(2, "collect", episode_return=0.0, episodes=0.0))
    assert math.isnan(means.flush()[0]["logs"]["episode_return"])


def test_evaluations_are_rows_at_once() -> None:
    means = WindowedMeans(100)
    rows = means.add(log(4, "evaluate", episode_return=torch.tensor(8.0), episodes=2))
    assert rows == [log(4, "evaluate", episode_return=8.0, episodes=2.0)]
    assert means.flush() == []


def test_zero_makes_every_log_a_row() -> None:
    means = WindowedMeans(0)
    tensor = torch.tensor(1.5, requires_grad=True)
    assert means.add(log(4, loss=tensor, kl=2)) == [log(4, loss=1.5, kl=2.0)]
    assert type(means.add(log(4, kl=2))[0]["logs"]["kl"]) is float


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that say they lie on a device where reading them means waiting."""
    monkeypatch.setattr(torch.Tensor, "is_cpu", False)


def test_tensors_are_not_read_before_a_row_is_due(count_reads: list[str]) -> None:
    means = WindowedMeans(1000)
    for i in range(1, 201):
        means.add(log(i, loss=torch.tensor(float(i)), kl=torch.tensor(2.0)))
    assert count_reads == []
    assert means.flush() == [log(200, loss=100.5, kl=2.0)]


@pytest.mark.usefixtures("elsewhere")
def test_a_device_is_waited_for_once_a_row(count_reads: list[str]) -> None:
    means = WindowedMeans(10**6)
    for i in range(1, 3001):  # more than may wait without being summed up
        means.add(log(i, loss=torch.tensor(float(i)), kl=torch.tensor(2.0), n=1))
    assert count_reads == []
    assert means.flush() == [log(3000, loss=1500.5, kl=2.0, n=1.0)]
    assert count_reads == ["tolist"]


def tensors_alive() -> dict[int, torch.Tensor]:
    return {id(x): x for x in gc.get_objects() if type(x) is torch.Tensor}


def test_few_tensors_are_kept_and_none_with_its_graph() -> None:
    before = tensors_alive()  # what other tests have left
    means, parameter = WindowedMeans(10**6), torch.ones(3, requires_grad=True)
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
    row = means.flush()[0]["logs"]
    assert row["loss"] == row["again"] == 3 * 2999 / 2


def test_the_logs_themselves_are_not_changed() -> None:
    means, first = WindowedMeans(10), torch.tensor(1.0)
    with torch.inference_mode():
        second = torch.tensor(2.0)
    means.add(log(1, loss=first))
    means.add(log(1, loss=second))
    assert means.flush()[0]["logs"]["loss"] == 1.5
    assert (float(first), float(second)) == (1.0, 2.0)


@pytest.mark.usefixtures("elsewhere")
def test_half_precision_is_summed_in_single() -> None:
    means = WindowedMeans(1000)
    for _ in range(300):
        means.add(log(1, loss=torch.tensor(1.0078125, dtype=torch.bfloat16)))
    assert means.flush()[0]["logs"]["loss"] == pytest.approx(1.0078125, abs=1e-6)


@pytest.mark.parametrize("every", [0, 10])
@pytest.mark.parametrize("value", ["low", torch.zeros(3)])
def test_what_is_not_one_number_is_refused(
    every: int, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for here in (True, False):
        monkeypatch.setattr(torch.Tensor, "is_cpu", here)
        means = WindowedMeans(every)
        with pytest.raises(ValueError, match=r"logs\['loss'\] is not one number but"):
            means.add(log(1, loss=value)) or means.flush()
