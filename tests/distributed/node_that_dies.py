"""What `test_nodes.py` runs alone: one of two machines of a cluster dies in a run.

With a number of learners as an argument, these are on the machine that stays.
"""

import sys

import ray
from ray.cluster_utils import Cluster

from yieldrl.algorithms import ppo
from yieldrl.experiments import on_ray

MEMORY = 100 * 2**20


@ray.remote
class Guest:
    """Takes the place of a learner until the worker has one."""


def main(learners):
    """Prints what is lost with finished segments that were not fetched yet."""
    cluster = Cluster(True, head_node_args={"num_cpus": learners})
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY)]
    options = {"num_steps": 1024, "num_envs": 4, "eval_every": 0, "max_policy_lag": 2}
    options |= {"collection": "ray", "ray_address": cluster.address}
    options |= {"total_steps": 10**6, "num_epochs": 1, "learners": learners}
    ray.init(address=cluster.address)
    here = ray.get_runtime_context().get_node_id()
    guests = [on_node(here) for _ in range(learners)]
    with ppo.Trainer(ppo.Config(env_id="yieldrl/CartPole-v1", **options)) as trainer:
        for guest in guests:
            ray.kill(guest)
        segments = trainer.collector.segments
        rollouts = whole_rollouts(trainer)
        next(rollouts)
        asked = [call.answer for each in segments.requests for call in each.calls]
        ray.wait(asked, num_returns=len(asked), fetch_local=False)
        cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        for _ in range(4):
            check_rows(next(rollouts))
        print(segments.pool.lives, segments.lost)
    ray.shutdown()
    cluster.shutdown()


def on_node(node):
    """A guest on a node, once it is there."""
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    guest = Guest.options(num_cpus=1, scheduling_strategy=strategy(node, soft=False))
    guest = guest.remote()
    ray.get(guest.__ray_ready__.remote())
    return guest


def whole_rollouts(trainer):
    """Each rollout of training, with observations, before it is learned from."""
    for log in trainer():
        if log["log_type"] == "collect" and trainer.buffer.full:
            yield on_ray.with_obs(trainer, trainer.buffer.rollout())


def check_rows(rollout):
    """Each row continues the one before it, or an episode has ended there."""
    ended = rollout["terminated"] | rollout["truncated"]
    goes_on = (rollout["next_obs"][:-1] == rollout["obs"][1:]).all(-1)
    assert rollout["obs"].shape == (1024, 4, 4)
    assert (goes_on | ended[:-1]).all()


if __name__ == "__main__":
    main(int(sys.argv[1]))
