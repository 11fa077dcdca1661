"""Seeds and the state of random generators."""

import itertools
import random

import numpy as np
import pytest
import torch

from yieldrl.core import (
    derive_seed,
    drawing_from,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.core.seeding import is_traced
from yieldrl.experiments import load_checkpoint, save_checkpoint


def draw():
    return [
        random.random(),
        random.gauss(0, 1),
        float(np.random.rand()),
        float(np.random.randn()),
        torch.rand(3).tolist(),
    ]


def test_the_same_seed_or_a_saved_state_gives_the_same_numbers(tmp_path):
    seed_everything(3)
    first = draw()
    seed_everything(3)
    assert draw() == first
    seed_everything(4)
    assert draw() != first
    seed_everything(0)
    np.random.rand(1000)  # beyond the 624 words of the Mersenne twister
    draw()  # the Gaussian generators now keep a second number ready
    path = save_checkpoint({"rng": rng_state()}, tmp_path / "rng.pt")
    expected = [draw() for _ in range(3)]
    seed_everything(99)
    draw()
    set_rng_state(load_checkpoint(path)["rng"])
    assert [draw() for _ in range(3)] == expected


def test_derived_seeds_are_apart_and_leave_room_to_count_up():
    seeds = {
        derive_seed(seed, purpose)
        for seed in (0, 1, 2, 2**31 - 1)
        for purpose in ("envs", "evaluation", "exploration", "buffer")
    }
    assert len(seeds) == 16
    ordered = sorted(seeds)
    gaps = [b - a for a, b in itertools.pairwise(ordered)]
    assert min(gaps) > 4096
    assert ordered[0] >= 0
    assert ordered[-1] < 2**30
    assert derive_seed(1, "envs") == derive_seed(1, "envs")


def test_what_draws_globally_goes_on_in_the_generator():
    generator, expected = torch.Generator().manual_seed(3), torch.Generator()
    expected.manual_seed(3)
    before = torch.get_rng_state()
    for _ in range(2):
        with drawing_from(generator):
            found = torch.rand(4)
        assert torch.equal(found, torch.rand(4, generator=expected))
    assert torch.equal(torch.get_rng_state(), before)
    # Where it is of another device, it begins anew.
    generator.manual_seed(3)
    with pytest.warns(UserWarning, match="begin anew"):
        restore_generator(generator, torch.zeros(16, dtype=torch.uint8))
    fresh = torch.rand(3, generator=generator)
    assert torch.equal(fresh, torch.rand(3, generator=torch.Generator().manual_seed(3)))


def test_a_compiler_in_another_thread_changes_nothing_here():
    """PyTorch says of all threads that they compile while one of them does."""
    context = getattr(torch.compiler, "_compile_session_context", None)
    if context is None:
        pytest.skip("PyTorch before 2.13 has no context in which it says so")
    with context():
        assert torch.compiler.is_compiling()
        assert not is_traced()
