"""Names of before answer with the new ones, or stand for them."""

import importlib

import pytest
import torch

from yieldrl import foundations
from yieldrl.foundations import Ranks, spaces

MOVED = [
    ("foundations", "Border", "foundations.ObservationActionAdapter"),
    ("collectors", "observed_once", "collectors.can_share_next_obs"),
    ("on_policy", "alike", "on_policy.pad_across_ranks"),
    ("cli", "exporting", "cli.restoring"),
    ("cli", "tuned", "cli.presets"),
]


def test_an_old_name_says_the_new_one() -> None:
    for module, old, new in MOVED:
        room = importlib.import_module(f"yieldrl.{module}")
        said = rf"{module}\.{old} is yieldrl\.{new} now$"
        with pytest.raises(ImportError, match=said):
            getattr(room, old)
        owner, _, last = f"yieldrl.{new}".rpartition(".")
        if module == "cli":
            importlib.import_module(f"yieldrl.{new}")
        else:
            assert hasattr(importlib.import_module(owner), last)


def test_names_that_copied_configs_use_stand_for_the_new_ones() -> None:
    assert foundations.LARGEST == foundations.MAX_NUMBER
    assert foundations.MOST_STEPS == foundations.MAX_STEPS
    assert foundations.MOST_TRANSITIONS == foundations.MAX_TRANSITIONS
    assert spaces.ActionBorder is spaces.ActionTransform


def test_ranks_answer_to_the_names_of_before() -> None:
    alone, x = Ranks(), torch.ones(2)
    assert alone.total(x) is alone.all_reduce_sum(x) is x
    assert alone.same(3) == alone.broadcast_object(3) == 3
    assert alone.gathered(x).equal(alone.all_gather(x))
    assert alone.share(torch.nn.Linear(1, 1)) is None
