"""PPO-ROA's phases on the site, from the table that drives them."""

from __future__ import annotations

import dataclasses

import pytest
from site_logic import DOCS, rendered

from yieldrl.algorithms.ppo_roa.phases import MODULES, PHASES, Module
from yieldrl.docs._site import phases


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_for_each_module_and_two_columns_for_each_phase():
    lines = rendered("::: table phases\n").splitlines()
    assert cells(lines[0])[1:3] == ["train, acting", "train, learning"]
    assert len(lines) == 2 + len(MODULES)
    assert {len(cells(line)) for line in lines} == {1 + 2 * len(PHASES)}
    by_module = {cells(line)[0]: cells(line)[1:] for line in lines[2:]}
    assert [*by_module] == [f"`{name}`" for name in MODULES]
    assert by_module["`actor`"] == [
        *("**acts**", "**learns**: PPO"),
        *("rests", "is evaluated"),
        *("rests", "rests"),
    ]
    assert by_module["`adapt_ema`"] == [
        *("rests", "moving average"),
        *("is evaluated", "moving average"),
        *("is evaluated", "moving average"),
    ]


def test_the_table_is_that_of_the_code(monkeypatch):
    frozen = Module(rollout="forward", training="unused")
    changed = dataclasses.replace(PHASES["train"], encoder_priv=frozen)
    monkeypatch.setitem(phases.PHASES, "train", changed)
    lines = phases.table().splitlines()
    assert cells(lines[2])[:3] == ["`encoder_priv`", "is evaluated", "rests"]
    assert "encoder_priv, actor" not in rendered("::: flow of train")


def test_flow_of_the_teacher():
    assert rendered("::: flow of train") == (
        "```text\n"
        "acting\n"
        "  privileged  -> encoder_priv  -> z  --+\n"
        "                                       +--> actor --> action\n"
        "  observation -------------------------+\n"
        "  history     -> adapt_module  -> z'     noted, for the regulariser\n"
        "\n"
        "learning\n"
        "  encoder_priv, actor, critic  <-  L_PPO + w |z - sg(z')|^2\n"
        "  adapt_module                 <-  |z' - sg(z)|^2\n"
        "  actor_adapt                  <-"
        "  |actor_adapt(o, sg(z')) - sg(actor(o, z))|^2\n"
        "  adapt_ema                    <-"
        "  moved towards adapt_module, after each rollout\n"
        "```"
    )


def test_flow_of_the_student():
    shown = rendered("::: flow of finetune")
    assert "  history     -> adapt_ema     -> z' --+\n" in shown
    assert "+--> actor_adapt --> action" in shown
    assert "  actor_adapt, critic  <-  L_PPO\n" in shown
    assert "privileged" not in shown
    assert "imitat" not in shown
    assert "|actor_adapt" in rendered("::: flow of adapt")


@pytest.mark.parametrize("other", ["::: table phasess", "::: flow of holidays"])
def test_what_nobody_asked_for_is_left(other):
    assert rendered(other) == other


def test_drawings_fit_a_page():
    for name in PHASES:
        lines = phases.flow(name).splitlines()
        assert max(map(len, lines)) <= 84


def test_the_site_uses_it():
    config = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    assert config.count("  - docs/hooks.py ") == 1
    assert "exclude_docs: |\n  *.py\n" in config
