"""A second device on a machine without a GPU, which refuses to mix and counts waits.

Tensors of `DEVICE` live in the CPU's memory and say that they do not: `SimTensor`, of
PyTorch's backend for others (PrivateUse1). As on a GPU an operation of tensors of both
is an error, but for 0-dim ones and copies; what a GPU would be waited for is noted in
`WAITS`, with the function of the package that asked. The backend is PyTorch's from then
on, so that all this is for a process of its own.
"""

import sys
from collections import Counter
from pathlib import Path

import torch
from torch.utils import _pytree as pytree
from torch.utils import backend_registration
from torch.utils._mode_utils import no_dispatch

backend_registration._setup_privateuseone_for_python_backend("sim")

DEVICE = torch.device("sim", 0)
WAITS: list[str] = []
ROOT = Path(__file__).resolve().parents[2]
ASKING = (
    "_local_scalar_dense",
    "nonzero",
    "masked_select",
    "unique",
    "equal",
    "bincount",
)


class SimTensor(torch.Tensor):
    """A tensor that says it is on the simulated device; `raw` holds its numbers."""

    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw):
        layout = {"strides": raw.stride(), "storage_offset": raw.storage_offset()}
        made = torch.Tensor._make_wrapper_subclass(
            cls, raw.size(), dtype=raw.dtype, device=DEVICE, **layout
        )
        made.raw = raw
        return made

    def __reduce_ex__(self, protocol):
        """Checkpoints hold plain tensors, as those of a GPU are loaded to the CPU."""
        return self.raw.__reduce_ex__(protocol)

    def tolist(self):
        wait("tolist")
        return self.raw.tolist()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        name, kwargs = function.__name__, dict(kwargs or {})
        inputs = pytree.tree_leaves((args, kwargs))
        tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
        places = [x for x in inputs if isinstance(x, torch.device)]
        stays = all(place == DEVICE for place in places)
        others = [x for x in tensors if not isinstance(x, cls) and x.dim() > 0]
        if others and not places and not name.startswith("copy_"):
            raise RuntimeError(f"Expected all tensors on one device, in {name}")
        reads = not stays and not name.startswith("new_empty")
        if reads or name.startswith(ASKING) or _by_mask(name, args):
            wait(name)
        if torch.Tag.inplace_view in function.tags:  # the tensor itself has new sizes
            with no_dispatch():
                function(*args, **kwargs)
        if name.startswith("copy_") and len({*map(type, args[:2])}) > 1:
            into = isinstance(args[0], cls)
            COPIES["there" if into else "back"] += 1
            if not into or not (kwargs.get("non_blocking") or True in args[2:]):
                wait(name)
        args, kwargs = pytree.tree_map(_bare, (args, kwargs))
        kwargs.pop("pin_memory", None)
        result = launch(function, args, kwargs)
        if not stays:
            COPIES["back"] += reads
            return result
        own = [x for x in tensors if isinstance(x, cls)]
        return pytree.tree_map(lambda x: _wrapped(x, own), result)


def _by_mask(name, args):
    """Whether entries are chosen by a mask: how many there are is a GPU's to say."""
    if not name.startswith(("index.", "index_put")):
        return False
    masks = torch.bool, torch.uint8
    return any(x is not None and x.dtype in masks for x in args[1])


def _bare(x):
    if isinstance(x, torch.device):
        return torch.device("cpu")
    return x.raw if isinstance(x, SimTensor) else x


def _wrapped(result, inputs):
    """The same object for what was written in place; a view is as its base is."""
    if type(result) is not torch.Tensor:
        return result
    for x in inputs:
        if x.raw is result:
            if x.shape != result.shape:  # a wrapper keeps its sizes: give it a kernel
                raise NotImplementedError(f"{x.shape} became {result.shape} in place")
            return x
        if x.raw.untyped_storage()._cdata == result.untyped_storage()._cdata:
            with torch.inference_mode(x.is_inference()):
                return SimTensor(result)
    return SimTensor(result)


COPIES = Counter()  # to the device and back
GRAPHS = []
"""What records the operations: none, or one `simulated.graphs.Graph`."""


def launch(function, args, kwargs):
    """Run an operation on plain tensors; or record it too."""
    if not GRAPHS:
        return function(*args, **kwargs)
    return GRAPHS[0].launch(function, args, kwargs)


def wait(name):
    """Note that the host waits here, and which line of the package asked for it."""
    if GRAPHS:
        raise RuntimeError(f"{name}: not permitted when stream is capturing")
    frame = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        inside = path.is_relative_to(ROOT) and "site-packages" not in path.parts
        if inside and not path.is_relative_to(ROOT / "tests"):
            place = f"{path.relative_to(ROOT).as_posix()}:{frame.f_code.co_name}"
            WAITS.append(f"{name.partition('.')[0]} in {place}")
            return
        frame = frame.f_back


class SimGenerator(torch.Generator):
    """A generator that says it is on a device, and draws on the CPU."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls)

    def __init__(self, device="cpu"):
        self._place = torch.device(device)

    @property
    def device(self):
        return self._place


_kernels = torch.library.Library("aten", "IMPL")


def _empty(size, dtype=None, memory_format=None, **_):
    return SimTensor(torch.empty(size, dtype=dtype, memory_format=memory_format))


def _empty_strided(size, stride, dtype=None, **_):
    return SimTensor(torch.empty_strided(size, stride, dtype=dtype))


def _arange(*bounds, dtype=None, **_):
    return SimTensor(torch.arange(*bounds, dtype=dtype))


def _randperm(n, generator=None, dtype=torch.int64, **_):
    return SimTensor(torch.randperm(n, generator=generator, dtype=dtype))


def _gru_cell(inputs, hidden, w_ih, w_hh, b_ih=None, b_hh=None):
    """PyTorch's formula, which on devices other than a CPU is one fused kernel."""
    given = torch.nn.functional.linear(inputs, w_ih, b_ih).chunk(3, -1)
    kept = torch.nn.functional.linear(hidden, w_hh, b_hh).chunk(3, -1)
    reset, update = (given[0] + kept[0]).sigmoid(), (given[1] + kept[1]).sigmoid()
    new = (given[2] + reset * kept[2]).tanh()
    return new + update * (hidden - new)


def _copy_from(source, target, non_blocking=False):
    if not isinstance(target, SimTensor) or not non_blocking:
        wait("copy")
    COPIES["there" if isinstance(target, SimTensor) else "back"] += 1
    launch(torch.Tensor.copy_, (_bare(target), _bare(source)), {})
    return target


_kernels.impl("empty.memory_format", _empty, "PrivateUse1")
_kernels.impl("empty_strided", _empty_strided, "PrivateUse1")
for _name in "arange", "arange.start", "arange.start_step":
    _kernels.impl(_name, _arange, "PrivateUse1")
_kernels.impl("randperm.generator", _randperm, "PrivateUse1")
_kernels.impl("gru_cell", _gru_cell, "AutogradPrivateUse1")
_kernels.impl("_copy_from", _copy_from, "PrivateUse1")
torch.sim.synchronize = lambda *_: None
torch.Generator = SimGenerator
