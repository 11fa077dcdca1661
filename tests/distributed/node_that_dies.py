"""What `test_nodes.py` runs alone: one of two machines of a cluster dies in a run."""

import ray
from ray.cluster_utils import Cluster

from yieldrl.algorithms import ppo

MEMORY = 100 * 2**20


def main():
    """Prints what is lost with finished segments that were not fetched yet."""
    cluster = Cluster(True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY)]
    options = {"num_steps": 1024, "num_envs": 4, "eval_every": 0, "max_policy_lag": 2}
    options |= {"collection": "ray", "ray_address": cluster.address}
    config = ppo.Config(env_id="yieldrl/CartPole-v1", total_steps=10**6, **options)
    with ppo.Trainer(config) as trainer:
        segments = trainer.collector.segments
        trainer.collector.collect(1024)
        asked = [call.answer for each in segments.requests for call in each.calls]
        ray.wait(asked, num_returns=len(asked), fetch_local=False)
        cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        rollouts = [trainer.collector.collect(1024) for _ in range(4)]
        assert all(rollout.shape == (1024, 4) for rollout in rollouts)
        print(segments.pool.lives, segments.lost)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
