"""Parts that are passed to a trainer, and the steps that it counts."""

from yieldrl.algorithms import dqn, ppo
from yieldrl.algorithms.off_policy import rows_of
from yieldrl.collectors import Collector, SyncCollector


class Delegating(Collector):
    """A collector of somebody's own, which is none of ours."""

    def __init__(self, envs, agent, buffer, *, seed):
        self.inner = SyncCollector(envs, agent, buffer, seed=seed)

    def step(self):
        return self.inner.step()

    def reset(self, seed):
        self.inner.reset(seed)

    def state_dict(self):
        return self.inner.state_dict()

    def load_state_dict(self, state):
        self.inner.load_state_dict(state)


def test_a_collector_of_ones_own_collects_in_turn(tmp_path):
    config = ppo.Config(num_steps=8, total_steps=64, eval_every=0, device="cpu")
    trainer = ppo.Trainer(config, collector=Delegating)
    next(trainer())
    assert trainer.state_dict()["collection"] == "sync"
    trainer.save(tmp_path / "own.pt")
    assert ppo.Trainer.load(tmp_path / "own.pt").agent.sample_step == 4


def test_an_evaluation_is_due_at_the_first_step_after_each_multiple():
    with ppo.Trainer(ppo.Config(eval_every=100, total_steps=400)) as trainer:
        found = []
        for trainer.agent.counters.sample_step in range(8, 400, 8):
            if trainer._evaluation_due:
                found.append(trainer.agent.sample_step)
                trainer._evaluated_at = found[-1]
        assert found == [104, 200, 304]
        trainer.agent.counters.sample_step = 400  # the end, and no multiple of 8
        assert trainer._evaluation_due


def test_a_run_resumed_between_two_evaluations_waits_for_the_next(tmp_path):
    config = ppo.Config(num_envs=4, eval_every=16, eval_episodes=1, device="cpu")
    trainer = ppo.Trainer(config)
    for log in trainer():
        if log["sample_step"] == 20:
            break
    trainer.save(tmp_path / "own.pt")
    assert not ppo.Trainer.load(tmp_path / "own.pt")._evaluation_due


def test_every_row_of_a_rollout_is_learned_from_at_its_own_step():
    with dqn.Trainer(dqn.Config(num_envs=2, device="cpu")) as trainer:
        rollout, now = trainer.collector.collect(3), trainer.agent.counters
        assert [now.sample_step for _ in rows_of(trainer, rollout)] == [2, 4, 6]
