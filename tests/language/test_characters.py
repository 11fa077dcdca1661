"""Characters become tokens and come back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from yieldrl.core import Utf8Text
from yieldrl.core.text import decode
from yieldrl.language import Characters
from yieldrl.language.characters import PRINTABLE

WORDS = st.lists(st.text(PRINTABLE, max_size=6), min_size=1, max_size=4)


def encoded(sentences, length=8):
    return torch.from_numpy(Utf8Text(length).encode(sentences))


@given(WORDS)
def test_answers_come_back(sentences):
    characters, text = Characters(), encoded(sentences)
    tokens = characters.to_tokens(text)
    assert tokens.dtype == torch.int64
    assert torch.equal(characters.to_bytes(tokens, 8), text)
    assert torch.equal(characters.to_bytes(tokens, 10)[:, :8], text)
    assert torch.equal(characters.to_bytes(tokens, 3), text[:, :3])


@given(WORDS)
def test_prompts_end_at_the_right(sentences):
    characters = Characters()
    tokens, shown = characters.prompt(encoded(sentences))
    for sentence, row, there in zip(sentences, tokens, shown, strict=True):
        left = 8 - len(sentence)
        assert there.tolist() == [False] * left + [True] * len(sentence)
        assert row[:left].tolist() == [characters.end] * left
        spelled = characters.to_bytes(row[left:].unsqueeze(0), 8)
        assert decode(spelled) == [sentence]


def test_tokens_are_places_in_the_list():
    characters = Characters("ba")
    assert characters.vocab_size == 4
    tokens = characters.to_tokens(encoded(["ab", "b?"], 3))
    assert tokens.tolist() == [[2, 1, 0], [1, 3, 0]]
    assert decode(characters.to_bytes(tokens, 3)) == ["ab", "b?"]


@pytest.mark.parametrize("wrong", ["aa", "é"])
def test_characters_that_are_none(wrong):
    with pytest.raises(ValueError, match="give characters of ASCII, each once"):
        Characters(wrong)
