"""Temperature and top-k for the logits that tokens are sampled from."""

import torch
from torch import Tensor


def tempered(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    taken: Tensor | None = None,
) -> Tensor:
    """Logits `[..., V]` at a temperature, those below the `top_k` largest at `-inf`.

    A low temperature makes likely tokens more likely, a high one makes all tokens
    similar. A token that was `taken`, int64 `[...]`, is always kept: its probability is
    never zero, even if the learner's largest logits differ from those of the policy
    that drew it. Fan et al. 2018, arXiv:1805.04833, section 5.4, has top-k.

    >>> tempered(torch.tensor([1.0, 3.0, 2.0]), temperature=0.5, top_k=2)
    tensor([-inf, 6., 4.])
    """
    logits = logits / temperature
    if top_k is None or top_k >= logits.shape[-1]:
        return logits
    least = logits.topk(top_k).values[..., -1:]
    out = logits < least
    if taken is not None:
        out = out.scatter(-1, taken.unsqueeze(-1), False)
    return logits.masked_fill(out, -torch.inf)
