"""Fixtures that every room's tests may use."""

import signal

import pytest
import torch

from yieldrl.foundations import Config


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Narrow networks are fastest, and results the same everywhere, on one thread."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """A shell starts a job in the background deaf to Ctrl-C, which tests press."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def config():
    """The fields that every algorithm shares, at their defaults."""
    return Config()
