"""Mistakes in the solution of chapter 12, and words of the hint that names each."""

RESET = "        memory = memory * ~begins.unsqueeze(-1)\n"
STEP = "        output, memory = cell(inputs, memory)\n"
MASKED = "logits.masked_fill(~mask, -torch.inf).log_softmax(-1)"
FINITE = "finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0"
SUM = "-(log_p.exp() * finite).sum(-1)"
MOST = "logits.masked_fill(~mask, -torch.inf).argmax(-1)"

PLANTED = [
    (RESET, "", "`first` is ignored"),
    (RESET + STEP, STEP + RESET, "one step late"),
    (
        "zip(x, first, strict=True)",
        "zip(x, [*first[1:], first[0] & False], strict=True)",
        "one step early",
    ),
    ("~begins.unsqueeze(-1)", "~begins.any()", "only those whose episode begins"),
    ("~begins.unsqueeze(-1)", "begins.unsqueeze(-1)", "where episodes go on"),
    (
        "    outputs = []\n",
        "    outputs = []\n    memory = 0 * memory\n",
        "from before the sequence is given",
    ),
    (
        "zip(x, first, strict=True)",
        "zip(x, [first[0], *torch.zeros_like(first[1:])], strict=True)",
        "at the first row alone",
    ),
    (
        "memory * ~begins.unsqueeze(-1)",
        "torch.cat([memory[:, :1] * ~begins[:, None], memory[:, 1:]], -1)",
        "half of the memory",
    ),
    (
        "output, memory = cell(inputs, memory)",
        "output, _ = cell(inputs, memory)",
        "carry it on",
    ),
    (
        "output, memory = cell(inputs, memory)",
        "output, memory = cell(inputs, memory.detach())",
        "do not detach",
    ),
    (
        "        memory = memory * ~begins.unsqueeze(-1)",
        "        memory *= ~begins.unsqueeze(-1)",
        "make a new tensor",
    ),
    (MASKED, "logits.log_softmax(-1)", "the mask is not used"),
    (MASKED, "(logits.softmax(-1) * mask).log()", "after the softmax"),
    (MASKED, "(logits * mask).log_softmax(-1)", "a logit of 0 is not impossible"),
    (MASKED, "(logits - 1.0 * ~mask).log_softmax(-1)", "a penalty"),
    (
        MASKED,
        "((p := logits.softmax(-1) * mask) / p.sum(-1, keepdim=True)).log()",
        "nothing may be left",
    ),
    (MASKED, "logits.masked_fill(mask, -torch.inf).log_softmax(-1)", "are left"),
    (MASKED, MASKED.replace("log_softmax(-1)", "log_softmax(0)"), "over the batch"),
    (FINITE, "finite = log_p", "0 times -inf is NaN"),
    (FINITE, "finite = log_p = log_p.clamp(min=-3)", "add to the entropy"),
    (
        SUM,
        "-torch.where(log_p.isinf(), 0, log_p.exp() * log_p).sum(-1)",
        "NaN in the gradient",
    ),
    (SUM, SUM.replace("sum", "mean"), "it is a sum"),
    (SUM, SUM.removeprefix("-"), "the sign"),
    (MOST, "logits.argmax(-1)", "ignores the mask"),
    (MOST, "(logits * mask).argmax(-1)", "a logit of 0 wins"),
    ("def predict(logits", "def predicted(logits", "keep the names"),
]
"""Old text, new text, words of the hint."""
