"""The mathematics of PPO with regularized online adaptation.

Fu, Cheng & Pathak 2022, "Deep Whole-Body Control", arXiv:2210.10044, section 3.2, with
the phases, modules and losses of the ROA that trains a teacher and a student apart.
"""

from collections.abc import Iterator
from typing import Any, Self

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import mse_loss

from yieldrl.abstractions import LogData, Logs, LogType
from yieldrl.algorithms import ppo
from yieldrl.algorithms.remembering import RememberingAgent
from yieldrl.buffers import Minibatches, sequences, transitions
from yieldrl.networks import set_train_mode, update_target

from .config import Config
from .model import Model
from .phases import NAMES, trained


class Algorithm(ppo.Algorithm):
    """PPO of the acting actor, then adaptation, on each rollout.

    With the encoder's latent `z` of the privileged observations and the latent `z'` of
    the adaptation module, the losses are, `sg` being a stopped gradient,

        train     PPO(teacher) + w |z - sg(z')|^2,  |z' - sg(z)|^2,  imitation
        adapt                                       |z' - sg(z)|^2,  imitation
        finetune  PPO(student),                     |z' - sg(z)|^2

    where squares are means over the latent's numbers, and imitation is the squared
    distance of the student's means to the teacher's.

    Differs from the paper: student and teacher have an actor each, and the regulariser
    takes what was inferred when acting for `z'`. PPO of the student begins with moments
    of its own in Adam, the critic's too.

    Attributes:
        adapting: Whether the next minibatch is one of adaptation.
        regularizer: The regulariser's current weight, 0-dim.
        student_optimizer: PPO's while the student acts; `optimizer` the teacher's.
    """

    config: Config
    model: Model

    adapting = False

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.student_optimizer = self.optimizer_of(trained("finetune", "ppo"))
        self.adaptation_optimizer = self.optimizer_of(
            trained("train", "adapt", "imitate"), config.adaptation_learning_rate
        )
        self.regularizer = torch.zeros((), dtype=torch.float32, device=self.device)
        self.enter(config.phase_at(0))

    def enter(self, phase: str) -> None:
        """Begin a phase, if it is not the current one, with a new `policy_version`, and
        with the moving average at the newest weights; nothing older is learned from."""
        if phase != self.model.phase:
            self.model.enter(phase)
            update_target(self.model.adapt_module, self.model.adapt_ema, 1.0)
            self.counters.policy_version += 1
            self.counters.learns_since = self.counters.policy_version

    def advance(self) -> None:
        """Begin the phase that is due, if it is later than the current one.

        A finished run that is continued to more `total_steps` does not begin again.
        """
        due = self.config.phase_at(self.counters.sample_step)
        if NAMES.index(due) > NAMES.index(self.model.phase):
            self.enter(due)

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """Start the update; RuntimeError if the rollout is of an earlier phase."""
        version = rollout.get("policy_version", None)
        if version is not None and bool((version < self.counters.learns_since).any()):
            raise RuntimeError(
                f"the rollout was collected before the phase {self.model.phase!r}"
                " began, in which another policy acts: collect another one"
            )
        return super().begin(rollout)

    def make_optimizer(self) -> torch.optim.Optimizer:
        return self.optimizer_of(trained("train", "ppo"))

    def optimizer_of(
        self, modules: list[str], rate: float | None = None
    ) -> torch.optim.Optimizer:
        """Adam for some of the six modules."""
        parameters = [p for name in modules for p in self.model.parameters_of(name)]
        rate = self.config.learning_rate if rate is None else rate
        return torch.optim.Adam(parameters, lr=rate, eps=1e-5, fused=True)

    def _param_groups(self) -> list[dict[str, Any]]:
        """Groups whose learning rate is annealed or follows the KL: those of PPO."""
        return self.optimizer.param_groups + self.student_optimizer.param_groups

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs of PPO, then of adaptation, over sequences of whole environments."""
        epochs = self.ppo_epochs + self.config.adaptation_epochs
        sizes = epochs, self.config.num_minibatches
        return Minibatches(self.samples(data), *sizes, seed, sequences=True)

    def samples(self, data: TensorDict) -> TensorDict:
        """Sequences `[N, T]`; of the `memory` only the history before each of them."""
        history, last_action = self.model.split(data["memory"])
        split = {"memory": history, "last_action": last_action}
        return sequences(data.copy().update(split), starts=["memory"])

    @property
    def ppo_epochs(self) -> int:
        """PPO's epochs over a rollout in the current phase."""
        return self.config.num_epochs if trained(self.model.phase, "ppo") else 0

    def update(self, minibatches: Minibatches) -> Iterator[Logs]:
        """PPO's gradient steps, then adaptation's; the last may end the phase."""
        first = self.ppo_epochs * minibatches.num_minibatches
        while not minibatches.exhausted:
            self.adapting = minibatches.position >= first
            if self.adapting:
                with self.learning():
                    logs = self.learn(minibatches.minibatch())
                minibatches.advance()
            else:
                logs = next(super().update(minibatches))
                # `target_kl` ends PPO's epochs alone.
                minibatches.position = min(minibatches.position, first)
            if minibatches.exhausted:
                modules = self.model.adapt_module, self.model.adapt_ema
                update_target(*modules, self.config.ema_coef)
                self.advance()
            yield logs

    def update_normalization(self, rollout: TensorDict) -> None:
        """Update running statistics; those of observations only in `train`."""
        if self.model.teacher_acts:
            super().update_normalization(rollout)
        elif self.reward_scaler is not None:
            self.reward_scaler.update(rollout)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on sequences `[T, n]`; only its learners in train mode."""
        model, limit = self.model, self.config.max_grad_norm
        if model.training:
            model.eval()
            kinds = ("adapt", "imitate") if self.adapting else ("ppo",)
            for name in trained(self.model.phase, *kinds):
                for part in model.parts_of(name):
                    set_train_mode(part)
        if self.adapting:
            optimizer = self.adaptation_optimizer
            return self.minimize(self.adaptation_loss, data, optimizer, limit)
        if not model.teacher_acts:
            return self.minimize(self.loss, data, self.student_optimizer, limit)
        self.regularizer.fill_(self.config.regularizer_at(self.counters.sample_step))
        return self.minimize(self.loss, data, self.optimizer, limit)

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """PPO's objective, and the regulariser while the teacher learns."""
        flat = transitions(data.exclude("memory", "last_action", "first"))
        latent = self.model.latent(flat["obs"], flat["priv_pred"])  # once, for both
        inputs = self.model.inputs(flat).set("latent", latent)
        evaluated = self.model.evaluate_actions(inputs, flat["action"])
        loss, logs = super().loss(flat, evaluated)
        if self.config.regularizer_coef > 0 and self.model.teacher_acts:
            gap = mse_loss(latent, flat["priv_pred"])
            loss = loss + self.regularizer * gap
            logs |= {"loss": loss.detach(), "regularizer_loss": gap.detach()}
        return loss, logs

    def adaptation_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of inferring the encoder's latent, and of imitating the teacher.

        On sequences `[T, n]`: the gradient flows back through time to their start.
        """
        model = self.model
        steps = data.select("obs", "valid", strict=False)
        flat = transitions(steps.set("inferred", model.infer_sequence(data)))
        obs, inferred = flat["obs"], flat["inferred"]
        with torch.no_grad():
            encoded = model.encoded(obs)
        loss = mse_loss(inferred, encoded)
        logs = {"adaptation_loss": loss}
        if trained(self.model.phase, "imitate"):
            features = model.encode_obs(obs)
            with torch.no_grad():
                teacher = model.actor(torch.cat((features, encoded), dim=-1))
            student = model.actor_adapt(torch.cat((features, inferred.detach()), -1))
            logs["imitation_loss"] = mse_loss(student, teacher)
            loss = loss + logs["imitation_loss"]
        logs = {"loss": loss, **logs}
        return loss, {name: metric.detach() for name, metric in logs.items()}


class Agent(RememberingAgent):
    """PPO's, with the history of its episodes as memory.

    The teacher acts in the phase `train`, the student in the others.
    """

    config: Config

    def act(self, inputs: Any, generator: torch.Generator | None) -> dict[str, Any]:
        model, extras = self.algorithm.model, {}
        priv_pred, watched = model.infer(inputs)
        seen = {"obs": inputs["obs"], "priv_pred": priv_pred}
        if generator is None:
            action = model.predict(seen)
        else:
            record = self.records_log_prob
            action, extras = model.sample(seen, generator, record=record)
        remembered = model.remember(watched, self.border.actions.to_env(action))
        extras |= {"priv_pred": priv_pred, "remembered": remembered}
        return {"action": action, **extras}

    def as_student(self) -> Self:
        """A new agent in which the student acts, with a copy of the current weights."""
        return self._in_phase("finetune")

    def as_teacher(self) -> Self:
        """A new agent in which the teacher acts, with a copy of the current weights."""
        return self._in_phase("train")

    def _in_phase(self, phase: str) -> Self:
        agent = type(self)(self.algorithm.acting_copy(), self.config)
        agent.algorithm.model.enter(phase)
        return agent

    def to_export(self) -> Self:
        """The student, whose model has no modules that only the teacher needs."""
        student = super().to_export()
        model = student.algorithm.model
        model.enter("finetune")
        for name in ("encoder_priv", "actor", "adapt_module", "log_std"):
            setattr(model, name, None)
        number = int(model.phase_number)  # a constant, for export
        del model.phase_number
        vars(model)["phase_number"] = number
        return student


class Trainer(ppo.Trainer):
    """PPO's, and after it, on each rollout, adaptation.

    The `phase` in the logs is 0 for train, 1 for adapt, 2 for finetune. It begins with
    the first rollout after the last step of the one before; a rollout that was begun in
    another phase is dropped.
    """

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def _outdated(self) -> bool:
        """Whether the current rollout was begun in another phase."""
        now = self.agent.counters
        begun = now.acted_version if len(self.buffer) > 0 else None
        return begun is not None and begun < now.learns_since

    def _run_collect(self) -> LogData:
        if self._outdated:  # discard the rollout
            self.buffer.clear()
            if self.config.collection == "sync":
                self.buffer.end_episodes()  # the next rollout continues none
        if len(self.buffer) == 0:
            self.agent.algorithm.advance()  # it may be loaded with other phases
        return super()._run_collect()

    def _run_train(self) -> LogData:
        if self._outdated:
            return self._run_collect()
        phase = self._phase  # the last step may begin another phase
        log = super()._run_train()
        log["logs"]["phase"] = phase
        return log

    def _log(self, kind: LogType, logs: Logs) -> LogData:
        return super()._log(kind, {**logs, "phase": self._phase})

    @property
    def _phase(self) -> float:
        return float(self.agent.algorithm.model.phase_number)
