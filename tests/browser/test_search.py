"""The search gives a beginner the explanation first, and the reference later."""

import json
import re
from pathlib import Path

import built_site
import pytest

pytestmark = pytest.mark.slow

ANSWERS = {
    "hyperparameters": ("course/glossary/#hyperparameters", "tuning/"),
    "what is a policy": ("course/glossary/",),
    "resume training": ("course/glossary/#resume", "runs/#checkpoints"),
    "install": ("install/",),
    "GPU": ("install/#a-gpu", "gpu/"),
    "GAE": ("course/glossary/#gae",),
    "video": ("loggers/#videos-of-the-agent", "faq/#how-do-i-make-a-video"),
    "my agent does not learn": ("faq/#my-agent-does-not-learn", "your-environment/"),
    "custom network": ("faq/#how-do-i-use-a-custom-network",),
    "reward scaling": ("faq/#reward-scaling",),
    "continuous actions": ("faq/#which-algorithm", "which-algorithm/", "algorithms/"),
    "own environment": ("your-environment/",),
    "save a model": ("faq/#how-do-i-save-a-model", "runs/"),
    "RLOO": ("algorithms/grpo/#rloo",),
    "how to cite": ("changelog/#how-to-cite",),
}
"""What a beginner types, and where the first answer may lead."""

GLOSSARY = Path(__file__).parents[2] / "docs" / "course" / "glossary.md"
HEADINGS = re.findall(r"^## ([\w-]+)$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
WORDS = [*HEADINGS[::9], "Policy", "Reward"]
"""Words of the course, which the glossary explains in a few lines."""

META = "document.querySelector('.md-search-result__meta').textContent"
FOUND = """
() => [...document.querySelectorAll(".md-search-result__item")].slice(0, 5).map(
  (item) => [...item.querySelectorAll("a")].slice(0, 2).map((link) => link.href))
"""


@pytest.fixture(scope="module")
def ask(browser, address):
    """Types into the search of the home page; gives the addresses of what it finds.

    Each answer is a list: a page, and the place in it that fits best.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)  # the index is made from all texts of the site
    page.goto(address)
    field = page.locator(".md-search__input").first

    def enter(text, said):
        field.fill(text)
        field.press("End")  # it listens to keys
        page.wait_for_function(f"{META}.match(/{said}/)")

    def asking(question):
        enter("", "Type to start")
        enter(question, "matching document")
        return [[place(href) for href in item] for item in page.evaluate(FOUND)]

    def place(href):
        page, _, anchor = href.removeprefix(address).partition("#")
        return page.partition("?")[0] + (f"#{anchor}" if anchor else "")

    field.click()
    yield asking
    context.close()


@pytest.mark.parametrize("question", ANSWERS)
def test_the_first_answer_explains(question, ask):
    found = ask(question)
    assert any(place.startswith(ANSWERS[question]) for place in found[0]), found


@pytest.mark.parametrize("word", WORDS)
def test_a_single_word_is_found_in_the_glossary_first(word, ask):
    found = ask(word)
    assert found[0][0] == "course/glossary/", found


def test_words_that_every_question_has_do_not_count(ask):
    assert ask("what is an advantage") == ask("advantage")


def test_what_the_search_knows_is_there_and_soon_loaded(folder):
    text = (folder / "search" / "search_index.json").read_bytes()
    assert len(text) < 1_000_000
    index = json.loads(text)
    places = [entry["location"] for entry in index["docs"]]
    assert len(places) > 1000
    faults = {place: built_site.fault(folder, "index.html", place) for place in places}
    assert {place: why for place, why in faults.items() if why} == {}
