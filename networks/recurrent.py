"""Networks with memory: over a window of an episode, or over all of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

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
        self.cell = nn.GRUCell(inputs, size)
        for weight in (self.cell.weight_ih, self.cell.weight_hh):
            for gate in weight.data.split(size):
                nn.init.orthogonal_(gate)
        nn.init.zeros_(self.cell.bias_ih)
        nn.init.zeros_(self.cell.bias_hh)
        self.head = MLP([size, outputs], last_gain=1.0)

    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        goes_on = (~first).unsqueeze(-1).to(x.dtype).unbind()
        h, states = memory, list[Tensor]()
        for x_t, remembered in zip(x.unbind(), goes_on, strict=True):
            h = self.cell(x_t, remembered * h)
            states.append(h)
        return self.head(torch.stack(states)), h


class LSTM(History):
    """Long short-term memory over sequences, time first; episodes may begin inside.

    Hochreiter & Schmidhuber 1997, "Long Short-Term Memory", Neural Computation 9(8),
    with the forget gate of Gers, Schmidhuber & Cummins 2000:

        i, f, o = sigmoid(W x_t + U h_{t-1} + b),    g = tanh(W x_t + U h_{t-1} + b)
        c_t = f c_{t-1} + i g
        h_t = o tanh(c_t)

    where `h_{t-1}` and `c_{t-1}` are zero if an episode begins with `x_t`. From 16
    sequences on it takes at most half the time of `nn.LSTM` on packed episodes on a
    CPU. Orthogonal weights and zero biases, except for the forget gate's, which are
    one (Jozefowicz et al. 2015, "An Empirical Exploration of Recurrent Network
    Architectures", section 2.2).

    Args:
        inputs: Width of `x`, F.
        size: Width of `h` and of `c`, H.
    """

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__()
        self.size, self.memory_size = size, 2 * size  # `h` and `c`, concatenated
        self.input_weight = nn.Parameter(torch.empty(4 * size, inputs))
        self.hidden_weight = nn.Parameter(torch.empty(4 * size, size))
        self.bias = nn.Parameter(torch.zeros(4 * size))  # of the gates i, f, o and g
        for weight in (self.input_weight, self.hidden_weight):
            for gate in weight.data.split(size):
                nn.init.orthogonal_(gate)
        self.bias.data[size : 2 * size] = 1.0

    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The outputs `h`, `[T, N, H]`, and the final memory, `[N, 2 * H]`."""
        products = linear(x, self.input_weight, self.bias).unbind()
        goes_on = (~first).unsqueeze(-1).to(x.dtype).unbind()
        weight = self.hidden_weight.t()
        h, c = memory.chunk(2, dim=-1)
        outputs = []
        for product, remembered in zip(products, goes_on, strict=True):
            gates = torch.addmm(product, remembered * h, weight)
            i_f_o, g = gates.split([3 * self.size, self.size], dim=-1)
            i, f, o = i_f_o.sigmoid().chunk(3, dim=-1)
            c = torch.addcmul(f * (remembered * c), i, g.tanh())
            h = o * c.tanh()
            outputs.append(h)
        return torch.stack(outputs), torch.cat([h, c], dim=-1)


class Memory:
    """The memory of a policy that acts in N episodes: M numbers each.

    `state [N, M]` is None until the first observations tell N. `first`, bool `[N]`,
    marks episodes that begin with the next observation.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self.size, self.device = size, device
        self.state: Tensor | None = None
        self.first: Tensor | None = None

    def begin(self, where: Any = None) -> None:
        """Begin new episodes in all N, or `where` a bool, or bool `[N]`, is True."""
        if where is None:
            self.state = self.first = None
        elif self.first is not None:
            where = torch.as_tensor(where, device=self.device).reshape(-1)
            self.first = self.first | where

    def recall(self, count: int) -> tuple[Tensor, Tensor]:
        """`state [N, M]` before `count` observations, and `first`; or ValueError."""
        if self.state is None or self.first is None:
            like = {"dtype": torch.float32, "device": self.device}
            self.state = torch.zeros(count, self.size, **like)
            self.first = torch.ones(count, dtype=torch.bool, device=self.device)
        if len(self.state) != count:
            raise ValueError(
                f"{count} observations, but {len(self.state)} episodes are under way:"
                " call begin_episode() first to begin others"
            )
        return self.state, self.first

    def keep(self, state: Tensor) -> None:
        """Store `state` `[N, M]`, and set `first` to False."""
        self.state = state
        self.first = torch.zeros(len(state), dtype=torch.bool, device=self.device)

    def state_dict(self) -> dict[str, Tensor]:
        """The state and `first`; empty before the first observations."""
        state = {"state": self.state, "first": self.first}
        return {name: part for name, part in state.items() if part is not None}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state_dict` returned."""
        kept = {name: part.to(self.device) for name, part in state.items()}
        self.state, self.first = kept.get("state"), kept.get("first")
