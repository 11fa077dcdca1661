"""Two processes that learn together, with each engine, beside one that learns alone."""

import copy
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from engine_cases import ENGINES, THERE, bias
from tensordict import TensorDict
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from two_losses import Adapted, Missing, Two, adapted_curve, batches, curve

from yieldrl.core import ranks
from yieldrl.distributed.engines import base, make_engine
from yieldrl.distributed.engines.deepspeed import ZeroOptimizer, import_deepspeed
from yieldrl.distributed.engines.fsdp2 import left_whole

TESTS = Path(__file__).parents[2]
TYPES = {
    "ddp": ["DDPEngine", "DistributedDataParallel"],
    "fsdp2": ["FSDP2Engine", "FSDPLossModule"],
    "zero0": ["DeepSpeedEngine", "DeepSpeedEngine", "SGD", 0],
    "zero1": ["DeepSpeedEngine", "DeepSpeedEngine", "DeepSpeedZeroOptimizer", 1],
    "zero2": ["DeepSpeedEngine", "DeepSpeedEngine", "DeepSpeedZeroOptimizer", 2],
    "zero3": ["DeepSpeedEngine", "DeepSpeedEngine", "DeepSpeedZeroOptimizer_Stage3", 3],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where both processes wrote down what happened."""
    folder = tmp_path_factory.mktemp("engines")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    found = subprocess.run(
        [*command, "--nproc-per-node", "2", TESTS / "engine_cases.py", folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return folder


def written(folder, name):
    """What happened in both processes with an engine."""
    files = [folder / f"{name}_{rank}.pt" for rank in (0, 1)]
    return [torch.load(file, weights_only=False) for file in files]


@pytest.fixture(scope="module", params=ENGINES)
def name(request):
    if request.param not in THERE:
        pytest.skip("DeepSpeed is not installed: pip install 'yieldrl[deepspeed]'")
    return request.param


@pytest.fixture(scope="module")
def both(name, folder):
    return written(folder, name)


def flat(value, name=""):
    """The leaves of nested containers by their paths."""
    if not isinstance(value, dict | list | tuple):
        return {name: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    parts = [flat(part, f"{name}/{key}") for key, part in pairs]
    return {key: leaf for part in parts for key, leaf in part.items()}


def alike(one, other, equal):
    """Whether nested containers have the same leaves."""
    one, other = flat(one), flat(other)
    assert one.keys() == other.keys()
    return all(
        equal(torch.as_tensor(x), torch.as_tensor(other[name]))
        if isinstance(x, torch.Tensor | float | int)
        else x == other[name]
        for name, x in one.items()
    )


def same(one, other):
    """Bit by bit."""
    return alike(one, other, torch.equal)


def close(one, other, atol=5e-5):
    """To four decimals."""
    return alike(one, other, lambda x, y: torch.allclose(x, y, rtol=0, atol=atol))


@pytest.mark.slow
class TestEach:
    def test_a_step_and_the_losses_are_those_of_one_process(self, both, name):
        """Of four losses by SGD, in three parts of the 6 and 4 rows; then with rates
        of their own for groups, which fall, and limits of norms."""
        assert [one["two"]["types"] for one in both] == [TYPES[name]] * 2
        plain, data = Two(torch.optim.SGD, bias(name)), next(batches())
        plain.learn(data)
        for one in both:
            assert close(one["two"]["gradients"], plain.model.state_dict(), 1e-5)
        errors = torch.cat([one["two"]["error"] for one in both])
        assert torch.allclose(errors, data["error"])
        plain = Two(bias=bias(name))
        alone = curve(plain)
        for one in both:
            assert close(one["two"]["curve"], alone)
            assert close(one["two"]["state"], plain.state_dict())

    def test_a_state_is_whole_and_loads_into_a_plain_run_and_the_engine(
        self, both, name
    ):
        one, other = (found["two"] for found in both)
        assert same(one["state"], other["state"])
        assert same(one["state"]["model"], one["whole"])
        plain = Two(bias=bias(name))
        plain.load_state_dict(copy.deepcopy(one["state"]))
        assert same(plain.state_dict(), one["state"])
        assert close(curve(plain), one["on"])
        for found in (one, other):
            assert same(found["loaded"], found["state"])
            assert same(found["other"], found["on"])

    def test_what_is_frozen_later_stays_or_is_refused(self, both, name):
        refused = "what requires gradients has changed"
        for found in (one["two"]["freezing"] for one in both):
            if name in ("ddp", "fsdp2"):
                assert found == ["critic.bias"]
            else:
                assert refused in found

    def test_losses_that_miss_parameters_give_the_numbers_of_one_process(
        self, both, name
    ):
        """Or are refused, where zeros for gradients would give others."""
        plain = Missing(bias=bias(name))
        alone = curve(plain)
        for found in (one["two"]["missing"] for one in both):
            if name in ("ddp", "fsdp2"):
                assert close(found[0], alone)
                assert close(found[1], plain.model.state_dict())
            else:
                assert "not every loss of an optimizer depends on log_std," in found

    def test_adapters_are_trained(self, both):
        plain = Adapted()
        alone = adapted_curve(plain)
        for one in both:
            assert close(one["adapted"]["curve"], alone)
            assert close(one["adapted"]["state"], plain.state_dict(), 1e-3)

    def test_an_algorithm_learns_as_without_an_engine(self, both, folder):
        """PPO's running statistics move, and it prepares advantages; SAC's actor learns
        through its critics, and their targets follow."""
        for algorithm in ("ppo", "sac"):
            one, other = (found[algorithm] for found in both)
            assert same(one, other)
            assert close(one, written(folder, "none")[0][algorithm], 1e-4)


@pytest.mark.slow
def test_fsdp2_keeps_a_half_of_each_block(folder):
    for one in written(folder, "fsdp2"):
        assert one["adapted"]["blocks"] == 2
        assert one["adapted"]["share"] == pytest.approx(0.5, abs=0.01)


def test_what_cannot_be_shared_stays_whole():
    sizes = {"most": (3, 4), "number": (), "other": (2, 2), "frozen": (9, 9)}
    made = {name: nn.Parameter(torch.zeros(size)) for name, size in sizes.items()}
    for name in ("other", "frozen"):
        made[name].data = made[name].data.bfloat16()
    made["frozen"].requires_grad_(False)
    assert left_whole(made.values()) == {made["number"], made["other"]}


def test_what_zero_does_not_train_is_refused():
    for kind, shape, said in (
        (torch.bfloat16, (3,), r"trains float32 alone, .*torch.bfloat16, torch"),
        (torch.float32, (), r"takes no parameter of shape \(\) beside others"),
    ):
        whole = nn.Parameter(torch.zeros(shape, dtype=kind))
        optimizer = torch.optim.SGD([whole, nn.Parameter(torch.zeros(2))])
        with pytest.raises(ValueError, match=said):
            ZeroOptimizer(None, optimizer, 3)


def test_a_gradient_weighs_a_process_by_its_samples(monkeypatch):
    """Of two with 6 and 4 rows: engines take means over processes, and 6 of 10 rows
    are to count 6 / 10."""

    class Alone:
        def all_gather(self, sizes):
            return torch.tensor([[6, 1], [4, 1]])

        def broadcast_module(self, module):
            pass

    class Scaled(base.Engine):
        def backward(self, optimizer, compute, scale, last):
            loss, logs = compute()
            (loss * scale).backward()
            return logs

    monkeypatch.setattr(base, "ranks", Alone)
    algorithm = Two(torch.optim.SGD)
    before = algorithm.number.number.item()
    data = TensorDict({"y": torch.full((6,), 0.25)}, [6])
    loss, optimizer = algorithm.number_loss, algorithm.number_optimizer
    Scaled(None, algorithm).gradient_step(loss, data, optimizer, None)
    after = algorithm.number.number.item()
    assert before - after == pytest.approx(0.25 * 6 / 10 * 2)


@pytest.fixture
def group_of_one():
    """This process alone; it was its only one before, and is so afterwards."""
    assert ranks().count == 1
    distributed.init_process_group(
        "gloo", store=distributed.HashStore(), rank=0, world_size=1
    )
    yield
    distributed.destroy_process_group()


@pytest.mark.usefixtures("group_of_one")
def test_alone_an_engine_takes_the_steps_that_are_taken_without():
    """Also where what is trained changes in between, and in parts."""
    plain, other = Two(), Two()
    make_engine(SimpleNamespace(engine="ddp"), other)
    for trained, parts in ((True, None), (False, 3)):
        for algorithm in (plain, other):
            algorithm.model.log_std.requires_grad_(trained)
        assert close(curve(other, parts=parts), curve(plain, parts=parts))
    assert close(other.state_dict(), plain.state_dict())


@pytest.mark.usefixtures("group_of_one")
@pytest.mark.parametrize("limit", [2.5, float("inf")])
def test_shares_of_gradients_are_clipped_as_a_whole(limit):
    """Of norm 5 are a gradient that is shared and one that is not."""
    mesh = init_device_mesh("cpu", (1,))
    shared = distribute_tensor(torch.tensor([3.0, 0.0]), mesh, [Shard(0)])
    rest = torch.tensor([4.0])
    assert base.clip([shared, rest], limit).item() == pytest.approx(5)
    scale = min(1, limit / 5)
    assert shared.to_local().tolist() == pytest.approx([3 * scale, 0])
    assert rest.item() == pytest.approx(4 * scale)


def test_a_missing_deepspeed_is_one_sentence(monkeypatch):
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[deepspeed\]'$"):
        import_deepspeed("cpu")
