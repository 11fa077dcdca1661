"""Numbers and sentences as bytes, by tensor operations that never wait for a device."""

import torch
from torch import Tensor
from torch.nn.functional import pad


def letters(text: str, device: torch.device) -> Tensor:
    """The bytes of a text, uint8 `[K]`."""
    return torch.tensor(list(text.encode()), dtype=torch.uint8, device=device)


def digits(number: Tensor, width: int) -> Tensor:
    """Numbers `[N]` from zero on in decimal, uint8 `[N, width]`, zeros before them.

    >>> bytes(digits(torch.tensor([42]), 4)[0].tolist())
    b'\\x00\\x0042'
    """
    powers = 10 ** torch.arange(width - 1, -1, -1, device=number.device)
    number = number.unsqueeze(1)
    shown = (number >= powers) | (powers == 1)
    return torch.where(shown, number // powers % 10 + ord("0"), 0).to(torch.uint8)


def packed(rows: Tensor) -> Tensor:
    """Bytes `[N, S]` with all zeros at the end; the others keep their order."""
    order = (rows == 0).to(torch.uint8).argsort(dim=1, stable=True)
    return rows.gather(1, order)


def joined(parts: list[Tensor], length: int) -> Tensor:
    """Parts of sentences one after the other, without gaps, uint8 `[N, length]`.

    Parts are `[N, K]`, of which zeros are left out, or the same for all, `[K]`.
    """
    count = max(len(part) for part in parts if part.ndim == 2)
    rows = [part.expand(count, -1) for part in parts]
    whole = packed(torch.cat(rows, dim=1))[:, :length]
    return pad(whole, (0, length - whole.shape[1]))
