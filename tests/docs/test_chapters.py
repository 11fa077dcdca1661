"""The course's pages: their table, their marks, and the numbers of their figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.dom import minidom

import javascript
import numpy as np
import pytest
from site_logic import DOCS, rendered

from yieldrl.docs._site import DirectiveError, course
from yieldrl.docs._site.sources import with_annotations

PAGES = sorted((DOCS / "course").glob("[0-9][0-9]-*.md"))
FRAMES = re.compile(r"^::: frames (\w+)$", re.MULTILINE)
FIGURES = [name for page in PAGES for name in FRAMES.findall(page.read_text("utf-8"))]


def shown(markdown: str, path: Path = DOCS / "course" / "index.md") -> str:
    return rendered(markdown, path.relative_to(DOCS).as_posix())


def test_the_table_links_to_the_chapters_that_there_are():
    rows = shown("::: chapters\n").splitlines()[2:]
    assert len(rows) == len(course.CHAPTERS) == 20
    linked = [row for row in rows if "](" in row]
    assert [re.search(r"\]\((.+?)\)", row)[1] for row in linked] == [
        page.name for page in PAGES
    ]
    assert all(re.search(r"\| \d+ min \|", row) for row in linked)
    assert all("not written yet" in row for row in rows if row not in linked)
    assert "`yieldrl check ch09`" in rows[8]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_chapter_has_its_title_and_a_place_in_the_navigation(page):
    number = int(page.name[:2])
    first = page.read_text("utf-8").partition("\n")[0]
    assert first == f"# {number}. {course.CHAPTERS[number - 1]}"
    assert f"course/{page.name}" in (DOCS.parent / "mkdocs.yml").read_text("utf-8")


def test_reading_time_is_that_of_prose():
    text = "---\nsearch: no\n---\n" + "word " * 400 + "\n```python\n" + "x = 1\n" * 900
    assert course.minutes(text + "```\n::: reached by ppo\n") == 2
    assert course.minutes("Hardly anything.") == 1
    assert shown("::: reading time", PAGES[0]).startswith("*")


def test_what_an_exercise_asks_for_is_read_off_its_check():
    text = shown("::: exercise ch09")
    assert text.startswith("```bash\nyieldrl check ch09\n```\n\n- With lambda = 0 ")
    assert text.count("\n- ") == 8
    with pytest.raises(DirectiveError, match="no exercise ch99"):
        shown("::: exercise ch99")


FENCE = """\
    ```python
    def f():
        \"""Says.

        More.
        \"""
        return 1
    --8<-- without docstrings
    --8<-- (1) "return"
    ```
"""


def test_marks_become_annotations_of_the_only_line_that_holds_them():
    assert with_annotations(FENCE) == (
        "    ```python\n    def f():\n        return 1  # (1)!\n    ```\n"
    )
    for text in ("nothing like it", "f"):  # on no line, and on two
        changed = FENCE.replace('"return"', f'"{text}"')
        changed = changed.replace("return 1", "if f: 1")
        with pytest.raises(DirectiveError, match=f"lines hold '{text}', expected one"):
            with_annotations(changed)


@pytest.fixture(scope="module", params=FIGURES)
def figure(request):
    return course.load(request.param)["figure"]()


def test_a_figure_has_a_frame_for_every_choice(figure):
    sizes = [len(labels) for labels in figure["controls"].values()]
    assert len(figure["frames"]) == np.prod(sizes)
    picture = minidom.parseString(f"<svg>{figure['svg']}</svg>")
    classes = [
        name
        for node in picture.getElementsByTagName("*")
        for name in node.getAttribute("class").split()
    ]
    for frame in figure["frames"]:
        assert len(frame) == len(figure["parts"])
        for (selector, _), value in zip(figure["parts"], frame, strict=True):
            count = classes.count(selector.removeprefix("."))
            assert selector == ".says" or count > 0
            assert not isinstance(value, list) or len(value) == count


def test_a_figure_is_labelled_and_stands_without_a_script():
    html = shown("::: frames gae_lambda")
    assert '<form class="controls" hidden>' in html
    assert 'role="img"' in html
    assert re.search(r'<p class="says" aria-live="polite">[^<]+</p>', html)
    ids = re.findall(r'<input type="range" id="([^"]+)"', html)
    assert ids == re.findall(r'<label for="([^"]+)"', html)
    data = json.loads(re.search(r"json\">(.*?)</script>", html)[1])
    assert set(data) == {"parts", "frames"}
    with pytest.raises(DirectiveError, match="no figure nothing"):
        shown("::: frames nothing")


STUB = """
const shown = []
const node = { setAttribute: (_, value) => shown.push(value) }
const slider = {
  matches: () => false, dataset: { labels: '["a", "b", "c"]' }, value: "2",
  setAttribute() {}, nextElementSibling: {},
}
const buttons = [{ checked: false }, { checked: true }]
const radio = { matches: () => true, querySelectorAll: () => buttons }
const form = {
  hidden: true, querySelectorAll: () => [slider, radio],
  addEventListener(name, run) { this[name] = run },
}
const frames = [0, 1, 2, 3, 4, 5].map((at) => [at])
const script = { textContent: JSON.stringify({ parts: [[".x", "cx"]], frames }) }
const figure = {
  querySelector: (name) => ({ script, form })[name], querySelectorAll: () => [node],
}
globalThis.document = {
  querySelectorAll: () => [figure], addEventListener: (_, run) => (document.run = run),
}
"""
MOVED = """
document.run()
slider.value = "1"
form.input()
buttons.reverse()
form.input()
console.log(JSON.stringify([shown, form.hidden, slider.nextElementSibling.textContent]))
"""


def test_controls_choose_the_frame_that_python_meant():
    """The last control is the fastest: index 2 of 3 and 1 of 2 is frame 5."""
    script = (DOCS / "assets" / "course" / "frames.js").read_text("utf-8")
    printed = javascript.said(["--eval", STUB + script + MOVED])
    assert json.loads(printed) == [[5, 3, 2], False, "b"]


def test_the_loop_shows_one_whole_episode_that_slips_and_arrives():
    names = course.load("agent_loop")
    played = names["episode"]()
    assert [step.obs for step in played[1:]] == [step.next_obs for step in played[:-1]]
    assert [step.reward for step in played] == [0.0] * (len(played) - 1) + [1.0]
    assert [step.terminated for step in played].index(True) == len(played) - 1
    said = [frame[-1] for frame in names["figure"]()["frames"]]
    assert "stayed" in said[0]
    assert "slipped" in said[3]
    assert "The episode is over" in said[-1]


@pytest.fixture(scope="module")
def lake():
    names = course.load("gae_lambda")
    return names["Lake"](), names["CRITICS"]


def test_lambda_one_and_an_exact_critic_have_no_bias(lake):
    lake, critics = lake
    for sweeps in critics.values():
        assert lake.moments(lake.critic(sweeps), 1.0)[0] == pytest.approx(lake.truth[0])
    for gae_lambda in (0.0, 0.5, 0.95):
        mean, _ = lake.moments(lake.critic(10_000), gae_lambda)
        assert mean == pytest.approx(lake.truth[0])


@pytest.mark.parametrize("gae_lambda", [0.0, 0.8, 1.0])
def test_the_curves_are_what_the_librarys_gae_gives_on_average(lake, gae_lambda):
    lake, critics = lake
    rng = np.random.default_rng(1)
    episodes = [lake.episode(rng) for _ in range(1500)]
    value = lake.critic(critics["young"])
    said = np.array(lake.estimates(episodes, value, gae_lambda))
    mean, std = lake.moments(value, gae_lambda)
    assert abs(said.mean() - mean) < 4 * std / 1500**0.5
    assert said.std() == pytest.approx(std, rel=0.2)  # its tails are heavy


def test_sweeps_spread_from_the_goal_and_end_in_the_values_of_the_library():
    names = course.load("value_iteration")
    lakes = {ice: names["Lake"](slips) for ice, slips in names["ICE"].items()}
    for lake in lakes.values():
        known = [int((lake.after(count)[0] > 0).sum()) for count in range(8)]
        assert known == [0, 1, 3, 5, 7, 10, 11, 11]
        last, (best, _) = lake.after(names["SWEEPS"][-1])[0], lake.best
        assert last == pytest.approx(best, abs=1e-5)
    assert lakes["slippery"].after(1)[0][14] == pytest.approx(1 / 3)
    assert lakes["firm"].after(6)[0][0] == pytest.approx(0.99**5)


def test_arrows_turn_their_back_on_the_hole():
    """And between two holes on either of them."""
    _, best = course.load("value_iteration")["Lake"](is_slippery=True).after(None)
    chosen = {state: np.flatnonzero(best[state]).tolist() for state in range(16)}
    left, down, right, up = range(4)
    away = {1: up, 3: up, 4: left, 8: up, 9: down, 10: left, 13: right}
    assert {state: chosen[state] for state in away} == {s: [a] for s, a in away.items()}
    assert chosen[6] == [left, right]


@pytest.fixture(scope="module")
def guided():
    names = course.load("regret")
    success = names["guides"]()
    played = [names["played"](success, [0.0, 1.0], end) for end in (1.0, 0.0)]
    return success, dict(zip(names["SCHEDULES"], played, strict=True))


def test_without_a_preference_regret_is_the_mean_gap(guided):
    success, regret = guided
    gap = success.max() - success.mean()
    assert regret["constant"][:, 1].mean() == pytest.approx(gap, rel=0.02)
    assert regret["falling"][500:, 1].mean() < 0.1 * gap


def test_without_exploration_a_guide_is_kept_for_the_first_success(guided):
    success, regret = guided
    kept = regret["constant"][-1, 0]
    assert (regret["constant"][50:, 0] == kept).mean() > 0.99
    share, runs = success.max() / success.sum(), kept.size
    assert abs((kept == 0).mean() - share) < 4 * (share * (1 - share) / runs) ** 0.5
