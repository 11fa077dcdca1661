"""A training starts without PyTorch's compiler front end, which is there when asked."""

import subprocess
import sys

import pytest

COMES = """
import sys
import yieldrl
import torch

def there():
    return not isinstance(sys.modules["torch._dynamo"], yieldrl.late_dynamo.Late)
"""

TRAINS = """
from yieldrl.algorithms import ppo
for _ in ppo.Trainer(ppo.Config(total_steps=512, eval_every=0, device="cpu"))():
    pass
assert not there()
"""

ASKED = """
import inspect
import torch._dynamo
late = torch._dynamo
inspect.getmodule(inspect.currentframe())  # looks at every module
assert not there()
late.config.cache_size_limit
assert there() and late.config is torch._dynamo.config
assert torch._dynamo is sys.modules["torch._dynamo"]
assert late.reset is torch._dynamo.reset
"""

TOLD = """
import tensordict
optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
wrapped = torch.optim.Optimizer.add_param_group.__wrapped__
assert getattr(wrapped, "__dynamo_disable") is wrapped
assert not there()
from torch._dynamo import trace_rules
assert there()
assert getattr(wrapped, "__dynamo_disable") is not wrapped
assert tensordict.utils._lock_warn._dynamo_marked_constant
assert trace_rules.is_callable_allowed(tensordict.base._foreach_copy_compiled)
"""

COMPILES = """
from tensordict import TensorDict

@torch.compile(backend="eager", fullgraph=True)
def doubled(data):
    return TensorDict({"x": 2 * data["x"]}, data.batch_size)

data = doubled(TensorDict({"x": torch.ones(3)}, [3]))
assert torch.equal(data["x"], torch.full((3,), 2.0))
assert there()
"""

DISABLED = """
@torch.compiler.disable
def plain(x):
    return torch.compiler.is_compiling()

@torch.compile(backend="eager")
def asks(x):
    return plain(x), torch.compiler.is_compiling()

assert asks(torch.ones(1)) == (False, True)
"""


@pytest.mark.parametrize(
    "program",
    [TRAINS, ASKED, TOLD, COMPILES, DISABLED],
    ids=["trains", "asked", "told", "compiles", "disabled"],
)
def test_it_comes_when_it_is_asked_and_knows_what_was_said(program):
    done = subprocess.run(
        [sys.executable, "-c", COMES + program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_it_stays_out_of_the_way_of_who_has_it_already():
    program = (
        "import torch._dynamo; real = torch._dynamo; import yieldrl;"
        " import torch._dynamo; assert torch._dynamo is real"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
