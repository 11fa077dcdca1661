"""What an algorithm's folder changes, as the site shows it."""

from __future__ import annotations

import re

import pytest
from site_logic import rendered

from yieldrl.cli import catalog
from yieldrl.docs._site import DirectiveError, diffs

VARIANTS = [member for member in catalog.members() if member.parents]


def lines(algorithm: str, *names: str) -> list[str]:
    return diffs.shown(algorithm, " ".join(names)).splitlines()


def test_what_is_overridden_stands_below_what_it_was():
    assert rendered("    ::: difference of double_dqn\n") == (
        '    ```diff title="algorithms/double_dqn"\n'
        "     class Algorithm(dqn.Algorithm):\n"
        "         def next_action("
        "self, data: TensorDict, target_q_value: Tensor) -> Tensor:\n"
        "    -        return target_q_value.argmax(1)\n"
        '    +        return self.model.value(data["next_obs"]).argmax(1)\n'
        "\n"
        "     class Trainer(dqn.Trainer):\n"
        "    -    algorithm_class = dqn.Algorithm\n"
        "    +    algorithm_class = double_dqn.Algorithm\n"
        "    ```\n"
    )


def test_what_calls_its_parent_is_an_addition():
    weigh = [line for line in lines("prioritized_dqn", "Algorithm") if "weigh(" in line]
    assert len(weigh) == 2
    assert all(line.startswith("+") for line in weigh)


def test_the_nearest_of_several_parents_is_what_is_compared():
    shown = lines("rainbow", "Algorithm")
    head = "double_dqn.Algorithm, prioritized_dqn.Algorithm, c51.Algorithm"
    assert shown[1] == f" class Algorithm({head}):"
    assert shown[3:5] == [
        '-        return elements["td_error"]',
        '+        return elements["kl"]',
    ]


def test_a_page_may_ask_for_some_names():
    shown = lines("c51", "of_action", "Trainer")
    assert shown[1].startswith("+def of_action(values")
    assert " class Trainer(dqn.Trainer):" in shown
    assert "+    v_min: float = 0.0" not in shown
    for algorithm, name in (("c51", "Agent"), ("dqn", "project")):
        with pytest.raises(DirectiveError, match=f"{algorithm} changes no {name}"):
            lines(algorithm, name)


@pytest.mark.parametrize("member", VARIANTS, ids=lambda member: member.name)
def test_nothing_is_left_out_but_checks_and_nothing_is_made_up(member):
    shown = "\n".join(diffs.difference(member.name).values())
    home = catalog.folder(member.name)
    files = [home / f"{name}.py" for name in diffs.FILES]
    source = "".join(path.read_text("utf-8") for path in files if path.exists())
    names = set(re.findall(r"def (\w+)\(", source)) - {"__post_init__"}
    assert set(re.findall(r"^[+ ] *def (\w+)\(", shown, re.MULTILINE)) == names
    for line in re.findall(r"^\+(.+)$", shown, re.MULTILINE):
        assert "_class = " in line or f"{line}\n" in source
