"""Interrupts asynchronous training at random, and checks every transition of it."""

import faulthandler
import random
import signal
import threading
from collections import Counter

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import dqn, n_step_dqn, ppo, ppo_lstm
from yieldrl.envs import SerialVectorEnv

NUM_ENVS, NUM_STEPS, PATIENCE = 2, 4, 120
LOGS = 2000  # far more than come before a signal does
OFF_POLICY = {"learning_starts": 8, "batch_size": 4, "hidden_sizes": (4,)}
ON_POLICY = {"num_steps": NUM_STEPS, "hidden_sizes": (4,), "num_minibatches": 2}
CASES = {
    ppo: ON_POLICY,
    ppo_lstm: {**ON_POLICY, "lstm_size": 4},
    dqn: {**OFF_POLICY, "train_every": 2},
    n_step_dqn: {**OFF_POLICY, "train_every": 2, "n_step": 3},
}


def checksum(number, action):
    """What an observation must say besides; exact in float32."""
    return (number * 31 + action * 17) % 97


class PlannedError(Exception):
    """What is raised on purpose."""


class Numbered(gym.Env):
    """Numbers its steps, over all episodes: `[number, latest action, checksum]`.

    Episodes last seven steps; the observation after a reset is the one before it.
    """

    observation_space = Box(-1e9, 1e9, (3,), np.float32)
    action_space = Discrete(2)

    def __init__(self):
        self.number = self.action = self.fails_in = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._obs(), {}

    def step(self, action):
        self.fails_in -= 1
        if self.fails_in == 0:
            raise PlannedError("environment")
        self.number, self.action = self.number + 1, int(action)
        reward = float(self.number % 13)
        return self._obs(), reward, self.number % 7 == 0, False, {}

    def _obs(self):
        number, action = self.number, self.action
        return np.array([number, action, checksum(number, action)], np.float32)


class Recorded(SerialVectorEnv):
    """Remembers the numbers of its steps that came to their end."""

    def __init__(self):
        super().__init__([Numbered] * NUM_ENVS)
        self.taken = []

    def step(self, actions):
        answer = super().step(actions)
        self.taken.append([env.unwrapped.number for env in self.envs])
        return answer


def check_row(row):
    """Whether a row `[N]` is one that Numbered made; the numbers of its steps."""
    obs, after = np.asarray(row["obs"]), np.asarray(row["next_obs"])
    for one in (obs, after):
        assert np.array_equal(one[:, 2], checksum(one[:, 0], one[:, 1])), "torn"
    assert np.array_equal(after[:, 0], obs[:, 0] + 1), "of two transitions"
    assert np.array_equal(after[:, 1], np.asarray(row["action"])), "another action"
    assert np.array_equal(np.asarray(row["reward"]), after[:, 0] % 13), "reward"
    assert np.array_equal(np.asarray(row["terminated"]), after[:, 0] % 7 == 0)
    return [int(number) for number in after[:, 0]]


def count_threads():
    """How many threads collect now."""
    return sum(t.name == "yieldrl collector" for t in threading.enumerate())


def waiting(collector):
    """Steps of all environments that are there and not handed over."""
    background, now = collector.segments, collector._segment
    rest = len(now.logs) - collector._row if now is not None else 0
    whole = sum(len(r.segment.logs) for r in background.requests if r.segment)
    return rest + whole + len(background._writer.rows)


class Watched:
    """A trainer of which every transition is checked, when it is handed over and when
    it is learned from.

    Attributes:
        seen: The numbers of the steps that were handed over.
        learned: Those of rollouts that were learned from and cleared.
    """

    def __init__(self, module, **options):
        config = module.Config(
            total_steps=10**6,
            eval_every=0,
            device="cpu",
            collection="async",
            **CASES[module],
            **options,
        )
        self.envs = Recorded()
        self.trainer = module.Trainer(config, envs=self.envs)
        self.buffer = self.trainer.buffer
        self.collector = self.trainer.collector
        self.seen = []
        self.learned = []
        self.has_rollouts = hasattr(self.buffer, "clear")
        self._watch()

    def _watch(self):
        take, learn = self.buffer.add, self.trainer.algorithm.learn

        def taken(row):
            numbers = check_row(row)
            take(row)
            self.seen.append(numbers)

        def learned(data):
            one = data["obs"].numpy()
            assert np.array_equal(one[..., 2], checksum(one[..., 0], one[..., 1]))
            return learn(data)

        self.buffer.add = taken
        self.trainer.algorithm.learn = learned
        if self.has_rollouts:
            self._watch_clear()

    def _watch_clear(self):
        clear = self.buffer.clear

        def cleared():
            rows = [check_row(row) for row in self.buffer.rollout()]
            assert self.buffer.exhausted
            clear()
            self.learned[len(self.learned) :] = rows  # by one instruction

        self.buffer.clear = cleared

    @property
    def dropped(self):
        """Steps of all environments that were too old."""
        return self.collector.segments.dropped // NUM_ENVS

    @property
    def waiting(self):
        return waiting(self.collector)

    def check(self):
        """Nothing that was collected is lost, torn or repeated."""
        self.check_handed_over()
        seen = self.seen
        # Ctrl-C may come between `clear` and the note that it was done.
        short = [row for row in seen if row not in self.learned]
        behind = len(seen) - len(self.learned)
        assert not self.has_rollouts or behind == len(short)

    def check_handed_over(self):
        """What was collected was handed over, it waits, or it was dropped."""
        self.collector.stop()
        taken, seen, dropped = self.envs.taken, self.seen, self.dropped
        assert len(taken) == len(seen) + self.waiting + dropped
        assert self.trainer.agent.sample_step == len(seen) * NUM_ENVS
        if dropped == 0:
            assert seen == taken[: len(seen)]
        numbers = [row[0] for row in seen]
        assert numbers == sorted(set(numbers)), "repeated"


class Interruptions:
    """Rounds of training, each of which something ends."""

    def __init__(self, watched, seed):
        self.watched, self.rng = watched, random.Random(seed)
        self.happened = Counter()
        agent = watched.collector.segments.actor
        self._fails_in = {"policy": 0, "learner": 0}
        self._fail_sometimes(agent, "sample", "policy")
        self._fail_sometimes(watched.trainer.algorithm, "learn", "learner")

    def round(self):
        kinds = ["environment", "policy", "learner", "logger", "break", "close"]
        kind = self.rng.choice([*kinds, "forgotten", "signal", "signal", "signal"])
        steps = self.rng.randint(1, 30)
        try:
            if kind == "signal":
                self._with_signal(steps)
            else:
                self._with(kind, steps)
        except PlannedError as reason:
            kind = str(reason)
        except KeyboardInterrupt:
            kind = "signal"
        self.happened[kind] += 1
        self.watched.check()

    def _with(self, kind, steps):
        if kind == "environment":
            env = self.rng.choice(self.watched.envs.envs).unwrapped
            env.fails_in = self.rng.randint(1, 10)
        elif kind in self._fails_in:
            self._fails_in[kind] = self.rng.randint(1, 10)
        logs = self.watched.trainer()
        for number, _ in enumerate(logs):
            if number < steps or kind in ("environment", *self._fails_in):
                continue
            if kind == "logger":
                raise PlannedError("logger")
            if kind == "close":
                logs.close()
            if kind == "break":
                break
            if kind == "forgotten":
                del logs
                return

    def _with_signal(self, steps):
        def press(*_):
            signal.raise_signal(signal.SIGINT)

        before = signal.signal(signal.SIGALRM, press)
        try:
            signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-4, 2e-2))
            for number, _ in enumerate(self.watched.trainer()):
                if number == LOGS:  # it came in a `__del__`, where Python swallows it
                    raise PlannedError("swallowed signal")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _fail_sometimes(self, owner, name, kind):
        function = getattr(owner, name)

        def flaky(*args):
            self._fails_in[kind] -= 1
            if self._fails_in[kind] == 0:
                raise PlannedError(kind)
            return function(*args)

        setattr(owner, name, flaky)


def interrupt(rounds, module, seed, **options):
    """Interrupt a trainer so often, check it, and let go of it: no thread is left.

    A round that hangs ends the process after two minutes, with all its tracebacks.
    """
    interruptions = Interruptions(Watched(module, **options), seed)
    try:
        for _ in range(rounds):
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            interruptions.round()
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert count_threads() == 0
    return interruptions
