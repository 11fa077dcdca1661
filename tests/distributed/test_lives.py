"""An actor that dies again and again is given up; one that works in between is not."""

from types import SimpleNamespace

import pytest

from yieldrl.distributed import ActorPool, WorkerError


def test_deaths_in_a_row_are_counted_of_each(caplog):
    cluster = SimpleNamespace(actor=lambda *_: object(), kill=lambda actor: None)
    pool = ActorPool(cluster, "eval_actors", object, 2, "an evaluation")
    for _ in range(4):
        pool.restart(0)
    pool.did_work(0)
    for _ in range(5):
        pool.restart(0)
        pool.restart(1)
    said = "eval actor 0 died 5 times in a row without an evaluation"
    with pytest.raises(WorkerError, match=said):
        pool.restart(0)
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
    pool.restart(1)
    role = "eval_actors"
    assert made == [(role, 0, 0), (role, 1, 0), (role, 1, 1, "recipe")]
