"""Every word of other frameworks stands behind a line of code that the tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def sections(page: str) -> list[str]:
    """The sections of a page that have a table of words."""
    text = (DOCS / page).read_text("utf-8")
    found = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return [section for section in found if "| there |" in section]


SECTIONS = sections("words.md")
each_section = pytest.mark.parametrize(
    "section",
    SECTIONS + sections("coming-from-sb3.md"),
    ids=lambda section: section.partition("\n")[0],
)


def rows(section: str) -> list[str]:
    """What stands in the first cells of a section's table, below its head."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0] for line in lines if not line.startswith("| there")]


def words(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def shown(section: str) -> set[str]:
    """The words that comments in the code of a section name."""
    code = "\n".join(
        re.findall(r"^```(?:python|bash)\n(.*?)^```", section, re.M | re.S)
    )
    comments = re.findall(r"(?:^| )# (.+)$", code, re.MULTILINE)
    return {word for comment in comments for word in comment.split(", ")}


@each_section
def test_every_word_has_a_line(section):
    assert rows(section)
    missing = set().union(*map(words, rows(section))) - shown(section)
    assert not missing


@each_section
def test_every_comment_is_a_word_of_the_table(section):
    assert shown(section) <= set().union(*map(words, rows(section)))


@pytest.mark.parametrize(
    "word",
    [
        *("Trainer", "SyncCollector", "AsyncCollector", "BaseCollector"),
        *("BaseAlgorithm", "algorithm.update", "train_op", "_update_ppo"),
        *("Policy", "policy.forward", "policy.evaluate_actions", "policy.get_value"),
        *("ActorCritic", "VLAPolicy", "VLAModelInterface", "get_dist"),
        *("RolloutBuffer", "VLABuffer", "buffer.add", "buffer.get", "buffer.is_full"),
        *("observation", "done", "sample_log_prob", "state_value", "return"),
        *("buffer_size", "buffer_type", "iterations", "n_epochs", "batch_size"),
        *("train_every", "n_steps", "clip_frac", "rollout_policy", "carry"),
        *("encoder_priv", "actor_adapt", "adapt_module", "adapt_ema", "phase"),
        *("get_rollout_policy", "train_policy", "train_adapt"),
        *("PRIV_FEATURE", "PRIV_PRED", "OBS_KEY", "OBS_PRIV_KEY"),
    ],
)
def test_the_founding_documents_words_are_there(word):
    assert any(word in words(cell) for section in SECTIONS for cell in rows(section))
