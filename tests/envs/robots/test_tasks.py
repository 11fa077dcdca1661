"""Robots of other packages, where they are: tasks, seeds and experts."""

import importlib.util

import numpy as np
import pytest

from yieldrl.algorithms import sac
from yieldrl.benchmarks.experts import push_t as rule
from yieldrl.envs import expert_actions, make

EXPERT = "yieldrl.benchmarks.experts.push_t:PushTExpert"
REACH = {
    "env_id": "metaworld:Meta-World/MT1",
    "env_kwargs": {"env_name": "reach-v3", "seed": 1, "terminate_on_success": True},
    "wrappers": ("yieldrl.envs.robots:MetaWorld",),
}
PUSH = {**REACH, "env_kwargs": {**REACH["env_kwargs"], "env_name": "push-v3"}}
PUSH_T = {
    "env_id": "gym_pusht:gym_pusht/PushT-v0",
    "wrappers": ("yieldrl.envs.robots:PushT", EXPERT),
}
REPEATED = {**PUSH, "wrappers": ("yieldrl.envs.robots:MetaWorldRepeated",)}
MOVES = {**PUSH_T, "wrappers": ("yieldrl.envs.robots:PushTMoves", EXPERT)}
TASKS = [REPEATED, PUSH_T, {"env_id": "gymnasium_robotics:FetchPush-v4"}]


def config(task, **options):
    """Skips where the package of a task is missing."""
    package = task["env_id"].partition(":")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}: make robots")
    return sac.Config(**task, **options)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
class TestTasks:
    @pytest.mark.parametrize("task", TASKS)
    def test_they_are_learned_in_by_their_ids(self, task):
        """Three gradient steps, and an evaluation that says what succeeded."""
        small = {"hidden_sizes": (8,), "batch_size": 4}
        steps = {"total_steps": 6, "learning_starts": 4, "buffer_size": 100}
        options = {**small, **steps, "eval_every": 0, "device": "cpu"}
        trainer = sac.Trainer(config(task, **options))
        list(trainer())
        assert trainer.agent.learn_step == 3
        assert 0 <= trainer.evaluate(1)["logs"]["success_rate"] <= 1

    def test_environments_of_a_batch_have_goals_of_their_own(self):
        settings = config(REACH, num_envs=3)
        goals = [make(settings.env_id, settings).reset(seed=5)[0] for _ in range(2)]
        assert np.array_equal(*goals)
        assert len({goal.tobytes() for goal in goals[0][:, 36:]}) == 3

    @pytest.mark.parametrize(
        ("task", "steps"),
        [(REACH, 100), (PUSH, 120), (REPEATED, 40), (PUSH_T, 250), (MOVES, 280)],
    )
    def test_the_experts_succeed(self, task, steps):
        """In each of ten environments, which begin differently."""
        settings = config(task, num_envs=10)
        envs = make(settings.env_id, settings)
        envs.reset(seed=0)
        ended = np.zeros(10, bool)
        for _ in range(steps):
            ended |= envs.step(expert_actions(envs))[2]
        assert ended.all()

    def test_the_rule_for_push_t_knows_what_a_push_does(self):
        """Its arithmetic beside the simulator's, which leaves a tenth of a pixel."""
        settings = config(PUSH_T)
        world = make(settings.env_id, settings).envs[0].unwrapped
        depth, pose = 2.0, np.array([250.0, 250, 0.7])
        told = rule.pushed(rule.CONTACTS, rule.NORMALS, np.array([depth]))[0]
        for contact in range(0, len(rule.CONTACTS), 5):
            world.reset(seed=0)
            block, disk = world.block, world.agent
            block.angle, block.position = pose[2], tuple(pose[:2])
            disk.position = tuple(rule.to_table(rule.DISKS[contact], pose))
            disk.velocity = tuple(40 * rule.rotated(rule.NORMALS[contact], pose[2]))
            for _ in range(5):  # of 0.01 s: 2 pixels
                world.space.step(0.01)
            disk.velocity = 0, 0
            for _ in range(30):  # until they no longer overlap
                world.space.step(0.01)
            now = np.array([*block.position, block.angle])
            found = rule.to_frame(rule.to_table(rule.CORNERS, now), pose)
            assert found == pytest.approx(told[contact], abs=0.2)
            assert abs(found - rule.CORNERS).max() > 1.8
