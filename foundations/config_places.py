"""Config fields for collection in the background or on Ray."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.foundations.checked import Checked


@dataclass(frozen=True, kw_only=True)
class PlacesConfig(Checked):
    """Fields for how far collection runs ahead, and for the Ray processes of a run."""

    collection: Literal["sync", "async", "ray"] = "sync"
    """`sync` steps the environments and learns in turn; `async` steps them in a
    background thread, with a copy of the policy, which pays where acting or the
    environment waits for something else than this process; `ray` steps them in
    processes of Ray, on this machine or on many, which pays where a step takes long."""

    max_policy_lag: Annotated[int, Field(ge=0, le=1_000)] = 1
    """Most newer policies that there may be when a transition is learned from, unless
    collection is `sync`. More let collecting run further ahead, on older policies; with
    0 it waits while the learner learns."""

    when_stale: Literal["wait", "drop"] = "wait"
    """What happens at that limit: `wait` stops collecting until the learner has caught
    up, `drop` goes on, discards the oldest steps, and counts them."""

    ray_address: str = ""
    """Of a Ray cluster to join, with `ray`: `auto` or `host:port`. By default Ray is
    started on this machine, and ended with the run."""

    rollout_workers: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Processes that step an equal share of the environments each, with `ray`."""

    inference_actors: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that choose the actions of all rollout workers, in batches, with `ray`:
    that pays for large policies. With 0 each worker has a copy of the policy."""

    learners: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that learn together, each from an equal share of every rollout, with
    `ray`. With 0 this process learns."""

    engine: Literal["ddp", "fsdp2", "deepspeed"] = "ddp"
    """What makes one model of the learners' copies: `ddp` keeps a whole copy in each,
    `fsdp2` a share of weights, gradients and optimizer (`fully_shard`), `deepspeed`
    what `zero_stage` says (the extra `[deepspeed]` has it)."""

    zero_stage: Annotated[int, Field(ge=0, le=3)] = 2
    """Parts that `deepspeed` shards: with 1 the optimizer's state, with 2 gradients
    too, with 3 weights too, with 0 nothing. Higher takes less memory, and more time."""

    learner_restarts: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Times that a run of the command line goes on from its newest checkpoint after the
    process of a learner has died; then it ends."""

    eval_actors: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Processes that share the episodes of evaluations, with `ray`. With 0 this process
    plays them."""

    replay_actor: bool = False
    """Whether what is collected waits in a process of its own, with `ray`: the replay
    buffer, which pays where this process has no memory for it; of algorithms that learn
    from rollouts the segments, joined there, which pays with many workers."""

    def in_one_process(self, **changes: Any) -> Self:
        """This config for use inside one process, without other processes."""
        alone: dict[str, Any] = {"collection": "sync", "replay_actor": False}
        alone |= {"inference_actors": 0, "learners": 0, "eval_actors": 0}
        return replace(self, **alone, **changes)

    def _check_places(self) -> None:
        """Raise ValueError if Ray processes are set without `collection=ray`."""
        for name in ("inference_actors", "learners", "eval_actors", "replay_actor"):
            if getattr(self, name) and self.collection != "ray":
                raise self.error(name, "it is for processes of collection='ray'")


@dataclass(frozen=True)
class SyncOnly:
    """Constants of a config whose algorithm supports only `sync` collection."""

    collection: ClassVar[Literal["sync"]] = "sync"
    max_policy_lag: ClassVar[int] = 0
    when_stale: ClassVar[Literal["wait"]] = "wait"
    ray_address: ClassVar[str] = ""
    rollout_workers: ClassVar[int] = 1
    inference_actors: ClassVar[int] = 0
    learners: ClassVar[int] = 0
    engine: ClassVar[Literal["ddp"]] = "ddp"
    zero_stage: ClassVar[int] = 0
    learner_restarts: ClassVar[int] = 0
    eval_actors: ClassVar[int] = 0
    replay_actor: ClassVar[bool] = False
