"""Convert sentences to tokens and back."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Vocabulary:
    """Words and their tokens; 0 pads sentences shorter than the longest one.

    The words are those of the sentences, in this order: a word's place in `words` is
    its token. `length` is L, the number of words of the longest sentence.

    Example:
        >>> vocabulary = Vocabulary(["go to the red square", "find it"])
        >>> tokens = vocabulary.encode("find the square")
        >>> tokens, vocabulary.decode(tokens)
        (tensor([6, 3, 5, 0, 0]), 'find the square')
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        split = [sentence.split() for sentence in sentences]
        self.words = ["<pad>", *dict.fromkeys(itertools.chain.from_iterable(split))]
        self.length = max(map(len, split))
        self._tokens = {word: token for token, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> Tensor:
        """The tokens of a sentence, int64 `[L]`; ValueError if one is unknown."""
        words = text.split()
        unknown = [word for word in words if word not in self._tokens]
        if unknown or len(words) > self.length:
            raise ValueError(
                f"{text!r} must be at most {self.length} of the words"
                f" {self.words[1:]}, got {len(words)}, of them unknown: {unknown}"
            )
        tokens = [self._tokens[word] for word in words]
        return torch.tensor(tokens + [0] * (self.length - len(tokens)))

    def decode(self, tokens: Any) -> Any:
        """The sentence of tokens `[L]`, or the list of sentences of tokens `[N, L]`."""
        if np.ndim(tokens) > 1:
            return [self.decode(row) for row in tokens]
        return " ".join(self.words[int(token)] for token in tokens if token)
