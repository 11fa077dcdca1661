"""The schedule of MBPO: step, fit the model, imagine, and learn from both."""

from collections.abc import Mapping
from typing import Any

from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms import sac
from yieldrl.imagination import ReplayedImagination

from .algorithm import Algorithm
from .config import Config


class Trainer(sac.Trainer):
    """SAC's, with a model that is fitted anew every `model_every` steps."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
    imagination: ReplayedImagination

    def _make_parts(self, *args: Any, **kwargs: Any) -> None:
        super()._make_parts(*args, **kwargs)
        parts = self.agent.algorithm, self.buffer
        self.imagination = ReplayedImagination(*parts, **self.transition_parts)
        self.imagination.elsewhere = self._make_imagination()

    def _run_train(self) -> LogData:
        now, logs = self.agent.sample_step, {}
        if self.imagination.due(now):
            logs = self.imagination.refresh(now)
        log = super()._run_train()
        log["logs"] |= logs
        return log

    def _replay(self) -> Logs:
        """One gradient step on a batch that is real in part."""
        return self.agent.learn(self.imagination.sample(self.config.batch_size))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "imagination": self.imagination.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.imagination.load_state_dict(state["imagination"])
