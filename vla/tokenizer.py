"""Convert sentences to the tokens of a language model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from yieldrl.core.text import decode
from yieldrl.vla.files import existing, require

_WORDS = """
a above and arm at back ball behind below between black block blue bottom bowl box
brown center circle close corner cube cup cyan diamond disk door down drawer far find
finger first for forward from front get go goal gray green grey grip hand in into it
key lamp left lift line move near next object of off on one open orange out over pick
pink place plate purple push put reach red right robot second slide square stack star
stop take the then thing tip to top touch toward triangle turn two under up wait wall
white with yellow
"""

WORDS = tuple(_WORDS.split())
"""Words that are one token each for the tiny model; others are spelled in pieces."""


class SentenceTokenizer:
    """Reads sentences as bytes, and remembers the tokens of each that it has seen.

    Args:
        tokenizer: A `tokenizers.Tokenizer`.
        first: Token at the beginning of every sentence.
        last: Text of the token at their end, if the tokenizer has it.
        template: What the model reads, `{}` being the sentence in small letters.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        first: int | None = None,
        last: str | None = None,
        template: str = "",
    ) -> None:
        self.tokenizer, self.template = tokenizer, template
        self.vocab_size: int = tokenizer.get_vocab_size()
        end = None if last is None else tokenizer.token_to_id(last)
        self._first, self._last = ([] if i is None else [i] for i in (first, end))
        self._seen: dict[bytes, Tensor] = {}

    @classmethod
    def from_file(cls, path: Path, **options: Any) -> Self:
        """One from the `tokenizer.json` of a model's folder."""
        library = require("tokenizers")
        remedy = (
            "save the model's tokenizer there (tokenizer.save_pretrained of a fast"
            " tokenizer writes it)"
        )
        return cls(library.Tokenizer.from_file(str(existing(path, remedy))), **options)

    def encode(self, sentence: str) -> list[int]:
        """The tokens of one sentence."""
        if self.template:
            sentence = self.template.format(sentence.lower())
        inner = self.tokenizer.encode(sentence, add_special_tokens=False).ids
        return [*self._first, *inner, *self._last]

    def __call__(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens of sentences, padded to the longest of them; it waits for a GPU.

        From UTF-8 with zeros after it, `[B, S]` uint8, to tokens `[B, T]` int64, zeros
        after each sentence, and where there is a token, `[B, T]` bool.
        """
        rows: list[Tensor] = []
        for encoded in text.detach().cpu().numpy():
            key = encoded.tobytes()
            if key not in self._seen:
                self._seen[key] = torch.tensor(self.encode(decode(encoded)[0])).long()
            rows.append(self._seen[key])
        lengths = torch.tensor([len(row) for row in rows]).unsqueeze(1)
        tokens = pad_sequence(rows, batch_first=True)
        mask = torch.arange(tokens.shape[1]) < lengths
        return tokens.to(text.device), mask.to(text.device)


def tiny_tokenizer(words: Sequence[str] = WORDS) -> SentenceTokenizer:
    """A byte-level tokenizer, which can encode any sentence; each word is one token
    (byte pair encoding: Sennrich et al. 2016, arXiv:1508.07909)."""
    library = require("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    byte_level = library.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=8192,  # more than the words need
        min_frequency=1,
        show_progress=False,
        special_tokens=["<s>"],
        initial_alphabet=byte_level.alphabet(),
    )
    tokenizer.train_from_iterator([*words], trainer)
    return SentenceTokenizer(tokenizer, first=0)
