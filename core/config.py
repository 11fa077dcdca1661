"""The base of every algorithm's config: typed, frozen, validated, loadable."""

from dataclasses import field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.core.checked import Checked
from yieldrl.core.fields import Count, Plain, Steps, StepsOrZero
from yieldrl.core.files import wrong_name


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """Settings that every algorithm has.

    An algorithm's own config inherits these fields and adds its hyper-parameters. The
    docstring under a field is its help text on the command line. A variant that has no
    use for a field of its parent annotates it as a `ClassVar`: then it is a constant
    that inherited code may read, and neither an argument nor an option. ValueError,
    with field, value and remedy, if a value has the wrong type or range.
    """

    report_every: ClassVar[Any] = 128  # steps between reports of tensor environments
    uncompiled: ClassVar[str | None] = None
    """Why gradient steps are not compiled, but on a GPU recorded at most; or None."""

    env_id: str = "CartPole-v1"
    """Id of a registered environment, for example `Pendulum-v1`, `ALE/Pong-v5` or
    `yieldrl/CartPole-v1`; `my_module:MyEnv-v0` imports `my_module` first, and
    `my_module:MyEnv` is a class or function in it that makes environments."""

    env_kwargs: Plain = field(default_factory=dict)
    """Keyword arguments for the environment's constructor: None, bools, numbers, text,
    and lists and mappings of them; tuples become lists."""

    wrappers: tuple[str, ...] = ()
    """Wrappers to put around every environment, the innermost first, for example
    `gymnasium.wrappers:FlattenObservation`. A vector environment that you pass is taken
    as it is; an id that makes a batch in one object is refused."""

    num_envs: Count = 4
    """Number of environments stepped side by side. More give more varied data for each
    update, and more steps per second where a batch is one object or each environment
    has a process; they also take more memory."""

    vectorization: Literal["auto", "sync", "async"] = "auto"
    """How environments become a batch: `sync` steps one after the other in this
    process, `async` gives each a process of its own, which pays where a step is slow;
    `auto` takes the environment's own batched version where it has one that can reset
    within a step, and `sync` otherwise."""

    total_steps: Steps = 100_000
    """Environment steps to train for, counted over all environments. Schedules such as
    annealing run over them, so more steps also make schedules slower."""

    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1
    """Seed of networks, exploration, sampling and environments, from 0 to 2147483647.
    Two runs of one seed and config, on one machine, are equal."""

    device: str = "auto"
    """Where networks and buffers live: `cpu`, `cuda`, `cuda:1`, `mps`; `auto` takes a
    GPU if there is one. Narrow networks are often faster on the CPU."""

    compile: bool = False
    """Have `torch.compile` compile gradient steps, and the evaluation of rollouts. That
    takes up to half a minute at the first of them, and pays in long runs with large
    minibatches. Results differ in their last digits. A method that you replace on a
    class, or a variable of the environment, does not change what is compiled. On a GPU
    gradient steps, and PPO's steps in worlds of tensors, become CUDA graphs too."""

    precision: Literal["float32", "bfloat16"] = "float32"
    """Digits in which gradient steps multiply matrices. `bfloat16` keeps two to three,
    which GPUs from NVIDIA's Ampere on do many times faster, CPUs with avx512_bf16 or
    amx_bf16 twice as fast, and others slower: it pays for images and wide networks.
    Weights, optimizer and actions stay float32."""

    threads: Annotated[int, Field(ge=1, le=1_024)] | None = None
    """CPU threads for PyTorch. By default one for vector observations, because more
    slow narrow networks down, and half of the cores for images. More pay for wide
    networks and large batches, up to the number of cores that nothing else uses."""

    log_every: Steps = 1
    """Steps of all environments for which the loop yields one log of collecting. More
    leave less to the loop and to loggers, and change nothing else."""

    eval_every: StepsOrZero = 10_000
    """Environment steps between evaluations, with another one at the end; 0 means none.
    A lower number shows progress in finer steps and takes more time."""

    eval_episodes: Annotated[int, Field(ge=1, le=10**6)] = 10
    """Episodes of each evaluation. More make the mean return less noisy and take
    longer."""

    eval_in_order: bool = False
    """Play each episode of an evaluation from a start of its own, fixed by a seed. By
    default an environment goes on where its last episode left its random numbers, so
    that later starts may depend on the policy."""

    run_root: str = "runs"
    """Folder that holds the folders of all runs."""

    run_name: str | None = None
    """Folder of this run below `run_root`, as `first` or `group/first`; by default
    algorithm, environment, seed and time."""

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
    """Behaviour at that limit: `wait` stops collecting until the learner has caught
    up, `drop` goes on, discards the oldest steps, and counts them."""

    wait_for_all: bool = True
    """Whether every rollout has steps of all rollout workers of `ray`. Without, it has
    those that arrive first, so that one that is slow or dies holds up no other."""

    ray_address: str = ""
    """Address of a Ray cluster to join: `auto` or `host:port`. By default Ray is
    started on this machine, and ended with the run."""

    rollout_workers: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Processes that step an equal share of the environments each, with `ray`."""

    env_timeout: Annotated[float, Field(gt=0, le=1e6)] = 600.0
    """Seconds that environments may take to be made, to be reset or for a step, with
    `ray`. A process in which they take longer is ended, and counts as dead."""

    inference_actors: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that choose the actions of all rollout workers, in batches, with `ray`:
    that pays for large policies. With 0 each worker has a copy of the policy."""

    learners: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that learn together, each from an equal share of every rollout, with
    `ray`. With 0 this process learns."""

    engine: Literal["ddp", "fsdp2", "deepspeed"] = "ddp"
    """Library that makes one model of the learners' copies: `ddp` keeps a whole copy in
    each, `fsdp2` a share of weights, gradients and optimizer (`fully_shard`),
    `deepspeed` what `zero_stage` says (the extra `[deepspeed]` has it)."""

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

    def __post_init__(self) -> None:
        self._check_places()
        if self.eval_in_order and self.eval_actors:
            raise self.error("eval_in_order", "actors have none: choose eval_actors=0")
        if not self.env_id:
            raise self.error("env_id", "name an environment, e.g. 'CartPole-v1'")
        if self.run_name is not None and (wrong := wrong_name(self.run_name)):
            raise self.error("run_name", wrong)

    def to_play(self) -> Self:
        """This config without training-only parts: processes, demonstrations."""
        return self.in_one_process() if self.collection == "ray" else self

    def in_one_process(self, **changes: Any) -> Self:
        """This config for use inside one process, without other processes."""
        alone: dict[str, Any] = {"collection": "sync", "replay_actor": False}
        alone |= {"wait_for_all": True}
        alone |= {"inference_actors": 0, "learners": 0, "eval_actors": 0}
        return replace(self, **alone, **changes)

    def _check_places(self) -> None:
        """Raise ValueError if Ray processes are set without `collection=ray`."""
        for name in ("inference_actors", "learners", "eval_actors", "replay_actor"):
            if getattr(self, name) and self.collection != "ray":
                raise self.error(name, "it is for processes of collection='ray'")
        if not self.wait_for_all and self.collection != "ray":
            raise self.error("wait_for_all", "it is for workers of collection='ray'")


@dataclass(frozen=True)
class SyncOnly:
    """Constants of a config whose algorithm supports only `sync` collection."""

    collection: ClassVar[Literal["sync"]] = "sync"
    max_policy_lag: ClassVar[int] = 0
    when_stale: ClassVar[Literal["wait"]] = "wait"
    wait_for_all: ClassVar[bool] = True
    ray_address: ClassVar[str] = ""
    rollout_workers: ClassVar[int] = 1
    env_timeout: ClassVar[float] = 600.0
    inference_actors: ClassVar[int] = 0
    learners: ClassVar[int] = 0
    engine: ClassVar[Literal["ddp"]] = "ddp"
    zero_stage: ClassVar[int] = 0
    learner_restarts: ClassVar[int] = 0
    eval_actors: ClassVar[int] = 0
    replay_actor: ClassVar[bool] = False
