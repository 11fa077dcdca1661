"""The schedule of behaviour cloning."""

import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import gymnasium
import torch
from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms.ppo import Model
from yieldrl.buffers import Demonstrations, Windows, read_dataset, write_dataset
from yieldrl.collectors import Collector, SyncCollector
from yieldrl.collectors.expert import Expert, expert_envs, find_rule
from yieldrl.core import ranks
from yieldrl.core.conversion import check_shapes
from yieldrl.envs.wrappers import ActionChunks
from yieldrl.language import writer_or

from .agent import Agent
from .algorithm import Algorithm
from .config import Config

ACCURACY_EVERY = 10  # gradient steps; it costs half a gradient step


class Trainer(abstractions.Trainer):
    """Let an expert act, or read what one did; then learn to do as it does.

    In `ActionChunks` the expert acts step by step; cloned are the next L actions.
    """

    config: Config
    buffer: Demonstrations

    config_class = Config
    model_class = staticmethod(writer_or(Model))
    algorithm_class = Algorithm
    agent_class = Agent
    _learns_in_step = True
    _evaluated_by = "learn_step"

    @property
    def _demonstrated(self) -> bool:
        return self.buffer.full and self.agent.sample_step >= len(self.buffer)

    @property
    def training_done(self) -> bool:
        return self._demonstrated and self.agent.learn_step >= self.learn_steps

    @property
    def learning_due(self) -> bool:
        ready = self._demonstrated and not self.training_done
        return ready and not self._evaluation_due  # evaluate first

    @property
    def learn_steps(self) -> int:
        """Gradient steps in all, once the demonstrations are there."""
        config = self.config
        if config.learn_steps is not None:
            return config.learn_steps
        windows, size = self.buffer.windows, config.batch_size
        if ranks().count > 1:  # the same in all processes
            return config.num_epochs * -(-len(self.buffer) // size)
        return config.num_epochs * windows.num_minibatches(size, whole=self.whole)

    def share_of_rate(self, learn_step: int) -> float:
        """The learning rate of a gradient step, in units of the config's."""
        config = self.config
        share = min(1.0, (learn_step + 1) / max(1, config.warmup_steps))
        left = 1 - learn_step / self.learn_steps
        return share * left if config.anneal_learning_rate else share

    @cached_property
    def whole(self) -> bool:
        """Whether chunks that an episode's end cuts short are left out: actions that do
        not exist cannot be taken from one log-probability for the whole of a chunk."""
        if self.buffer.chunk_length is None:
            return False
        one = self.agent.in_its_words(self.buffer.windows.minibatch(0, 1, values=False))
        with torch.no_grad():
            log_prob, *_ = self.model.evaluate_actions(one["obs"], one["action"])
        return log_prob.ndim == 1

    def make_buffer(self) -> Demonstrations:
        config, envs = self.config, expert_envs(self.envs)
        spaces = envs.single_observation_space, envs.single_action_space
        chunked = isinstance(self.envs, ActionChunks)
        options: dict[str, Any] = {
            "chunk_length": self.envs.length if chunked else None,
            "gamma": config.gamma,
            "device": self.agent.device,
            "exact_obs": self.model.exact_obs,
            "seed": ranks().derive_seed(config.seed, "buffer"),
        }
        if find_rule(config.demonstrations, envs) is None:
            options["skip_no_ops"] = config.skip_no_ops
            return read_dataset(config.demonstrations, *spaces, **options)
        steps = -(-config.demonstration_steps // (envs.num_envs * ranks().count))
        return Demonstrations(steps, *spaces, num_envs=envs.num_envs, **options)

    def make_collector(self) -> Collector:
        config, envs = self.config, expert_envs(self.envs)
        rule = find_rule(config.demonstrations, envs)
        acts: Any = self.agent  # unused with a data set
        if rule is not None:
            acts = Expert(rule, envs, self.agent, config.expert_noise)
        seed, rows = ranks().derive_seed(config.seed, "envs"), self.buffer.num_steps
        options = {"seed": seed, "report_every": min(128, rows)}
        return SyncCollector(envs, acts, self.buffer, **options)

    def update(self, rollout: TensorDict) -> Logs:
        """One gradient step on all actions of a rollout `[T, N]`, the policy's."""
        check_shapes(rollout)
        windows = Windows(
            rollout.to(self.agent.device), None, self.config.gamma, seed=0
        )
        values = self.algorithm.learns_values
        data = windows.minibatch(0, rollout.numel(), values=values)
        return abstractions.Agent.learn(self.agent, data)

    def _run_collect(self) -> LogData:
        folder = self.config.save_demonstrations if ranks().first else None
        if self.buffer.full:  # from the start with a data set
            self.agent.counters.sample_step = len(self.buffer)
            return self._log("collect", self.buffer.statistics())
        if folder and self.agent.sample_step == 0 and Path(folder).exists():
            raise FileExistsError(
                f"save_demonstrations = {folder!r} is there already: name a folder that"
                " is not, or learn from it with demonstrations"
            )
        return super()._run_collect()

    def _run_train(self) -> LogData:
        agent, size = self.agent, self.config.batch_size
        if agent.learn_step == 0:
            self._prepare()
        self.algorithm.anneal(1 - self.share_of_rate(agent.learn_step))
        options = {"whole": self.whole, "values": self.algorithm.learns_values}
        windows = self.buffer.windows
        self.model.prepare_inputs(windows.steps)  # which keep them
        data = windows.minibatch(agent.learn_step, size, **options)
        logs = {} if agent.learn_step % ACCURACY_EVERY else agent.accuracy(data)
        return self._log("train", {**agent.learn(data), **logs})

    def _prepare(self) -> None:
        """Write the demonstrations, and fit the model's statistics to them."""
        folder = self.config.save_demonstrations if ranks().first else None
        if folder is not None and not Path(folder).exists():
            spec = copy.deepcopy(gymnasium.registry.get(self.config.env_id))
            if spec is not None:
                spec.kwargs.update(self.config.env_kwargs)
            write_dataset(folder, self.buffer, env_spec=spec)
        self.agent.counters.policy_version += 1
        self.model.update_normalization(self.buffer.rollout())
        ranks().broadcast_module(self.model)
