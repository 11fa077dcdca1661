"""Imagined in actors, branches are those that would be imagined in process."""

import pytest
import torch
from factories import config_of, plain
from imagining import TINY, until_learning

from yieldrl.algorithms import grpo_imagined, mbpo, ppo_imagined
from yieldrl.distributed import Cluster, ImaginationPool

ray = pytest.importorskip("ray", reason="these tests need Ray")

GROUPS = {"group_size": 4, "num_branches": 16, "num_envs": 16, "num_steps": 3}
ALGORITHMS = {"ppo": ppo_imagined, "grpo": grpo_imagined, "mbpo": mbpo}
ON_RAY = {"collection": "ray", "rollout_workers": 1, "threads": 1}


def trainer(name, **options):
    module = ALGORITHMS[name]
    if name == "mbpo":
        config = config_of(mbpo, eval_every=0, total_steps=24, **options)
    else:
        own = GROUPS if name == "grpo" else {}
        config = module.Config(**{**TINY, **own, **options})
    return module.Trainer(config)


def learned(name):
    """An algorithm whose model has learned; starts, horizon and version."""
    run = trainer(name)
    if name == "mbpo":
        for _ in run():
            pass
        return run.algorithm, (run.buffer.sample(8), 2, run.imagination.fits)
    until_learning(run)
    algorithm = run.algorithm
    return algorithm, (algorithm.starts(), 3, algorithm.past.model_steps)


def pool_of(algorithm, count=1):
    config = algorithm.config
    object.__setattr__(config, "imagination_actors", count)
    cluster = Cluster("", {"imagination_actors": count})
    return ImaginationPool(cluster, algorithm, config)


def drawing(seed=3):
    return torch.Generator().manual_seed(seed)


def equal(one, other):
    return one.keys() == other.keys() and bool((one == other).all())


AT_NIGHT = [pytest.param(name, marks=pytest.mark.slow) for name in ("grpo", "mbpo")]


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", ["ppo", *AT_NIGHT])
def test_one_actor_imagines_to_the_bit_what_this_process_would(name):
    """Also after weights have changed; and the generator goes on alike."""
    algorithm, (starts, horizon, version) = learned(name)
    pool, here, there = pool_of(algorithm), drawing(), drawing()
    for changed in range(2):
        expected = algorithm.imagine(starts, horizon, here, version + changed)
        found = pool(starts, horizon, there, version + changed)
        assert found is not None
        assert len(found) == 1
        assert equal(found[0], expected)
        assert (found[0]["model_version"] == version + changed).all()
        now = algorithm.counters.policy_version
        assert (found[0]["policy_version"] == now).all()
        assert torch.equal(here.get_state(), there.get_state())
        with torch.no_grad():
            for module in (algorithm.model, algorithm.world):
                for parameter in module.parameters():
                    if parameter.requires_grad:
                        parameter += 0.1
        algorithm.counters.policy_version += 5
    pool.cluster.close()


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_two_actors_imagine_half_each_by_draws_of_their_own():
    algorithm, (starts, horizon, version) = learned("grpo")
    pool = pool_of(algorithm, 2)
    first, second = pool(starts, horizon, drawing(), version) or []
    assert equal(first, algorithm.imagine(starts[:2], horizon, drawing(), version))
    same = algorithm.imagine(starts[2:], horizon, drawing(), version)
    assert (second["obs"][0] == same["obs"][0]).all(), "its share of the starts"
    assert (second["log_prob"] != same["log_prob"]).any()
    algorithm.pool = pool
    assert [len(part) for part in algorithm.branches()] == [3, 3]
    pool.cluster.close()


@pytest.mark.own_processes("ImaginationRolloutActor")
@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_one_that_dies_is_asked_again():
    algorithm, (starts, horizon, version) = learned("ppo")
    pool = pool_of(algorithm)
    (before,) = pool(starts, horizon, drawing(), version) or []
    ray.kill(pool.actors[0])
    (after,) = pool(starts, horizon, drawing(), version) or []
    assert equal(before, after)
    assert pool.lives == [1]
    pool.cluster.close()


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
@pytest.mark.parametrize(("name", "refreshes"), [("ppo", 1), ("grpo", 2), ("mbpo", 0)])
def test_a_run_learns_what_it_learns_in_one_process(name, refreshes):
    """Real steps of a worker and imagined ones of an actor, without a lag.

    PPO takes newer values of real steps on Ray when it imagines again.
    """
    own = {"threads": 1, **({"refreshes": refreshes} if refreshes else {})}
    expected = [plain(log) for log in trainer(name, **own)()]
    options = {**ON_RAY, "max_policy_lag": 0, "imagination_actors": 1}
    with trainer(name, **{**own, **options}) as run:
        found = [plain(log) for log in run()]
        if name != "mbpo":
            assert type(run.algorithm.pool) is ImaginationPool
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one["logs"] == pytest.approx(
            other["logs"], rel=1e-3, abs=1e-5, nan_ok=True
        )


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_ahead_the_next_branches_are_imagined_while_it_learns(tmp_path):
    """They are by the policy of one refresh before; a checkpoint has them."""
    options = {**ON_RAY, "max_policy_lag": 1, "imagination_actors": 1}
    whole, versions = [], []
    with trainer("ppo", **options) as run:
        for log in run():
            whole.append(plain(log))
            if len(whole) == 9:
                path = run.save(tmp_path / "run.pt")
            if run.buffer.minibatches is not None and log["log_type"] == "train":
                pieces = run.buffer.minibatches.data
                versions.append(int(pieces["model_version"].max()))
    # Of each rollout two refreshes of two steps; the first finds nothing yet.
    assert versions[0] == -1
    assert max(versions) > 0
    with ppo_imagined.Trainer.load(path) as other:
        found = [plain(log) for log in other()]
    assert repr(found) == repr(whole[9:])


@pytest.mark.parametrize("name", ["ppo", "mbpo"])
def test_actors_are_for_ray(name):
    said = "imagination_actors = 1: it is for processes"
    with pytest.raises(ValueError, match=said):
        trainer(name, imagination_actors=1)
