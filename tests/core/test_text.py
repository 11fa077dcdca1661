"""Sentences are observations: what goes in as text comes out as text."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given
from hypothesis import strategies as st

from yieldrl.core import ObservationActionAdapter, Utf8Text
from yieldrl.core.conversion import ActionTransform
from yieldrl.core.text import decode, encoded, has_text

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
TALK = Dict(rgb=Box(0, 255, (2, 2, 3), np.uint8), said=Dict(here=Utf8Text(16)))


@given(st.lists(WORDS, max_size=5))
def test_what_was_said_is_read(sentences):
    space = Utf8Text(max([1, *(len(s.encode()) for s in sentences)]))
    rows = space.encode(sentences)
    assert rows.shape == (len(sentences), space.max_bytes)
    assert rows.dtype == np.uint8
    assert all(row in space for row in rows)
    assert decode(rows) == sentences
    assert decode(torch.from_numpy(rows)) == sentences
    assert all(decode(space.encode(s)) == [s] for s in sentences)


def test_too_long_a_sentence_is_refused():
    with pytest.raises(ValueError, match=r"5 bytes, 'röß', is longer .* = 4"):
        Utf8Text(4).encode("größ"[1:])
    with pytest.raises(ValueError, match="max_bytes = 0"):
        Utf8Text(0)
    assert decode(np.array([[255, 65, 0]], np.uint8)) == ["\ufffdA"]


def test_sentences_are_found_wherever_they_are():
    assert has_text(TALK)
    assert has_text(Utf8Text(3))
    assert not has_text(TALK["rgb"])
    rgb = np.zeros((2, 2, 3), np.uint8)
    one = encoded(TALK, {"rgb": rgb, "said": {"here": "go"}})
    assert one["rgb"] is rgb
    assert decode(one["said"]["here"]) == ["go"]
    again = encoded(TALK, one)
    assert again["said"]["here"] is one["said"]["here"]


@pytest.mark.parametrize("batched", [False, True])
def test_an_agent_is_told_in_words(batched):
    border = ObservationActionAdapter(TALK, Discrete(2), torch.device("cpu"))
    rgb = np.zeros((2, 2, 2, 3) if batched else (2, 2, 3), np.uint8)
    said = ["go left", "stop"] if batched else "go left"
    tensors, was_batched = border.to_tensors({"rgb": rgb, "said": {"here": said}})
    assert was_batched is batched
    assert tensors["said"]["here"].dtype == torch.uint8
    there = ["go left", "stop"] if batched else ["go left"]
    assert decode(tensors["said"]["here"]) == there
    again, _ = border.to_tensors({"rgb": rgb, "said": {"here": np.array(said)}})
    assert decode(again["said"]["here"]) == there
    again, _ = border.to_tensors({"rgb": rgb, "said": {"here": np.array(said, object)}})
    assert decode(again["said"]["here"]) == there


class Backwards:
    """A tokenizer: each byte is its distance to 255, and the length is kept."""

    def to_bytes(self, tokens, length):
        return (255 - tokens[:, :length]).to(torch.uint8)

    def to_tokens(self, text):
        assert text.dtype == torch.uint8
        return 255 - text.long()


def test_answers_in_tokens_reach_the_environment_as_bytes():
    space, cpu = Utf8Text(3), torch.device("cpu")
    border = ObservationActionAdapter(TALK, space, cpu, tokenizer=Backwards())
    tokens = torch.tensor([[155, 145, 255], [255, 255, 255]])
    sent = border.actions.to_env(tokens)
    assert sent.dtype == torch.uint8
    assert decode(sent) == ["dn", ""]
    assert torch.equal(border.actions.from_env(sent), tokens)
    as_stored = border.actions.from_env(sent.long())
    assert torch.equal(as_stored, tokens)
    # Without a tokenizer actions are the bytes.
    border = ObservationActionAdapter(TALK, Utf8Text(3), torch.device("cpu"))
    assert isinstance(border.actions, ActionTransform)
    sent = border.actions.to_env(torch.tensor([[100, 111, 0]]))
    assert (sent.dtype, decode(sent)) == (torch.uint8, ["do"])
    choices = ObservationActionAdapter(
        TALK, Discrete(2), torch.device("cpu"), tokenizer=Backwards()
    )
    assert isinstance(choices.actions, ActionTransform)
