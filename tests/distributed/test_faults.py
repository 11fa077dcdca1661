"""What goes wrong in a worker is said in a sentence with its name."""

import pickle
import sys
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from yieldrl.algorithms import ppo
from yieldrl.collectors.segments import Segment
from yieldrl.distributed import ActorPool, Learners, WorkerError, actors, recipes
from yieldrl.distributed.actors import Call, DeadWorkerError, answer_of
from yieldrl.distributed.recipes import EnvRecipe, pickled
from yieldrl.distributed.weights import Stored
from yieldrl.distributed.worker_segments import WorkerSegments

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
def test_an_error_with_which_a_restarted_worker_begins_is_said_each_time(one_ray):
    """Before it, logs say how many work and wait."""
    with Trainer(CONFIG) as trainer:
        with closing(trainer()) as loop:
            logs = next(log["logs"] for log in loop if "workers" in log["logs"])
        check_logs(logs, trainer.model)
        one_ray.kill(trainer.collector.segments.pool.actors[0])
        said = "rollout worker 0: ConnectionError: no licence for a second one"
        for _ in range(2):
            with pytest.raises(WorkerError, match=said):
                trainer.collector.collect(16)


def check_logs(logs, model):
    size = sum(p.numel() for p in model.parameters())
    size += sum(x.numel() for x in model.buffers())
    assert logs["workers"] == 1
    assert logs["segments_waiting"] == 1
    assert logs["weights_mb"] == pytest.approx(4e-6 * size)


class FailsOnce:
    """A pool of two workers, of which the second fails at its first answer."""

    count, failed = 2, False
    cluster = SimpleNamespace(ray=None)
    inference = SimpleNamespace(actor_of=lambda _: None, replace_dead=lambda *_: False)

    def __init__(self, error):
        self.stats = SimpleNamespace(actors=["statistics"])
        self.asked, self.error, self.replaced = [], error, []

    def replace(self, index, dead, error):
        self.replaced.append((index, error))

    def ask(self, index, method, *args):
        self.asked.append((index, *args))
        return Call(index, None, method, args, None)

    def get(self, call):
        if call.index == 1 and not self.failed:
            self.failed = True
            raise self.error
        rows = {"reward": np.full((1, 1), call.index)}
        return Segment(rows, [{}], [0] * call.args[3], version=3 + call.index)


def asking_twice(error):
    """Segments of such workers, two of which were asked for."""
    pool = FailsOnce(error)
    segments = WorkerSegments(pool, SimpleNamespace(policy_version=3))
    segments._store = SimpleNamespace(stored=None, put=lambda v: Stored([], [], v))
    segments.ask(1, 0)
    segments.ask(1, 2)
    return pool, segments


def test_what_a_dead_worker_had_not_sent_is_counted_and_asked_again():
    """Of the one in its place; it may need what it acts with, which may be lost too."""
    error = DeadWorkerError("rollout worker 1 is lost: OwnerDiedError")
    pool, segments = asking_twice(error)
    segments._store.stored = Stored([], ["lost"], 3)
    assert segments.first().rows["reward"].tolist() == [[0, 1]]
    assert pool.replaced == [(1, error)]
    assert segments._store.stored is None
    assert segments.lost == 2
    assert len(pool.asked) == 6


def test_after_an_error_a_worker_is_asked_again_by_new_episodes():
    """For all that was asked for; the joined segment breaks where one of them does.

    It reports to the actor of statistics that there is now.
    """
    pool, segments = asking_twice(WorkerError("rollout worker 1: the gripper is stuck"))
    pool.stats.actors[0] = "others"
    with pytest.raises(WorkerError, match="stuck"):
        segments.first()
    again = [(index, step, *rest[:2]) for index, _, step, _, *rest in pool.asked[4:]]
    assert again == [(1, 0, True, "others"), (1, 2, False, "others")]
    for breaks in ([0], []):
        part = segments.first()
        segments.remove_first()
        assert part.breaks == breaks
        assert part.rows["reward"].tolist() == [[0, 1]]
        assert part.version == 3
    assert segments.lost == 0
    assert segments.all_arrived, "nothing is asked for any more"


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


class Answers:
    """As much of Ray as waits for answers, which it takes from a list."""

    def __init__(self, *answers):
        self.exceptions = pytest.importorskip(
            "ray.exceptions", reason="errors are Ray's"
        )
        self.answers = iter(answers)

    def wait(self, asked, timeout):
        return asked, []

    def get(self, asked):
        answer = next(self.answers)
        if hasattr(self.exceptions, str(answer)):
            answer = getattr(self.exceptions, answer)
            lost = issubclass(answer, self.exceptions.ObjectLostError)
            answer = answer(*(("0a", None, "here") if lost else ("so it is",)))
        if isinstance(answer, Exception):
            raise answer
        return answer


LOST = "ObjectLostError", "OwnerDiedError", "ObjectReconstructionFailedError"
ENDED = "NodeDiedError", "OutOfMemoryError", "RayActorError"


@pytest.fixture
def answering(monkeypatch):
    """Lets Ray answer so."""

    def answer_by(*answers):
        ray = Answers(*answers)
        found = SimpleNamespace(import_module=lambda name: ray)
        monkeypatch.setattr(actors, "importlib", found)
        return ray.exceptions

    return answer_by


@pytest.mark.parametrize("name", [*LOST, *ENDED])
def test_whatever_is_lost_on_ray_is_lost_with_its_worker(name, answering):
    answering(name)
    with pytest.raises(DeadWorkerError, match=r"rollout worker 3 (is lost|has died)"):
        answer_of("rollout worker 3", "asked")


def test_what_a_worker_could_not_fetch_is_lost_too_and_other_errors_have_a_name(
    answering,
):
    errors = answering("ActorUnschedulableError")
    with pytest.raises(WorkerError, match="eval actor 0: ActorUnschedulableError: The"):
        answer_of("eval actor 0", "asked")
    lost = errors.ObjectLostError("0a", None, "here")
    answering(errors.RayTaskError("collect", "", lost))
    with pytest.raises(DeadWorkerError, match="is lost: ObjectLostError: Failed to"):
        answer_of("rollout worker 3", "asked")


def test_one_that_cannot_be_started_ends_the_run_unless_it_could_before(answering):
    """What a service refuses once, it may grant a minute later."""
    cluster = SimpleNamespace(
        actor=lambda *_: SimpleNamespace(play=SimpleNamespace(remote=lambda: None)),
        kill=lambda actor: None,
    )
    pool = ActorPool(cluster, "eval_actors", object, 1, "an evaluation")
    errors = pytest.importorskip("ray.exceptions", reason="errors are Ray's")
    text = "Traceback\n  File\nConnectionError: no licence"
    unstarted = errors.RayActorError("0a", text, actor_init_failed=True)
    answering(unstarted)
    with pytest.raises(
        WorkerError, match=r"^eval actor 0: ConnectionError: no licence$"
    ):
        pool.ask_all("play")
    answering(errors.RayActorError(), unstarted, "here")
    pool.ask_all("play")
    assert pool.lives == [2]
    answering(*[unstarted] * 6)
    with pytest.raises(WorkerError, match=r"died 5 times .* last time: .* no licence"):
        pool.ask_all("play")


def test_one_is_made_again_as_another_life():
    made = []
    cluster = SimpleNamespace(
        actor=lambda kind, *args: made.append(args), kill=lambda actor: None
    )
    parts = cluster, "eval_actors", object, 2, "work"
    pool = ActorPool(*parts, lambda index, life: (index, life))
    pool.replace(1, pool.actors[1])
    role = "eval_actors"
    assert made == [(role, 0, 0), (role, 1, 0), (role, 1, 1)]
    config = ppo.Config(seed=4)
    lives = (0, 0), (1, 0), (1, 1)
    seeds = [EnvRecipe("Mine-v0", config, None, *each).seed for each in lives]
    assert seeds[0] == 4, "as of a run without workers"
    assert len({*seeds}) == 3


def test_who_does_not_answer_for_long_is_named(monkeypatch, caplog):
    """An answer that comes late is an answer."""
    ready = iter([[], [], ["late"], [], ["late"], ["late"]])

    def wait(asked, timeout):
        there = next(ready)
        return there, [each for each in asked if each not in there]

    late = SimpleNamespace(wait=wait, get=lambda answer: 5)
    found = SimpleNamespace(import_module=lambda name: late)
    monkeypatch.setattr(actors, "importlib", found)
    assert answer_of("rollout worker 3", "late") == 5
    assert Learners(SimpleNamespace(ray=late), None, CONFIG)._get(["late"]) == 5
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(":")[0] for text in said] == [
        "rollout worker 3 has not answered for 60 s",
        "rollout worker 3 has not answered for 120 s",
        "1 of 1 learners have not answered for 60 s",
    ]


def test_environments_are_watched_while_they_work_and_no_longer(monkeypatch):
    """What ends a process in which they hang is tried in a process of its own."""
    noted = []
    watch = SimpleNamespace(
        dump_traceback_later=lambda seconds, **_: noted.append(seconds),
        cancel_dump_traceback_later=lambda: noted.append("off"),
    )
    monkeypatch.setattr(recipes, "faulthandler", watch)

    def fails(action):
        raise ValueError("the gripper is stuck")

    envs = SimpleNamespace(reset=lambda seed: noted.append(seed), step=fails)
    envs = recipes.never_hanging(lambda: noted.append("made") or envs, 7.0)
    envs.reset(seed=3)
    with pytest.raises(ValueError, match="stuck"):
        envs.step(0)
    assert noted == [7.0, "made", "off", 7.0, 3, "off", 7.0, "off"]


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
