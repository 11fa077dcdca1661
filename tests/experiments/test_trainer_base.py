"""Parts that are passed to a trainer."""

from yieldrl.algorithms import ppo
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
