"""What `test_nodes.py` runs alone: one of two machines of a cluster dies in a run.

With learners, finished segments are here, and only their observations are there.
"""

import sys

import ray
from ray.cluster_utils import Cluster

from yieldrl.algorithms import ppo

MEMORY = 100 * 2**20


def main(learners):
    """Prints what is lost with finished segments that were not fetched yet."""
    cluster = Cluster(True, head_node_args={"num_cpus": 0})
    machine = {"num_cpus": 1 + learners, "object_store_memory": MEMORY}
    nodes, steps = [cluster.add_node(**machine)], 512 if learners else 1024
    options = {"num_steps": steps, "num_envs": 4, "eval_every": 0, "max_policy_lag": 2}
    options |= {"learners": learners}
    options |= {"collection": "ray", "ray_address": cluster.address}
    config = ppo.Config(env_id="yieldrl/CartPole-v1", total_steps=10**6, **options)
    with ppo.Trainer(config) as trainer:
        segments = trainer.collector.segments
        trainer.collector.collect(steps)
        asked = [call.answer for each in segments.requests for call in each.calls]
        ray.wait(asked, num_returns=len(asked), fetch_local=False)
        cluster.add_node(**machine)
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        rollouts = [trainer.collector.collect(steps) for _ in range(4)]
        assert all(rollout["obs"].shape == (steps, 4, 4) for rollout in rollouts)
        print(segments.pool.lives, segments.lost)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
