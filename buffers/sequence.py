"""Sequences: a rollout whose minibatches are whole environments, in order of time."""

from __future__ import annotations

from tensordict import TensorDict

from yieldrl.buffers.rollout import RolloutBuffer


class SequenceBuffer(RolloutBuffer):
    """A rollout `[T, N]` learned from by environment, for recurrent policies.

    What such a policy does depends on the steps before, so these stay together: an
    epoch shuffles the environments, and a minibatch is `[T, n]`. Episodes may begin and
    end within it. Steps that only reset (`valid` is False) are left in their places.

    Raises:
        ValueError: If there are more minibatches than environments.
        MemoryError: If the device has less memory free than the buffer needs.
    """

    def pieces(self, rollout: TensorDict) -> TensorDict:
        """What an epoch shuffles: the environments' sequences `[N, T]`."""
        sequences = rollout.transpose(0, 1)
        if "valid" in sequences.keys():  # noqa: SIM118 - it iterates over the batch
            sequences = sequences[sequences["valid"].any(1)]
        return sequences

    def minibatch(self) -> TensorDict:
        """The minibatch `[T, n]` that is due, however often it is called.

        Raises:
            RuntimeError: If `prepare` was not called, or the rollout is exhausted.
        """
        return super().minibatch().transpose(0, 1)

    def _check_minibatches(self, transitions: int) -> None:
        """Environments are shuffled, however many transitions they have."""
        if self.num_envs < self.num_minibatches:
            raise ValueError(
                f"the sequences of {self.num_envs} environments cannot be cut into"
                f" num_minibatches = {self.num_minibatches}: choose fewer, or more"
                " environments"
            )
