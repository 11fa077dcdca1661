"""Sums with the steps to the answer: a format to keep, and an answer to find."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.writing.letters import digits, joined, letters, packed
from yieldrl.envs.writing.sums import State, SumsVectorEnv

OPEN, CLOSE = "<t>", "</t>"


class StepsVectorEnv(SumsVectorEnv):
    """Write any reasoning, and then the sum of two numbers, in a given format.

    The prompt is that of `SumsVectorEnv`, `17+25=`. An answer is to be
    `<t>...</t>42`: any characters between the marks, and after them the sum alone. The
    reward is 1 for a right sum in this format, `format_reward` for a wrong number in
    it, and 0 for all else, the right number alone too. `info["success"]`, bool `[N]`,
    marks right sums, and `info["formatted"]` answers in the right format.

    The expert writes down the sum of each column, from the ones on, with what is
    carried into it: `<t>12 4</t>42`. The digits of the answer are then those steps'
    last ones. No reward asks for steps that are true.

    Args:
        num_envs: N, the number of sums.
        max_operand: The largest number that is to be added.
        format_reward: Reward of a wrong number in the right format. Higher makes the
            format easier to find and the right number less worth looking for.
        kwargs: Arguments of `TorchVectorEnv`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> from yieldrl.foundations.text import decode
        >>> envs = StepsVectorEnv(3)
        >>> obs, _ = envs.reset(seed=0)
        >>> decode(obs["prompt"])[0], decode(envs.expert())[0]
        ('49+13=', '<t>12 6</t>62')
        >>> _ = envs.reset(seed=[0, 0, 0])
        >>> envs.step([decode(envs.expert())[0], "<t></t>9", "57"])[1]
        tensor([1.0000, 0.1000, 0.0000])
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_operand: int = 99,
        format_reward: float = 0.1,
        **kwargs: Any,
    ) -> None:
        if not 0 < format_reward < 1:
            raise ValueError(
                f"format_reward = {format_reward}: choose a number between 0 and 1, the"
                " reward of a right answer"
            )
        self.format_reward = format_reward
        super().__init__(num_envs, max_operand=max_operand, **kwargs)
        marks = (letters(text, self.device) for text in (OPEN, CLOSE, " "))
        self._open, self._close, self._space = marks

    @property
    def answer_length(self) -> int:
        """L: two digits and a space for each column, the marks, and the sum."""
        return len(OPEN + CLOSE) + 3 * self.width - 1 + super().answer_length

    def grade(self, state: State, answer: Tensor) -> Tensor:
        formatted, number = self.parse(answer)
        right = (number == self.right_number(state)).all(1)
        kept = torch.where(right, 1.0, self.format_reward)
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

    def step(self, actions: Any) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Grade every answer; info has `success` and `formatted`."""
        obs, reward, terminated, truncated, info = super().step(actions)
        return obs, reward, terminated, truncated, {**info, "formatted": reward > 0}

    def demonstration(self, state: State) -> Tensor:
        left, right = state["operands"]
        carried, columns = torch.zeros_like(left), []
        for place in range(self.width):
            power = 10**place
            column = left // power % 10 + right // power % 10 + carried
            columns += [digits(column, 2), self._space]
            carried = column // 10
        parts = [self._open, *columns[:-1], self._close, self.right_number(state)]
        return joined(parts, self.answer_length)
