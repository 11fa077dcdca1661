"""The checkpoint logger: when it saves, what it keeps, what survives."""

import json
import signal
import threading
from collections import deque

import pytest

from yieldrl import loggers
from yieldrl.loggers import checkpoints, latest_checkpoint


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".pt")


def step(number):
    return f"step_{number:09d}.pt"


def state(path):
    """sample_step, learn_step, whether a train step is due."""
    return json.loads(path.read_text())


def press():
    signal.raise_signal(signal.SIGINT)


def test_every_and_at_the_end(make_trainer):
    trainer = make_trainer(total_steps=70)
    saved = []
    original = trainer.save
    trainer.save = lambda path: saved.append(path.name) or original(path)
    stack = loggers.checkpoint(every=25, keep=9)(trainer)
    list(stack())
    assert list(stack()) == []  # nothing new is not saved
    folder = trainer.run.folder / "checkpoints"
    # The first step at or after each multiple, and the end; each once.
    assert saved == [step(26), step(50), step(70)]
    assert [state(folder / name) for name in saved] == [
        [26, 12, True],
        [50, 24, True],
        [70, 35, False],
    ]


@pytest.mark.parametrize("interrupts", [0, 2])
def test_a_step_that_did_not_end_is_not_saved(trainer, interrupts):
    """By an error, or by a second interrupt, which does not wait."""

    def explode():
        if trainer.agent.sample_step == 24:
            for _ in range(interrupts):
                press()
            raise FloatingPointError("the loss became nan")

    trainer.within_step = explode
    with pytest.raises(KeyboardInterrupt if interrupts else FloatingPointError):
        list(loggers.checkpoint(every=10)(trainer)())
    assert latest_checkpoint(trainer.run.folder).name == step(20)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_waits_for_the_end_of_the_step(trainer):
    original = trainer._collect

    def collect():
        log = original()
        if trainer.agent.sample_step == 24:
            trainer.agent.sample_step -= 1  # half way through a step ...
            press()
            trainer.agent.sample_step += 1  # ... which still comes to its end
        return log

    trainer._collect = collect
    stack = loggers.checkpoint()(trainer)
    with pytest.raises(KeyboardInterrupt):
        deque(stack())
    trainer._collect = original
    assert state(latest_checkpoint(trainer.run.folder)) == [24, 11, True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert [log["log_type"] for log in stack()][:2] == ["train", "collect"]
    assert trainer.agent.learn_step == 50


def test_an_interrupt_after_the_last_step_is_not_lost(trainer_class, tmp_path):
    class Trainer(trainer_class):
        def __call__(self):
            yield from super().__call__()
            press()

    trainer = Trainer(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        list(loggers.checkpoint()(trainer)())
    assert state(latest_checkpoint(trainer.run.folder)) == [100, 50, False]


def test_the_handler_of_a_program_is_left_alone_and_a_thread_has_none(trainer):
    def own(*_): ...

    before = signal.signal(signal.SIGINT, own)
    try:
        for _ in loggers.checkpoint()(trainer)():
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    trainer.agent.sample_step = 90
    thread = threading.Thread(target=lambda: list(loggers.checkpoint()(trainer)()))
    thread.start()
    thread.join()
    assert latest_checkpoint(trainer.run.folder).name == step(100)


def scored(trainer, scores):
    """The trainer, evaluating to these returns at these steps."""
    trainer.evaluate = lambda *_: trainer.log(
        "evaluate", {"episode_return": scores[trainer.agent.sample_step], "episodes": 2}
    )
    return loggers.checkpoint(every=0)(trainer)


def test_the_best_is_kept(make_trainer):
    trainer = make_trainer(eval_every=20)
    nan = float("nan")
    list(scored(trainer, {20: nan, 40: -5.0, 60: 3.0, 80: nan, 100: 2.0})())
    folder = trainer.run.folder / "checkpoints"
    assert names(folder) == ["best.pt", step(100)]
    assert state(folder / "best.pt") == [60, 29, True]
    index = json.loads((folder / "checkpoints.json").read_text())
    assert index == {
        "saved": [step(100)],
        "best": {"episode_return": 3.0, "episodes": 2, "sample_step": 60},
    }


def test_the_best_survives_loops_and_processes(make_trainer):
    trainer = make_trainer(eval_every=20)
    for log in scored(trainer, {20: 9.0, 40: 1.0})():
        if log["sample_step"] == 42:
            break
    folder = trainer.run.folder / "checkpoints"
    resumed = make_trainer(eval_every=20)
    resumed.load(latest_checkpoint(trainer.run.folder))
    resumed.run.folder = trainer.run.folder
    list(scored(resumed, {60: 8.0, 80: 9.0, 100: 7.0})())
    assert state(folder / "best.pt")[0] == 20
    assert names(folder) == ["best.pt", step(42), step(100)]
    assert state(folder / step(42)) == [42, 20, True]  # where the loop was left


def test_a_clone_is_no_candidate_for_the_best(make_trainer):
    trainer = make_trainer(eval_every=20)
    for log in scored(trainer, dict.fromkeys(range(20, 101, 20), 5.0))():
        trainer.only_cloned = log["sample_step"] < 50
    folder = trainer.run.folder / "checkpoints"
    index = json.loads((folder / "checkpoints.json").read_text())
    assert index["best"]["sample_step"] == 60


def test_going_on_from_an_older_one_makes_that_the_latest(trainer):
    stack = loggers.checkpoint(every=20, keep=3)(trainer)
    list(stack())
    folder = trainer.run.folder / "checkpoints"
    assert names(folder) == [step(60), step(80), step(100)]
    trainer.load(folder / step(60))
    for log in stack():
        if log["sample_step"] == 66:
            break
    assert latest_checkpoint(trainer.run.folder) == folder / step(66)
    assert names(folder) == [step(66), step(80), step(100)]  # the oldest write went


@pytest.mark.parametrize(
    ("known", "order"),
    [
        ([40, 60], [60, 40, 80, 20]),
        ([80, 40, 60], [60, 40, 80, 20]),
        ([], [80, 60, 40, 20]),
    ],
)
def test_files_that_the_index_does_not_know_come_by_their_steps(tmp_path, known, order):
    for number in (20, 40, 60, 80):
        (tmp_path / step(number)).touch()
    index = {"saved": [step(number) for number in known]}
    (tmp_path / "checkpoints.json").write_text(json.dumps(index))
    found = [path.name for path in loggers.list_checkpoints(tmp_path)]
    assert found == [step(number) for number in order]


@pytest.mark.parametrize("fails_at", ["before", "after"])
def test_a_kill_at_any_moment_leaves_the_order(trainer, fails_at):
    """No checkpoint is on the disk that the index does not name."""
    original = trainer.save

    def save(path):
        if trainer.agent.sample_step == 60 and fails_at == "before":
            raise SystemExit
        original(path)
        if trainer.agent.sample_step == 60:
            raise SystemExit
        return path

    trainer.save = save
    with pytest.raises(SystemExit):
        list(loggers.checkpoint(every=20)(trainer)())
    found = [path.name for path in loggers.list_checkpoints(trainer.run.folder)]
    newest = [step(60)] if fails_at == "after" else []
    assert found == [*newest, step(40), step(20)]


def test_a_folder_without_checkpoints_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no checkpoint step_\*.pt in it"):
        latest_checkpoint(tmp_path)
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "best.pt").touch()
    with pytest.raises(FileNotFoundError, match=r"load .*best\.pt"):
        latest_checkpoint(tmp_path)
    index = folder / "checkpoints.json"
    (tmp_path / step(3)).touch()
    index.write_text(json.dumps({"saved": [f"../{step(3)}"]}))
    assert loggers.list_checkpoints(tmp_path) == []  # files elsewhere are not its own


@pytest.mark.parametrize(
    ("takes", "steps"), [(0.0, (20, 40, 60, 80, 100)), (2.0, (20, 60, 100))]
)
def test_time_makes_checkpoints_too(trainer, monkeypatch, takes, steps):
    """Every 20 seconds, of which a step takes one; one that takes 2 comes after 40, so
    that it is a twentieth."""
    saving = [0.0]
    original = trainer.save
    monkeypatch.setattr(
        checkpoints, "perf_counter", lambda: trainer.agent.sample_step + saving[0]
    )

    def save(path):
        saving[0] += takes
        return original(path)

    trainer.save = save
    list(loggers.checkpoint(every=0, seconds=20, keep=9)(trainer)())
    assert names(trainer.run.folder / "checkpoints") == [
        step(number) for number in steps
    ]
