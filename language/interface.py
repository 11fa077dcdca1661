"""Interfaces of a language-model policy's parts: tokenizer and causal model.

Axes: `B` batch, `P` tokens of a prompt, `L` tokens of an answer, `V` vocabulary, `S`
bytes of a sentence.
"""

from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Tokenizer(Protocol):
    """Converts sentences (UTF-8 bytes, zeros after them) to tokens, int64, and back.

    Attributes:
        end: The token that ends an answer, and pads shorter answers.
    """

    end: int

    def prompt(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens `[B, P]` of prompts, uint8 `[B, S]`, left-padded; and their mask, bool
        `[B, P]`, False at padding."""
        ...

    def to_tokens(self, text: Tensor) -> Tensor:
        """Tokens `[B, S]` of answers, uint8 `[B, S]`, with `end` after them."""
        ...

    def to_bytes(self, tokens: Tensor, length: int) -> Tensor:
        """The sentences of answers `[B, L]`, uint8 `[B, length]`, cut where longer."""
        ...


class LanguageModel(Protocol):
    """A causal model of tokens, an `nn.Module`: each attends to itself and the past.

    Padding on the left changes nothing: no token attends to it, and positions do not
    count it.
    """

    def __call__(
        self, tokens: Tensor, shown: Tensor, cache: Any = None, last: int | None = None
    ) -> Tensor:
        """Logits of the token after each token, float32 `[B, K, V]`.

        Args:
            tokens: `[B, K]`; with a cache, the new ones alone.
            shown: Mask of all tokens so far, bool `[B, T]`, False at padding.
            cache: A result of `new_cache`; the new tokens are added to it.
            last: Return logits of the last tokens only, `[B, last, V]`.
        """
        ...

    def new_cache(self, length: int) -> Any:
        """A cache for the keys and values of `length` tokens."""
        ...
