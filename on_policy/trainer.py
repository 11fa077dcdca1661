"""The schedule around a rollout: where it is stored, and when it begins and ends."""

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import CircularBuffer, Minibatches, RolloutBuffer
from yieldrl.foundations import spaces
from yieldrl.foundations.conversion import check_shapes
from yieldrl.on_policy.config import OnPolicyConfig


class OnPolicyTrainer(abstractions.Trainer):
    """Collects whole rollouts, and passes over each as its algorithm says."""

    config: OnPolicyConfig
    buffer: RolloutBuffer

    parallel = True

    @property
    def training_done(self) -> bool:
        return self.collecting_done and (len(self.buffer) == 0 or self.buffer.exhausted)

    @property
    def learning_due(self) -> bool:
        return self.buffer.full and not self.buffer.exhausted

    def make_buffer(self) -> RolloutBuffer:
        config, reads = self.config, self.algorithm.reads_next_obs
        # Images are kept once: where they are looked at again, they are the next row's.
        on_cpu = torch.device(getattr(self.envs, "device", "cpu")).type == "cpu"
        once = on_cpu and spaces.has_images(self.envs.single_observation_space)
        parts = {**self.transition_parts, "next_obs": reads, "linked": once}
        if config.collection != "async":
            return RolloutBuffer(config.num_steps, **parts)
        ahead = config.max_policy_lag + 2  # plus one to learn from and one to write
        return CircularBuffer(config.num_steps, num_segments=ahead, **parts)

    def rows_ahead(self, rows: int) -> int:
        return self.config.num_steps

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Learn all there is to learn from a rollout `[T, N]`; means of metrics."""
        check_shapes(rollout)
        recorded = "log_prob" in rollout.keys()  # noqa: SIM118
        if self.learners is not None:
            return self.learners.update(rollout)
        logs = self.algorithm.update(self.agent.annotated(rollout))
        if not recorded:
            self.agent.acted_version = None
        return logs

    def rollout_due(self) -> tuple[TensorDict | None, Logs]:
        """The rollout `[T, N]` to learn from now; or None, so that another one is
        collected by the same policy, and what to log of that."""
        return self.agent.annotated(self.buffer.rollout()), {}

    def begin_learning(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """The minibatches of a rollout, in the buffer too; logs of it."""
        if not self.buffer.continues:
            self.algorithm.forget_episodes()
        minibatches, logs = self.algorithm.begin(rollout)
        self.buffer.begin(minibatches)
        self.algorithm.begin_update(rollout)
        return minibatches, {**logs, **judge_logs(rollout)}

    def _run_collect(self) -> LogData:
        if self.buffer.exhausted:  # clearing it failed in the last step
            self.buffer.clear()
        if len(self.buffer) == 0:  # cleared here or by the caller
            self.agent.acted_version = None
        return super()._run_collect()

    def _check_learners(self, config: Any) -> None:
        """Check the config; an error if the trainer overrides what learners replace."""
        super()._check_learners(config)
        self._refuse_own(type(self), OnPolicyTrainer, ("_run_train", "begin_learning"))

    def _make_learners(self) -> Any:
        if self.config.learners:
            self._refuse_own(type(self.agent), abstractions.Agent, ("learn",))
        return super()._make_learners()

    def _refuse_own(self, kind: type, base: type, names: tuple[str, ...]) -> None:
        for name in names:
            if getattr(kind, name) is not getattr(base, name):
                said = f"they would not call {name} of {kind.__module__}: choose 0"
                raise self.config.error("learners", said)

    def state_dict(self) -> dict[str, Any]:
        if self.learners is None:
            return super().state_dict()
        self.learners.mirror()
        return {**super().state_dict(), "learners": self.learners.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        if self.learners is not None:
            self.learners.load_state_dict(state.get("learners", {"steps": []}))

    def _run_train(self) -> LogData:
        minibatches: Any = self.buffer.passes
        learners, rollout, logs = self.learners, None, {}
        begins = minibatches is None if learners is None else learners.done
        if begins:
            rollout, logs = self.rollout_due()
            if rollout is None:
                self.buffer.clear()
                return self._log("train", logs)
        if learners is not None:
            logs = learners.step(rollout, continues=self.buffer.continues)
            if learners.done:
                self.end_passes()
            return self._log("train", logs)
        if rollout is not None:  # compute the advantages of all of it first
            minibatches, logs = self.begin_learning(rollout)
        if not minibatches.exhausted:  # if all steps only reset
            logs |= self.algorithm.learn_from(minibatches, self.agent.learn)
        if minibatches.exhausted:
            self.end_passes()
        return self._log("train", logs)

    def end_passes(self) -> None:
        """Clear the buffer after the last minibatch of a rollout."""
        self.buffer.clear()


def judge_logs(rollout: TensorDict) -> Logs:
    """Mean rewards of a rollout `[T, N]` with `JudgedReward`: the judge's and the true
    ones; else nothing."""
    known = set(rollout.keys())
    if "true_reward" not in known:
        return {}
    steps = rollout[rollout["valid"]] if "valid" in known else rollout
    names = {"judged_reward": "reward", "true_reward": "true_reward"}
    return {name: steps[entry].mean() for name, entry in names.items()}
