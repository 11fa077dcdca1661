"""Every field of a config is on its algorithm's page."""

from __future__ import annotations

import dataclasses
import re

import pytest
from site_logic import rendered

from yieldrl.algorithms import ppo_masked
from yieldrl.docs._site import DirectiveError, hyperparameters


def test_all_fields_are_there_once_with_their_defaults():
    shown = rendered("::: hyperparameters of ppo_masked\n")
    rows = dict(re.findall(r"^    \| `(\w+)` \| `(.*?)` \|", shown, re.MULTILINE))
    fields = dataclasses.fields(ppo_masked.Config)
    assert sorted(rows) == sorted(field.name for field in fields)
    assert shown.count("    | `env_id` |") == 1
    assert rows["env_id"] == "'Taxi-v4'"
    assert rows["total_steps"] == "200_000"
    assert rows["env_kwargs"] == "{}"
    assert "Discount of future rewards" in shown


def test_own_fields_come_first_and_everybodys_last():
    shown = hyperparameters.tables("ppo_masked")
    titles = re.findall(r'^\?\?\? abstract "(.*): \d+ field', shown, re.MULTILINE)
    own = "Its own, or with a default of its own"
    shared = "Of every algorithm on rollouts", "Of every actor with a critic"
    places = "Of collecting, and of processes on Ray"
    assert titles == [own, "From ppo", *shared, "Of every algorithm", places]
    # One whose config is its parent's has none of its own.
    assert hyperparameters.tables("double_dqn").startswith('??? abstract "From dqn: ')


def test_a_page_may_ask_for_some_fields_in_its_order():
    shown = rendered("::: fields of dqn: tau gamma\n")
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| .{20,} \|$", shown, re.MULTILINE)
    assert rows == [("tau", "0.005"), ("gamma", "0.99")]
    with pytest.raises(DirectiveError, match="algorithms/dqn has no field lambda"):
        rendered("::: fields of dqn: gamma lambda\n")
