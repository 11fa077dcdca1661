"""Logger and Decorated: proxies, class bodies, stacking, and closing."""

import gc
import itertools
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from yieldrl import loggers
from yieldrl.loggers import Decorated, Logger
from yieldrl.loggers.base import in_notebook


class Recorder(Logger):
    """Remembers what it saw, and the moments around each log."""

    def __init__(self, name: str = "recorder", events: list[Any] | None = None) -> None:
        self.name = name
        self.events: list[Any] = [] if events is None else events

    @property
    def destination(self) -> str:
        return self.name

    def run(self, trainer: Any, logs: Any) -> Any:
        self.events.append((self.name, "open"))
        try:
            for log in logs:
                self.events.append((self.name, log["sample_step"]))
                yield log
        finally:
            self.events.append((self.name, "close"))


class Failing(Logger):
    """Fails after a number of logs, or when it closes."""

    def __init__(self, after: int | None) -> None:
        self.after = after

    def run(self, trainer: Any, logs: Any) -> Any:
        try:
            for count, log in enumerate(logs):
                if count == self.after:
                    raise OSError("disk full")
                yield log
        finally:
            if self.after is None:
                raise OSError("disk full at the end")


def take(trainer: Any, count: int) -> list[Any]:
    """The first logs of a loop that is left by `break`."""
    found = []
    for log in trainer():
        found.append(log)
        if len(found) == count:
            break
    return found


def test_nothing_trains_if_a_logger_cannot_be_opened(trainer: Any) -> None:
    class Full(loggers.Writer):
        @contextmanager
        def open(self, trainer: Any) -> Iterator[Any]:
            raise OSError("disk full")
            yield

    with pytest.raises(OSError, match="disk full"):
        list(Full()(trainer)())
    assert trainer.agent.sample_step == 0


def test_the_very_same_logs_come_through(trainer: Any) -> None:
    made = []
    original = trainer.log
    trainer.log = lambda *args: made.append(original(*args)) or made[-1]
    stack = Recorder("b")(Recorder("a")(trainer))
    assert [id(log) for log in stack()] == [id(log) for log in made]
    assert len(made) == 100  # 50 collect, 50 train


def test_the_proxy_is_the_trainer_in_all_but_the_loop(trainer: Any) -> None:
    stack = Recorder()(trainer)
    assert isinstance(stack, type(trainer))
    assert stack.config is trainer.config
    assert stack.evaluate(3)["logs"]["episodes"] == 3
    stack.learning_rate = 0.5
    assert trainer.learning_rate == 0.5
    del stack.learning_rate
    assert not hasattr(trainer, "learning_rate")
    assert dir(stack) == dir(trainer)
    assert vars(stack) is vars(trainer)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = stack.no_such_thing


def test_the_class_stays_as_it_was(trainer: Any, trainer_class: type[Any]) -> None:
    before = dict(vars(trainer_class))
    recorder = Recorder()
    stack = recorder(trainer)
    assert dict(vars(trainer_class)) == before
    list(trainer())
    assert recorder.events == []
    assert type(stack) is Decorated


def test_with_closes_the_trainer_and_its_loop(trainer: Any) -> None:
    recorder = Recorder()
    with recorder(trainer) as stack:
        loop = stack()
        next(loop)
    assert trainer.closed
    assert recorder.events[-1] == ("recorder", "close")
    assert type(stack) is Decorated


def test_loggers_close_and_open_again(trainer: Any) -> None:
    recorder = Recorder()
    stack = recorder(trainer)
    assert len(take(stack, 3)) == 3
    assert trainer.closed_loops == 1
    assert recorder.events[-1] == ("recorder", "close")
    assert stack.agent.sample_step == 4
    rest = list(stack())
    assert len(rest) == 97
    assert [e for e in recorder.events if e[1] in ("open", "close")] == [
        ("recorder", "open"),
        ("recorder", "close"),
    ] * 2


def test_outer_loggers_close_before_inner_ones(trainer: Any) -> None:
    events: list[Any] = []
    take(Recorder("outer", events)(Recorder("inner", events)(trainer)), 1)
    closed = [name for name, what in events if what == "close"]
    assert closed == ["outer", "inner"]


@pytest.mark.parametrize(
    ("error", "where"), [(KeyboardInterrupt, "body"), (ValueError, "step")]
)
def test_an_error_closes_all_and_comes_through(
    trainer: Any, error: Any, where: str
) -> None:
    recorder = Recorder()

    def fail() -> None:
        raise error(f"in the {where}")

    def train() -> None:
        for _ in recorder(trainer)():
            if where == "body":
                fail()
            trainer.within_step = fail

    with pytest.raises(error, match=f"in the {where}"):
        train()
    assert recorder.events[-1] == ("recorder", "close")
    assert trainer.closed_loops == 1


@pytest.mark.parametrize("after", [4, None])
def test_an_error_in_a_logger_closes_the_others(trainer: Any, after: Any) -> None:
    events: list[Any] = []
    inner, outer = Recorder("inner", events), Recorder("outer", events)
    with pytest.raises(OSError, match="disk full"):
        list(outer(Failing(after)(inner(trainer)))())
    assert {e for e in events if e[1] == "close"} == {
        ("inner", "close"),
        ("outer", "close"),
    }
    assert trainer.closed_loops == 1


def test_garbage_collection_closes_all(trainer: Any) -> None:
    recorder = Recorder()
    loop = recorder(trainer)()
    next(loop)
    del loop
    gc.collect()
    assert recorder.events[-1] == ("recorder", "close")
    assert trainer.closed_loops == 1


def test_a_new_loop_closes_one_left_suspended(trainer: Any) -> None:
    recorder = Recorder()
    stack = recorder(trainer)
    first = stack()
    next(first)
    # Decorated again, as when a notebook cell is run a second time.
    second = recorder(stack)()
    assert recorder.events[-1] == ("recorder", "close")
    assert next(second)["log_type"] == "train"
    assert next(first, None) is None


def test_an_equal_logger_replaces_the_earlier_one(trainer: Any) -> None:
    stack = trainer
    for _ in range(2):
        stack = loggers.csv(every=10)(stack)
        stack = loggers.jsonl()(stack)
    assert repr(stack).count("csv(") == repr(stack).count("jsonl(") == 1
    list(stack())
    table = (trainer.run_dir / "logs.csv").read_text().splitlines()
    assert table.count("train,10,5,loss,3.0") == 1


def test_decorators_of_a_class_body(trainer_class: type[Any], tmp_path: Path) -> None:
    class Trainer(trainer_class):
        @loggers.csv(every=10)
        @loggers.early_stop("loss", threshold=30, log_type="train")
        def __call__(self) -> Any:
            """Train."""
            yield from super().__call__()

    one, two = Trainer(tmp_path), Trainer(tmp_path)
    assert (Trainer.__call__.__name__, Trainer.__call__.__doc__) == (
        "__call__",
        "Train.",
    )
    loops = [one(), two()]
    for _ in range(7):
        next(loops[0])
    for log in loops[1]:
        assert log["log_type"] in ("collect", "train")
    loops[0].close()
    assert (one.agent.learn_step, two.agent.learn_step) == (3, 30)
    tables = [(t.run_dir / "logs.csv").read_text().splitlines() for t in (one, two)]
    assert tables[0] == [
        "log_type,sample_step,learn_step,metric,value",
        "train,6,3,loss,2.0",
    ]
    assert tables[1][-3] == "train,60,30,loss,28.0"  # the mean of 26 to 30
    assert one.closed_loops == two.closed_loops == 1


SUSPENDED = """
import sys, types
from pathlib import Path
from yieldrl import loggers

class Trainer:
    config = types.SimpleNamespace(total_steps=1000, to_dict=dict)
    agent = types.SimpleNamespace(sample_step=0, learn_step=0)
    run_dir = Path(sys.argv[1])
    def save(self, path):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    def __call__(self):
        while True:
            self.agent.sample_step += 1
            yield {"log_type": "train", "logs": {"loss": 1.0}, **vars(self.agent)}

stack = loggers.checkpoint()(loggers.csv()(Trainer()))
loop = stack()
for _ in range(3):
    next(loop)
"""


def test_a_loop_left_suspended_is_closed_at_exit(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SUSPENDED, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "Exception" not in done.stderr
    assert (tmp_path / "logs.csv").read_text().endswith("\ntrain,3,0,loss,1.0\n")
    assert (tmp_path / "checkpoints" / "step_000000003.pt").exists()


def test_evaluations_are_seen_in_any_order(make_trainer: Callable[..., Any]) -> None:
    seen = []
    for order in itertools.permutations(range(3)):
        trainer = make_trainer(total_steps=40)
        made = [
            loggers.evaluation(every=20),
            loggers.csv(every=20),
            loggers.early_stop(threshold=10),
        ]
        for index in order:
            trainer = made[index](trainer)
        kinds = [(log["log_type"], log["sample_step"]) for log in trainer()]
        seen.append((kinds, (trainer.run_dir / "logs.csv").read_text()))
    assert len({str(run) for run in seen}) == 1
    assert seen[0][0][-1] == ("evaluate", 20)
    assert "evaluate,20,9,episode_return,10.0\n" in seen[0][1]


def test_default_is_what_the_command_line_gets(trainer: Any, capsys: Any) -> None:
    stack = loggers.default(trainer)
    for _ in range(2):
        stack = loggers.default(stack)
    assert repr(stack).count(" over ") == 4
    list(stack())
    assert {path.name for path in trainer.run_dir.iterdir()} == {
        "checkpoints",
        "logs.csv",
        "tensorboard",
    }
    assert "fake: 100%" in capsys.readouterr().err


def test_a_notebook_has_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, answer in (
        (None, False),
        (object(), False),
        (types.SimpleNamespace(kernel=1), True),
    ):
        ipython = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert in_notebook() is answer
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
    assert "IPython" not in sys.modules
