"""The page of the family tree says what the folders are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from site_logic import DOCS

from yieldrl.cli import catalog
from yieldrl.docs._site import family_drawing as drawn
from yieldrl.docs._site import family_tree as tree

ROWS = catalog.tree()
DRAWN, WRITTEN = drawn.drawing(), tree.members()
PAGE = (DOCS / "algorithms" / "family-tree.md").read_text("utf-8")


@pytest.fixture(scope="module")
def links():
    """Name of an algorithm -> its link in the drawing."""
    found = ElementTree.fromstring(DRAWN).iter("a")
    return {link.attrib["href"].removeprefix("#"): link for link in found}


def bar(link):
    return next(
        r for r in link.iter("rect") if r.get("class") in ("root", "difference")
    )


def test_every_algorithm_is_a_link_to_its_section_in_the_order_of_the_tree(links):
    names = [member.name for _, member in ROWS]
    assert list(links) == names
    assert re.findall(r"^### (\w+) \{ #\1 \}$", WRITTEN, re.MULTILINE) == names
    for name, link in links.items():
        said = link.attrib["aria-label"]
        assert said.startswith(f"{name}, {family_of(name).lines} lines")
        text = "".join(link.itertext())
        assert text == f"{name}{family_of(name).lines}"


def family_of(name):
    return next(member for _, member in ROWS if member.name == name)


def test_boxes_and_bars_are_what_folders_define(links):
    longest = max(member.lines for _, member in ROWS)
    for depth, member in ROWS:
        link = links[member.name]
        kinds = [rect.get("class") for rect in link.iter("rect")]
        boxes = [kind for kind in kinds if kind in ("own", "inherited")]
        own = [c for c, kind in zip(drawn.CLASSES, boxes, strict=True) if kind == "own"]
        assert sorted(own) == sorted(member.changed)
        assert bar(link).get("class") == ("difference" if member.parents else "root")
        length = int(bar(link).attrib["width"])
        assert length == pytest.approx(drawn.LONGEST * member.lines / longest, abs=2)
        assert float(link.find("text").attrib["x"]) == depth * drawn.STEP


def test_a_line_leads_from_each_parent():
    near = sum(bool(member.parents) for _, member in ROWS)
    all_of_them = sum(len(member.parents) for _, member in ROWS)
    assert DRAWN.count('class="branch"') == near
    assert DRAWN.count('class="further"') == all_of_them - near == 4  # Rainbow's


def section(name):
    return re.split(r"^### ", WRITTEN.partition(f"### {name} ")[2], flags=re.M)[0]


def test_a_section_has_paper_parent_difference_and_curve():
    shown = section("rainbow")
    assert "[arXiv:1710.02298](https://arxiv.org/abs/1710.02298)" in shown
    assert f"**{family_of('rainbow').lines} lines** on top of [double_dqn]" in shown
    assert "\n    ::: difference of rainbow\n" in shown
    assert "(../results/rainbow-parts.svg)" in shown  # beside its parents
    root = section("ddpg")
    assert "A root: " in root
    assert "difference" not in root
    assert "its `Model` is that of [ppo](#ppo)" in section("behavior_cloning")
    two = section("sac")
    assert "abs/1801.01290) and [arXiv:1812.05905]" in two


def test_a_curve_stands_beside_a_reference_before_a_parent():
    assert "PPO of Stable-Baselines3 on CartPole-v1" in section("ppo")
    assert "results/sac-halfcheetah.svg" in section("sac")
    assert "results/cartpole-values.svg" in section("double_dqn")
    assert "results/reinforce-cartpole.svg" in section("reinforce")
    assert "No task was set for it; [its page](ppo_roa.md)" in section("ppo_roa")


def test_what_the_page_says_in_words_is_so():
    assert "One bar is long although its idea is short" in PAGE
    children = sorted((m.lines, m.name) for _, m in ROWS if m.parents)
    assert children[-1][1] == "ppo_roa"
    assert children[-2][0] < 0.5 * children[-1][0]
    assert family_of("sac").parents == family_of("a2c").parents == ()
    assert family_of("dueling_dqn").changed == ("Model", "Trainer")
    assert "Algorithm" not in family_of("n_step_dqn").changed
