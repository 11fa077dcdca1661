"""Devices and threads."""

import platform
import subprocess
import sys

import pytest
import torch

from yieldrl.core import device, resolve_device, set_threads


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_auto_takes_a_gpu_if_there_is_one_and_an_unusable_device_is_refused():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected
    assert resolve_device("cpu") == torch.device("cpu")
    for name in ("meta", "abacus", "", "cuda:99"):
        with pytest.raises(ValueError, match=r"device = '.*': not usable .*use 'cpu'$"):
            resolve_device(name)


@pytest.mark.parametrize(
    ("wanted", "images", "expected"),
    [(None, False, 1), (None, True, 3), (3, False, 3), (1, True, 1)],
)
@pytest.mark.usefixtures("threads")
def test_threads_are_one_for_vectors_and_half_of_the_cores_for_images(
    wanted, images, expected, monkeypatch
):
    """Whatever a run before it in this process took."""
    monkeypatch.setattr(device, "usable_cores", lambda: 6)
    set_threads(wanted, images=images)
    assert torch.get_num_threads() == expected


MEASURE = """
import ctypes, sys
from yieldrl.core import keep_freed_memory

class Used(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "b", "c", "mapped", "mapped_bytes", "d", "e", "f", "free", "top")]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Used
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "keep":
    keep_freed_memory()
before = library.mallinfo2().mapped
blocks = [library.malloc(8 << 20) for _ in range(8)]
print(library.mallinfo2().mapped - before)
for block in blocks:
    library.free(block)
print(library.mallinfo2().top >> 20)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="this C library is not glibc"
)
@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
def test_freed_memory_is_kept_for_the_next_step(keep):
    words = [sys.executable, "-c", MEASURE, "keep" if keep else "as it is"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    mapped, free = map(int, done.stdout.split())
    assert (mapped == 0) == keep
    assert (free >= 64) == keep
