"""A training starts without PyTorch's compiler front end; who compiles has it all."""

import subprocess
import sys

import pytest

BEGIN = """
import sys
import yieldrl
import torch
import tensordict
from yieldrl.algorithms import ppo

def there():
    return "torch._dynamo" in sys.modules
"""

TRAINS = """
for _ in ppo.Trainer(ppo.Config(total_steps=512, eval_every=0, device="cpu"))():
    pass
assert not there()
"""

TOLD = """
adds = torch.optim.Optimizer.add_param_group.__wrapped__
assert getattr(adds, "__dynamo_disable") is adds
assert not there()
from torch._dynamo import trace_rules
assert not hasattr(adds, "__dynamo_disable")
torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
assert getattr(adds, "__dynamo_disable") is not adds
assert tensordict.utils._lock_warn._dynamo_marked_constant
assert trace_rules.is_callable_allowed(tensordict.base._foreach_copy_compiled)
assert torch.compiler.allow_in_graph.__module__ == "torch.compiler"
"""

SAME_STEPS = """
def after_two_steps():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([parameter], lr=0.1)
    for _ in range(2):
        parameter.grad = torch.tensor([1.0, -2.0, 0.5])
        optimizer.step()
    return parameter

before = after_two_steps()
assert not there()
import torch._dynamo
assert torch.equal(before, after_two_steps())
"""

COMPILES = """
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
optimizer.param_groups[0]["params"][0].grad = torch.ones(3)
torch.compile(optimizer.step, backend="eager")()
assert there()
assert torch.allclose(optimizer.param_groups[0]["params"][0], torch.full((3,), 0.9))

@torch.compile(backend="eager", fullgraph=True)
def doubled(data):
    return tensordict.TensorDict({"x": 2 * data["x"]}, data.batch_size)

data = doubled(tensordict.TensorDict({"x": torch.ones(3)}, [3]))
assert torch.equal(data["x"], torch.full((3,), 2.0))
"""

OTHERS = """
import torch.distributed.fsdp
import torch.distributed.tensor
import torch.export
import torch.onnx
"""


def begins(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "program",
    [TRAINS, TOLD, SAME_STEPS, COMPILES, OTHERS],
    ids=["trains", "told", "same steps", "compiles", "others"],
)
def test_it_comes_when_it_is_imported_and_knows_what_was_said(program):
    done = begins(BEGIN + program)
    assert done.returncode == 0, done.stderr[-2000:]


def test_it_stays_out_of_the_way_of_who_has_it_already():
    program = (
        "import sys, torch._dynamo, torch; step = torch.optim.Adam.step;"
        " import yieldrl, tensordict; assert torch.optim.Adam.step is step;"
        " assert not any(type(f).__name__ == 'Late' for f in sys.meta_path)"
    )
    done = begins(program)
    assert done.returncode == 0, done.stderr[-2000:]
