"""Networks with memory: over a window of an episode, or over all of it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from yieldrl.networks.layers import MLP


class History(nn.Module, ABC):
    """Maps sequences, time first, to one output per step; episodes may begin inside.

    `memory_size`, M, is the number of values kept from step to step.
    """

    memory_size: int

    @abstractmethod
    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Outputs `[T, N, Z]` of sequences, and the memory after them, `[N, M]`.

        Args:
            x: Inputs `[T, N, F]`.
            memory: Memory before the first step, `[N, M]`.
            first: Where an episode begins, bool `[T, N]`.
        """


class WindowMLP(History):
    """An MLP over the latest `window` inputs of an episode, and zeros before those."""

    def __init__(
        self,
        inputs: int,
        window: int,
        hidden_sizes: Sequence[int],
        outputs: int,
        activation: str = "tanh",
    ) -> None:
        super().__init__()
        self.inputs, self.window = inputs, window
        self.memory_size = (window - 1) * inputs
        sizes = [window * inputs, *hidden_sizes, outputs]
        self.mlp = MLP(sizes, activation, last_gain=1.0)

    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        count = memory.shape[0]  # `len` would be a constant in an exported program
        past = memory.view(count, self.window - 1, self.inputs)
        inputs = torch.cat((past, x.transpose(0, 1)), dim=1)  # [N, W - 1 + T, F]
        # Number the episodes of a sequence; the memory belongs to episode 0.
        number = first.t().cumsum(1)
        numbers = torch.cat((number.new_zeros(past.shape[:2]), number), dim=1)
        windows = inputs.unfold(1, self.window, 1)  # [N, T, F, W]
        same = numbers.unfold(1, self.window, 1) == number.unsqueeze(-1)  # [N, T, W]
        seen = windows * same.unsqueeze(-2)
        kept = seen[:, -1, :, 1:].transpose(-1, -2)  # [N, W - 1, F]
        return self.mlp(seen.flatten(-2)).transpose(0, 1), kept.flatten(1)


class GRU(History):
    """A gated recurrent unit (Cho et al. 2014, arXiv:1406.1078), as in PyTorch.

        r, z = sigmoid(W x_t + U h_{t-1} + b)
        n = tanh(W_n x_t + b_n + r (U_n h_{t-1} + c_n))
        h_t = (1 - z) n + z h_{t-1}

    where `h_{t-1}`, of `size` numbers, is zero if an episode begins with `x_t`. The
    output is a linear layer on `h_t`. Orthogonal weights, zero biases.
    """

    def __init__(self, inputs: int, size: int, outputs: int) -> None:
        super().__init__()
        self.memory_size = size
        self.input_weight = nn.Parameter(torch.empty(3 * size, inputs))
        self.hidden_weight = nn.Parameter(torch.empty(3 * size, size))
        self.input_bias = nn.Parameter(torch.zeros(3 * size))  # of the gates r, z and n
        self.hidden_bias = nn.Parameter(torch.zeros(size))  # of n only
        for weight in (self.input_weight, self.hidden_weight):
            for gate in weight.data.split(size):
                nn.init.orthogonal_(gate)
        self.head = MLP([size, outputs], last_gain=1.0)

    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        weights = zip(self.input_weight.chunk(3), self.input_bias.chunk(3), strict=True)
        products = (linear(x, weight, bias).unbind() for weight, bias in weights)
        u_r, u_z, u_n = (weight.t() for weight in self.hidden_weight.chunk(3))
        goes_on = (~first).unsqueeze(-1).to(x.dtype).unbind()
        h, outputs = memory, list[Tensor]()
        for remembered, x_r, x_z, x_n in zip(goes_on, *products, strict=True):
            h = remembered * h
            r = torch.addmm(x_r, h, u_r).sigmoid()
            z = torch.addmm(x_z, h, u_z).sigmoid()
            n = (x_n + r * torch.addmm(self.hidden_bias, h, u_n)).tanh()
            h = torch.lerp(n, h, z)
            outputs.append(h)
        return self.head(torch.stack(outputs)), h
