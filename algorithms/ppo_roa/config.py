"""Hyper-parameters of PPO with regularized online adaptation."""

from typing import Literal

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo.config import check_whole_sequences
from yieldrl.core import Coefficient, Count, LearningRate, UnitInterval

from .phases import PHASES


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """A teacher that is told what is hidden, and a student that infers it."""

    env_id: str = "yieldrl/HiddenPendulum-v1"
    """Environment whose Dict observations hold the `privileged_obs` beside all else."""

    num_envs: int = 64
    num_steps: int = 32
    num_epochs: int = 5
    total_steps: int = 1_000_000

    privileged_obs: tuple[str, ...] = ("privileged",)
    """Names of the entries of a Dict observation that are there in training alone. The
    teacher's encoder reads them, and by default the critic; the student never does."""

    phase_steps: tuple[int, ...] = ()
    """Environment steps of the phases train, adapt and finetune, which add up to
    `total_steps`; 0 leaves a phase out. By default train takes 60 % of them, adapt 10 %
    and finetune the rest. More of train make a better teacher, more of the others a
    better student."""

    latent_size: Count = 8
    """Width of what the encoder makes of the privileged observations, and of what the
    student infers of it. Wider can say more and is harder to infer."""

    adaptation: Literal["mlp", "gru"] = "mlp"
    """The student's network: an `mlp` over a window of observations and actions, or a
    `gru` over all of the episode, whose loop over time takes a minute to compile."""

    window: Count = 16
    """Steps of the episode that the `mlp` sees. Longer can infer more and takes longer
    to compute and to learn. The `gru` does not use it."""

    gru_size: Count = 32
    """Width of the `gru`, which is all that it remembers. Wider can remember more. The
    `mlp` does not use it."""

    adaptation_epochs: Count = 2
    """Passes over each rollout for the adaptation module and for imitating the teacher,
    after those of PPO. More follow the teacher faster."""

    adaptation_learning_rate: LearningRate = 1e-3
    """Learning rate of the adaptation module and of imitation. Higher follows the
    teacher faster, too high never gets close."""

    ema_coef: UnitInterval = 0.04
    """Share of the adaptation module in its moving average, which infers when the
    student acts, after every rollout. Higher follows faster and less smoothly."""

    regularizer_coef: Coefficient = 0.1
    """Weight of the regulariser, which keeps what the teacher encodes close to what the
    student can infer. Higher makes it easier to infer, at the price of the teacher's
    freedom; 0 turns it off."""

    regularizer_ramp: tuple[float, float] = (0.1, 0.5)
    """Shares of the phase train between which the regulariser's weight rises linearly
    from 0. Later lets the teacher learn freely for longer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        steps, total = self.phase_steps, self.total_steps
        if steps and (len(steps) != len(PHASES) or min(steps) < 0):
            remedy = f"give {len(PHASES)} numbers, 0 or more"
            raise self.error("phase_steps", f"{remedy}, for {', '.join(PHASES)}")
        if steps and sum(steps) != total:
            differ = f"they add up to {sum(steps)}, and total_steps is {total}"
            raise self.error("phase_steps", f"{differ}: choose the same for both")
        begin, end = self.regularizer_ramp
        if not 0 <= begin <= end <= 1:
            remedy = "choose two shares, 0 <= begin <= end <= 1"
            raise self.error("regularizer_ramp", remedy)
        if not self.privileged_obs:
            raise self.error("privileged_obs", "name what the teacher is told")
        if shared := {*self.actor_obs} & {*self.privileged_obs}:
            never = f"the student never sees {sorted(shared)}"
            raise self.error("actor_obs", f"{never}: leave out privileged_obs")
        check_whole_sequences(self)

    def phase_lengths(self) -> dict[str, int]:
        """Environment steps of each phase."""
        train, adapt = self.total_steps * 6 // 10, self.total_steps // 10
        default = train, adapt, self.total_steps - train - adapt
        return dict(zip(PHASES, self.phase_steps or default, strict=True))

    def phase_at(self, sample_step: int) -> str:
        """The phase of a rollout that begins after so many environment steps."""
        end, lengths = 0, self.phase_lengths()
        for name, length in lengths.items():
            end += length
            if sample_step < end:
                return name
        return [name for name, length in lengths.items() if length > 0][-1]

    def regularizer_at(self, sample_step: int) -> float:
        """The regulariser's weight after so many environment steps."""
        begin, end = self.regularizer_ramp
        done = sample_step / max(1, self.phase_lengths()["train"])
        risen = (done - begin) / (end - begin) if end > begin else float(done >= begin)
        return self.regularizer_coef * min(1.0, max(0.0, risen))
