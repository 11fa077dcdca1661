"""Every field of a config is on its algorithm's page."""

from __future__ import annotations

import dataclasses
import re

from site_logic import load

from yieldrl.algorithms import ppo_masked

hyperparameters = load("hyperparameters")


def test_all_fields_are_there_once_with_their_defaults():
    shown = hyperparameters.on_page_markdown("::: hyperparameters of ppo_masked\n")
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
    assert titles == [own, "From ppo", "Of every algorithm"]
    # One whose config is its parent's has none of its own.
    assert hyperparameters.tables("double_dqn").startswith('??? abstract "From dqn: ')
