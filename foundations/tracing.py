"""Whether code is being compiled."""

import torch


def is_traced() -> bool:
    """Whether the code that asks is being compiled or exported.

    `torch.compiler.is_compiling()` says so in every thread while one of them compiles.
    """
    return torch.compiler.is_dynamo_compiling() or torch.compiler.is_exporting()
