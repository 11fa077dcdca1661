"""What goes wrong in a worker is said in a sentence with its name."""

import pickle
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from yieldrl.algorithms import ppo
from yieldrl.distributed import ActorPool, WorkerError
from yieldrl.distributed.collector import Segments
from yieldrl.distributed.recipes import pickled

CONFIG = ppo.Config(collection="ray", num_envs=2, num_steps=4, eval_every=0)


def with_ray(test):
    """In its own processes, and at night."""
    test = pytest.mark.own_processes("RolloutWorkerActor")(test)
    return pytest.mark.slow(pytest.mark.usefixtures("on_ray")(test))


class BeginsOnce(ppo.Agent):
    """Acts in workers that were not started again."""

    def actor(self):
        if self.config.seed != CONFIG.seed:  # of another life
            raise ConnectionError("no licence for a second one")
        return super().actor()


class Trainer(ppo.Trainer):
    agent_class = BeginsOnce


@with_ray
def test_an_error_with_which_a_restarted_worker_begins_is_said_each_time(
    monkeypatch, one_ray
):
    """Before it, logs say how many work and wait."""
    looked = []
    monkeypatch.setattr(Segments, "_warn_of_slow", lambda _, s: looked.append(s))
    with Trainer(CONFIG) as trainer:
        with closing(trainer()) as loop:
            logs = next(log["logs"] for log in loop if "workers" in log["logs"])
        check_logs(logs, trainer.model)
        assert looked
        assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in looked)
        one_ray.kill(trainer.collector.segments.pool.actors[0])
        said = "rollout worker 0: ConnectionError: no licence for a second one"
        for _ in range(2):
            with pytest.raises(WorkerError, match=said):
                trainer.collector.collect(16)


def slow_check(count):
    """What looks at the seconds that the segments of so many workers took."""
    segments = object.__new__(Segments)
    segments._slow = [0] * count
    return segments._warn_of_slow


def test_a_slow_worker_is_said_once(caplog):
    for seconds, count in (
        ([1.0, 6.0], 1),
        ([1.0, 5.0, 1.0], 0),  # five times is not more than five times
        ([0.01, 0.09, 0.01], 0),  # nobody waits for so little
        ([3.0], 0),
    ):
        caplog.clear()
        check = slow_check(len(seconds))
        for _ in range(2):
            check(seconds)
        assert not caplog.records, "three segments in a row"
        for _ in range(3):
            check(seconds)
        texts = [record.getMessage() for record in caplog.records]
        assert len(texts) == count
        begin = "rollout worker 1 takes 6.0 s for a segment, the others 1.0 s"
        assert all(text.startswith(begin) for text in texts)
    caplog.clear()
    check, row = slow_check(2), [1.0, 6.0]  # one fast segment in between is enough
    for times in (row, row, [1.0, 1.0], row, row):
        check(times)
    assert not caplog.records


def check_logs(logs, model):
    size = sum(p.numel() for p in model.parameters())
    size += sum(x.numel() for x in model.buffers())
    assert logs["workers"] == 1
    assert logs["segments_waiting"] == 1
    assert logs["weights_mb"] == pytest.approx(4e-6 * size)


def test_deaths_in_a_row_are_counted_of_each(caplog):
    cluster = SimpleNamespace(actor=lambda *_: object(), kill=lambda actor: None)
    pool = ActorPool(cluster, "eval_actors", object, 2, "an evaluation")
    first = pool.actors[0]
    for _ in range(4):
        pool.replace(0, pool.actors[0])
    pool.replace(0, first)  # which was replaced already
    pool.did_work(0)
    for _ in range(5):
        pool.replace(0, pool.actors[0])
        pool.replace(1, pool.actors[1])
    said = "eval actor 0 died 5 times in a row without an evaluation"
    with pytest.raises(WorkerError, match=said):
        pool.replace(0, pool.actors[0])
    assert pool.lives == [9, 5]
    texts = [record.getMessage() for record in caplog.records]
    assert texts.count("eval actor 0 has died; it is started again") == 9


def test_one_is_made_again_with_what_it_began_with():
    made = []
    cluster = SimpleNamespace(
        actor=lambda kind, *args: made.append(args), kill=lambda actor: None
    )
    pool = ActorPool(
        cluster, "eval_actors", object, 2, "work", lambda index, life: (index, life)
    )
    pool.begun = [("recipe",)] * 2
    pool.replace(1, pool.actors[1])
    role = "eval_actors"
    assert made == [(role, 0, 0), (role, 1, 0), (role, 1, 1, "recipe")]


def test_a_module_may_be_there_by_two_names(tmp_path, monkeypatch):
    """As the program's is in processes that `multiprocessing` has spawned."""
    (tmp_path / "of_mine.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import of_mine

    monkeypatch.setitem(sys.modules, "also_mine", of_mine)
    value = pickled(of_mine.answer)
    monkeypatch.delitem(sys.modules, "of_mine")
    monkeypatch.delitem(sys.modules, "also_mine")
    assert pickle.loads(value)() == 42
