"""What a policy that writes is made of: a tokenizer, and a model of what comes next.

Axes: `B` batch, `P` tokens of a prompt, `L` tokens of an answer, `V` vocabulary, `S`
bytes of a sentence.
"""

from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Tokenizer(Protocol):
    """Between sentences, bytes of UTF-8 with zeros after them, and tokens, int64.

    Attributes:
        end: The token that ends an answer, and fills up what is shorter than others.
    """

    end: int

    def prompt(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens `[B, P]` of prompts, uint8 `[B, S]`, padded on their left side; and
        which of them are none of the padding, bool `[B, P]`."""
        ...

    def to_tokens(self, text: Tensor) -> Tensor:
        """Tokens `[B, S]` of answers, uint8 `[B, S]`, with `end` after them."""
        ...

    def to_bytes(self, tokens: Tensor, length: int) -> Tensor:
        """The sentences of answers `[B, L]`, uint8 `[B, length]`, cut where longer."""
        ...


class LanguageModel(Protocol):
    """A causal model of tokens, an `nn.Module`: each attends to those before it alone.

    What is padded, on the left, changes nothing: nobody attends to it, and positions
    count what is shown.
    """

    def __call__(
        self, tokens: Tensor, shown: Tensor, cache: Any = None, last: int | None = None
    ) -> Tensor:
        """Logits of what follows each token, float32 `[B, K, V]`.

        Args:
            tokens: `[B, K]`; with a cache those that it has not seen yet.
            shown: Which tokens, from the first one on, are no padding, bool `[B, T]`.
            cache: Of `new_cache`; it takes the new tokens in.
            last: Only those of the last tokens, `[B, last, V]`.
        """
        ...

    def new_cache(self, length: int) -> Any:
        """Somewhere to keep what `length` tokens are attended to by."""
        ...
