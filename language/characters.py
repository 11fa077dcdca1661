"""Characters as tokens: the smallest tokenizer."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

PRINTABLE = "".join(map(chr, range(32, 127))) + "\n"
"""Printable ASCII characters and the newline."""


class Characters(nn.Module):
    """A token for each character: 0 ends an answer, and the last is any other byte.

    Args:
        characters: Each once, all of them ASCII.

    Raises:
        ValueError: If one comes twice, or is not ASCII.

    Attributes:
        end: The token after an answer.
        vocab_size: The number of tokens.

    >>> characters = Characters("0123456789+=")
    >>> tokens, shown = characters.prompt(torch.tensor([[*b"1+2=", 0]]).byte())
    >>> tokens, shown.tolist()
    (tensor([[ 0,  2, 11,  3, 12]]), [[False, True, True, True, True]])
    """

    spelled: Tensor
    token_of: Tensor
    end = 0

    def __init__(self, characters: str = PRINTABLE) -> None:
        super().__init__()
        codes, distinct = [*map(ord, characters)], len(set(characters))
        if (
            not codes
            or len(codes) != distinct
            or not 0 < min(codes) <= max(codes) < 128
        ):
            raise ValueError(
                f"characters = {characters!r}: give characters of ASCII, each once"
            )
        self.characters, self.vocab_size = characters, len(codes) + 2
        spelled = torch.tensor([0, *codes, ord("?")], dtype=torch.uint8)
        token_of = torch.full((256,), self.vocab_size - 1)
        token_of[spelled[:-1].long()] = torch.arange(self.vocab_size - 1)
        self.register_buffer("spelled", spelled, persistent=False)
        self.register_buffer("token_of", token_of, persistent=False)

    def prompt(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens `[B, S]` of prompts, left-padded, and their mask, False at padding.

        Prompts are UTF-8 bytes `[B, S]`, uint8, with zeros after them.
        """
        shown = text != 0
        order = shown.to(torch.uint8).argsort(dim=1, stable=True)
        return self.token_of[text.long()].gather(1, order), shown.gather(1, order)

    def to_tokens(self, text: Tensor) -> Tensor:
        """Tokens `[B, S]` of answers, uint8 `[B, S]`, with `end` after them."""
        return self.token_of[text.long()]

    def to_bytes(self, tokens: Tensor, length: int) -> Tensor:
        """The characters of answers `[B, L]`, uint8 `[B, length]`, cut where longer."""
        text = self.spelled[tokens[:, :length]]
        return pad(text, (0, length - text.shape[1]))
