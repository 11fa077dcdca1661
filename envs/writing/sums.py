"""Sums: a prompt such as `17+15=`, and an answer that is right or wrong."""

from typing import Any

import torch
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.writing.letters import digits, joined, letters
from yieldrl.foundations import Utf8Text

State = dict[str, Tensor]
MOST = 999_999  # float32 noise can represent all operands up to here


class SumsVectorEnv(TorchVectorEnv):
    """Write the sum of two numbers, N sums at once on a device.

    An observation is a Dict with the `prompt`, bytes of UTF-8 with zeros after them,
    uint8 `[N, P]`: `17+15=`. An action is the whole answer, `32`, as bytes `[N, L]`, or
    as N strings. It ends the episode, so that a step is an episode: the reward is 1 if
    every character is right, and 0 otherwise. `info["success"]`, bool `[N]`, is True
    then.

    Operands are drawn independently, each number from 0 to `max_operand` as likely as
    any other. Environments that are reset with equal seeds have equal prompts.

    Args:
        num_envs: N, the number of sums.
        max_operand: The largest number that is to be added. More digits take more
            tokens and are harder.
        kwargs: Arguments of `TorchVectorEnv`.

    Raises:
        ValueError: If `max_operand` is out of range.

    Example:
        >>> from yieldrl.foundations.text import decode
        >>> envs = SumsVectorEnv(2, max_operand=99)
        >>> obs, _ = envs.reset(seed=0)
        >>> decode(obs["prompt"]), decode(envs.expert())
        (['49+8=', '76+13='], ['57', '89'])
        >>> envs.step(["57", "98"])[1]
        tensor([1., 0.])
    """

    noise_size = 2
    metadata: dict[str, Any] = {"render_modes": [], "most_eval_envs": 512}  # noqa: RUF012

    def __init__(
        self, num_envs: int = 1, *, max_operand: int = 19, **kwargs: Any
    ) -> None:
        if not 1 <= max_operand <= MOST:
            raise ValueError(
                f"max_operand = {max_operand}: choose a number from 1 to {MOST:,}"
            )
        self.max_operand, self.width = max_operand, len(str(max_operand))
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

    def step(self, actions: Any) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Grade every answer; `info["success"]` is True where the reward is 1."""
        obs, reward, terminated, truncated, info = super().step(actions)
        return obs, reward, terminated, truncated, {**info, "success": reward == 1}

    def expert(self) -> Tensor:
        """Right answers, bytes uint8 `[N, L]`.

        Raises:
            ResetNeeded: Before the first reset.
        """
        if self.state is None:
            raise ResetNeeded("nothing to answer yet: call reset() first")
        return self.demonstration(self.state)

    def demonstration(self, state: State) -> Tensor:
        """The expert's answers, uint8 `[N, L]`."""
        return self.right_number(state)
