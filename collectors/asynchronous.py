"""The asynchronous collector: it steps environments while the learner learns."""

import weakref
from typing import Any, NoReturn

from gymnasium.vector import VectorEnv

from yieldrl.collectors.background import Background
from yieldrl.collectors.protocols import check_parts
from yieldrl.collectors.segment_collector import SegmentCollector


class AsyncCollector(SegmentCollector):
    """Steps environments in a thread, with a copy of the policy.

    Every transition has the `policy_version` that acted, and the `log_prob` of policies
    that have one. The thread starts with the first `step`, and ends with `stop`, with
    the loop that used it, with the collector and with the program.

    Args:
        envs: A vector environment in any autoreset mode, which nothing else may step.
        agent: The agent that learns; the thread acts with its `actor()`.
        buffer: To which `step` adds each step.
        report_every: Steps between reports of episodes, for tensor environments.
        options: The others of a `SegmentCollector`.
    """

    in_background = True  # in a thread of its own

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        agent: Any,
        buffer: Any,
        *,
        report_every: int = 128,
        **options: Any,
    ) -> None:
        check_parts(envs, agent, buffer)
        background = Background(envs, agent, report_every=report_every)
        super().__init__(envs, agent, buffer, background, **options)
        weakref.finalize(self, background.stop)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "an AsyncCollector has a thread of its own, and cannot be copied or"
            " pickled. Save the trainer and load it instead:"
            " trainer.save('copy.pt'), then type(trainer).load('copy.pt')"
        )

    def step(self) -> dict[str, Any]:
        """Hand over one step, and newer weights to the thread."""
        self.segments.check()
        self.segments.run()
        return super().step()

    def check(self) -> None:
        """Raise the exception that ended the thread; nothing collected is lost."""
        self.segments.check()
        super().check()

    def stop(self) -> None:
        """Stop the thread between two steps, or leave it behind, with a warning."""
        self.segments.stop()
