"""Words that every sentence has do not count in the search."""

from __future__ import annotations

import json

import javascript
import pytest

from yieldrl.docs._site import DirectiveError
from yieldrl.docs._site.html_output import without_stop_words

SCRIPT = """
const common = ["what", "is", "a", "how", "do", "i"]
globalThis.lunr = { stopWordFilter: (w) => common.includes(w) ? undefined : w }
const words = (question) => question.split(/\\s+/g)
const asked = ["What is a policy", "how do I", "GAE", ""]
console.log(JSON.stringify(asked.map(words)))
"""


def test_common_words_are_left_out_unless_there_are_no_others():
    printed = javascript.said(["--eval", without_stop_words(SCRIPT)])
    assert json.loads(printed) == [["policy"], ["how", "do", "I"], ["GAE"], [""]]


def test_a_script_of_the_search_that_we_do_not_know_is_an_error():
    for unknown in ("", SCRIPT * 2):
        with pytest.raises(DirectiveError, match="split questions"):
            without_stop_words(unknown)
