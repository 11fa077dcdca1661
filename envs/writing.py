"""Worlds whose observations are prompts and whose actions are answers, as text."""

from typing import Any, ClassVar

import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.core import Utf8Text
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.inputs import check_range

State = dict[str, Tensor]
MOST = 999_999  # float32 noise can represent all operands up to here
OPEN, CLOSE = "<t>", "</t>"
FORMAT_REWARD = 0.1  # of a wrong number in the right format


class SumsVectorEnv(TorchVectorEnv):
    """Write the sum of two numbers, N sums at once on a device.

    An observation is a Dict with the `prompt`, bytes of UTF-8 with zeros after them,
    uint8 `[N, P]`: `17+15=`. An action is the whole answer, `32`, as bytes `[N, L]`, or
    as N strings. It ends the episode, so that a step is an episode: the reward is 1 if
    every character is right, and 0 otherwise. `info["success"]`, bool `[N]`, is True
    then.

    Operands are drawn independently, each number from 0 to `max_operand` as likely as
    any other. Environments that are reset with equal seeds have equal prompts.

    Raises:
        ValueError: If `max_operand` is out of range.

    Example:
        >>> from yieldrl.core.text import decode
        >>> envs = SumsVectorEnv(2, max_operand=99)
        >>> obs, _ = envs.reset(seed=0)
        >>> decode(obs["prompt"]), decode(envs.expert())
        (['49+8=', '76+13='], ['57', '89'])
        >>> envs.step(["57", "98"])[1]
        tensor([1., 0.])
    """

    noise_size = 2
    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "most_eval_envs": 512}

    max_operand: int = 19
    """The largest number that is to be added. More digits take more tokens and are
    harder."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        check_range("max_operand", self.max_operand, 1, MOST)
        self.width = len(str(self.max_operand))
        self.prompt_length = 2 * self.width + 2
        self.single_observation_space = spaces.Dict(prompt=Utf8Text(self.prompt_length))
        self.single_action_space = Utf8Text(self.answer_length)
        super().__init__(num_envs, **kwargs)
        self._plus, self._equals = (letters(mark, self.device) for mark in "+=")

    @property
    def answer_length(self) -> int:
        """L: the digits of the largest sum, and room to end the answer."""
        return len(str(2 * self.max_operand)) + 1

    def initial_state(self, noise: Tensor) -> State:
        """The `operands`, int64 `[2, N]`."""
        drawn = (noise * (self.max_operand + 1)).long()
        return {"operands": drawn.clamp(max=self.max_operand)}

    def dynamics(self, state: State, action: Tensor) -> tuple[State, Tensor, Tensor]:
        """Grade the answers, bytes int64 `[N, L]`; every episode ends."""
        reward = self.grade(state, action)
        return state, reward, torch.ones_like(reward, dtype=torch.bool)

    def grade(self, state: State, answer: Tensor) -> Tensor:
        """The rewards `[N]` of answers, bytes `[N, L]`."""
        return (answer == self.right_number(state)).all(1).float()

    def right_number(self, state: State) -> Tensor:
        """The sums in decimal, uint8 `[N, L]`."""
        total = digits(state["operands"].sum(0), self.width + 1)
        return joined([total], self.answer_length)

    def observe(self, state: State) -> State:
        left, right = (digits(number, self.width) for number in state["operands"])
        parts = [left, self._plus, right, self._equals]
        return {"prompt": joined(parts, self.prompt_length)}

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> State:
        return {"success": reward == 1}

    def expert(self) -> Tensor:
        """Right answers, bytes uint8 `[N, L]`."""
        return self.right_number(self.state)


class StepsVectorEnv(SumsVectorEnv):
    """Write any reasoning, and then the sum of two numbers, in a given format.

    The prompt is that of `SumsVectorEnv`, `17+25=`. An answer is to be
    `<t>...</t>42`: any characters between the marks, and after them the sum alone. The
    reward is 1 for a right sum in this format, 0.1 for a wrong number in it, and 0 for
    all else, the right number alone too. `info["success"]`, bool `[N]`,
    marks right sums, and `info["formatted"]` answers in the right format.

    The expert writes down the sum of each column, from the ones on, with what is
    carried into it: `<t>12 4</t>42`. The digits of the answer are then those steps'
    last ones. No reward asks for steps that are true.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> from yieldrl.core.text import decode
        >>> envs = StepsVectorEnv(3)
        >>> obs, _ = envs.reset(seed=0)
        >>> decode(obs["prompt"])[0], decode(envs.expert())[0]
        ('49+13=', '<t>12 6</t>62')
        >>> _ = envs.reset(seed=[0, 0, 0])
        >>> envs.step([decode(envs.expert())[0], "<t></t>9", "57"])[1]
        tensor([1.0000, 0.1000, 0.0000])
    """

    max_operand = 99

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        marks = (letters(text, self.device) for text in (OPEN, CLOSE, " "))
        self._open, self._close, self._space = marks

    @property
    def answer_length(self) -> int:
        """L: two digits and a space for each column, the marks, and the sum."""
        return len(OPEN + CLOSE) + 3 * self.width - 1 + super().answer_length

    def grade(self, state: State, answer: Tensor) -> Tensor:
        formatted, number = self.parse(answer)
        right = (number == self.right_number(state)).all(1)
        kept = torch.where(right, 1.0, FORMAT_REWARD)
        return torch.where(formatted, kept, 0.0)

    def parse(self, answer: Tensor) -> tuple[Tensor, Tensor]:
        """Whether answers `[N, L]` keep the format, bool `[N]`; their numbers `[N, L]`.

        Numbers are bytes with zeros after them; where the format is broken they mean
        nothing.
        """
        opens = (answer[:, : len(OPEN)] == self._open).all(1)
        closes = (answer.unfold(1, len(CLOSE), 1) == self._close).all(2)
        begin = closes.to(torch.uint8).argmax(1, keepdim=True) + len(CLOSE)
        after = torch.arange(answer.shape[1], device=answer.device) >= begin
        number, none = torch.where(after, answer, 0), answer == 0
        is_digit = (number >= ord("0")) & (number <= ord("9"))
        gap = (none[:, :-1] & ~none[:, 1:]).any(1)  # text goes on after its end
        digits_alone = (is_digit | none | ~after).all(1) & is_digit.any(1)
        return opens & closes.any(1) & digits_alone & ~gap, packed(number)

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> State:
        return {**super().step_info(reward, ignored), "formatted": reward > 0}

    def expert(self) -> Tensor:
        left, right = self.state["operands"]
        carried, columns = torch.zeros_like(left), []
        for place in range(self.width):
            power = 10**place
            column = left // power % 10 + right // power % 10 + carried
            columns += [digits(column, 2), self._space]
            carried = column // 10
        parts = [self._open, *columns[:-1], self._close, super().expert()]
        return joined(parts, self.answer_length)


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
