"""Logger and Decorated: proxies, class bodies, stacking, and closing."""

import gc
import subprocess
import sys
import types
from contextlib import contextmanager

import pytest

from yieldrl import loggers
from yieldrl.loggers import Decorated, Logger
from yieldrl.loggers.base import in_notebook


class Recorder(Logger):
    """Remembers what it saw, and the moments around each log."""

    def __init__(self, name="recorder", events=None):
        self.name = name
        self.events = [] if events is None else events

    @property
    def destination(self):
        return self.name

    def run(self, trainer, logs):
        self.events.append((self.name, "open"))
        try:
            for log in logs:
                self.events.append((self.name, log["sample_step"]))
                yield log
        finally:
            self.events.append((self.name, "close"))


class Failing(Logger):
    """Fails after a number of logs, or when it closes."""

    def __init__(self, after):
        self.after = after

    def run(self, trainer, logs):
        try:
            for count, log in enumerate(logs):
                if count == self.after:
                    raise OSError("disk full")
                yield log
        finally:
            if self.after is None:
                raise OSError("disk full at the end")


def leave(stack, step):
    """Loop until a step, and leave by `break`."""
    for log in stack():
        if log["sample_step"] == step:
            break


def test_rows_that_could_not_be_written_come_first_in_the_next_loop(trainer):
    """Nothing is written behind them until then."""
    tried, written = [], []

    class Slow(loggers.Writer):
        @contextmanager
        def open(self, trainer, position):
            def write(rows):
                tried.append(rows)
                if len(tried) == 3:
                    raise OSError("disk full")
                written.extend(rows)
                return len(written)

            yield write

    stack = Slow(every=10)(trainer)
    with pytest.raises(OSError, match="disk full"):
        list(stack())
    assert len(tried) == 3
    list(stack())
    steps = [row["learn_step"] for row in written if row["log_type"] == "train"]
    assert steps == [*range(5, 51, 5)]


def test_the_very_same_logs_come_through_and_the_proxy_is_the_trainer_else(trainer):
    made = []
    original = trainer.log
    trainer.log = lambda *args: made.append(original(*args)) or made[-1]
    stack = Recorder("b")(Recorder("a")(trainer))
    assert [id(log) for log in stack()] == [id(log) for log in made]
    assert len(made) == 100  # 50 collect, 50 train
    assert isinstance(stack, type(trainer))
    assert stack.config is trainer.config
    assert stack.evaluate(3)["logs"]["episodes"] == 3
    stack.learning_rate = 0.5
    assert trainer.learning_rate == 0.5
    assert dir(stack) == dir(trainer)
    assert vars(stack) is vars(trainer)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = stack.no_such_thing


def test_loggers_close_from_without_and_open_again(trainer, trainer_class):
    before, events = dict(vars(trainer_class)), []
    stack = Recorder("outer", events)(Recorder("inner", events)(trainer))
    assert dict(vars(trainer_class)) == before
    assert type(stack) is Decorated
    leave(stack, 4)
    assert trainer.closed_loops == 1
    assert stack.agent.sample_step == 4
    with stack as entered:
        loop = entered()
        next(loop)
    assert trainer.closed
    closed = [name for name, what in events if what == "close"]
    assert closed == ["outer", "inner"] * 2
    assert len(list(stack())) == 96
    assert [event[1] for event in events].count("close") == 6
    events.clear()
    list(trainer())
    assert events == []


@pytest.mark.parametrize("where", ["body", "step", "collected"])
def test_whatever_ends_a_loop_closes_all(trainer, where):
    recorder = Recorder()

    def fail():
        raise ValueError(f"in the {where}")

    def train():
        for _ in recorder(trainer)():
            if where == "body":
                fail()
            trainer.within_step = fail

    if where == "collected":
        loop = recorder(trainer)()
        next(loop)
        del loop
        gc.collect()
    else:
        with pytest.raises(ValueError, match=f"in the {where}"):
            train()
    assert recorder.events[-1] == ("recorder", "close")
    assert trainer.closed_loops == 1


@pytest.mark.parametrize("after", [4, None])
def test_an_error_in_a_logger_closes_the_others(trainer, after):
    events = []
    inner, outer = Recorder("inner", events), Recorder("outer", events)
    with pytest.raises(OSError, match="disk full"):
        list(outer(Failing(after)(inner(trainer)))())
    assert {e for e in events if e[1] == "close"} == {
        ("inner", "close"),
        ("outer", "close"),
    }
    assert trainer.closed_loops == 1


def test_a_new_loop_closes_one_left_suspended(trainer):
    recorder = Recorder()
    stack = recorder(trainer)
    first = stack()
    next(first)
    # Decorated again, as when a notebook cell is run a second time.
    second = recorder(stack)()
    assert recorder.events[-1] == ("recorder", "close")
    assert next(second)["log_type"] == "train"
    assert next(first, None) is None


def test_an_equal_logger_replaces_the_earlier_one(trainer):
    stack = trainer
    for _ in range(2):
        stack = loggers.csv(every=10)(stack)
        stack = loggers.jsonl()(stack)
    assert repr(stack).count("csv(") == repr(stack).count("jsonl(") == 1
    list(stack())
    table = (trainer.run.folder / "logs.csv").read_text().splitlines()
    assert table.count("train,10,5,loss,3.0") == 1


def test_decorators_of_a_class_body(trainer_class, tmp_path):
    class Trainer(trainer_class):
        @loggers.csv(every=10)
        @loggers.early_stop("loss", threshold=30, log_type="train")
        def __call__(self):
            """Train."""
            yield from super().__call__()

    one, two = Trainer(tmp_path), Trainer(tmp_path)
    assert Trainer.__call__.__doc__ == "Train."
    loops = [one(), two()]
    for _ in range(7):
        next(loops[0])
    for log in loops[1]:
        assert log["log_type"] in ("collect", "train")
    loops[0].close()
    assert (one.agent.learn_step, two.agent.learn_step) == (3, 30)
    tables = [(t.run.folder / "logs.csv").read_text().splitlines() for t in (one, two)]
    assert tables[0][1:] == ["train,6,3,loss,2.0"]
    assert tables[1][-3] == "train,60,30,loss,28.0"  # the mean of 26 to 30
    assert one.closed_loops == two.closed_loops == 1


def test_a_decorated_loop_runs_in_that_of_its_child(trainer_class, tmp_path):
    """A new loop closes the outer one, and with it the one inside."""
    events = []

    class Parent(trainer_class):
        @Recorder("inner", events)
        def __call__(self):
            yield from super().__call__()

    class Child(Parent):
        @Recorder("outer", events)
        def __call__(self):
            yield from super().__call__()

    trainer = Child(tmp_path)
    first = trainer()
    next(first)
    second = trainer()
    assert events[-2:] == [("outer", "close"), ("inner", "close")]
    assert next(first, None) is None
    assert len(list(second)) == 99


SUSPENDED = """
import sys, types
from pathlib import Path
from yieldrl import loggers
from yieldrl.experiments import Run

class Trainer:
    config = types.SimpleNamespace(total_steps=1000, to_dict=dict)
    agent = types.SimpleNamespace(sample_step=0, learn_step=0)
    run = Run("mine", config)
    def save(self, path):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    def __call__(self):
        while True:
            self.agent.sample_step += 1
            yield {"log_type": "train", "logs": {"loss": 1.0}, **vars(self.agent)}

trainer = Trainer()
trainer.run.folder = Path(sys.argv[1])
loop = loggers.checkpoint()(loggers.csv()(trainer))()
for _ in range(3):
    next(loop)
"""


def test_a_loop_left_suspended_is_closed_at_exit(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SUSPENDED, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Exception" not in done.stderr
    assert (tmp_path / "logs.csv").read_text().endswith("\ntrain,3,0,loss,1.0\n")
    assert (tmp_path / "checkpoints" / "step_000000003.pt").exists()


def test_default_is_what_the_command_line_gets(trainer, capsys):
    stack = loggers.default(trainer)
    for _ in range(2):
        stack = loggers.default(stack)
    assert repr(stack).count(" over ") == 4
    list(stack())
    written = {path.name for path in trainer.run.folder.iterdir()}
    assert written == {"checkpoints", "logs.csv", "tensorboard"}
    assert "fake: 100%" in capsys.readouterr().err


def test_a_notebook_has_a_kernel(monkeypatch):
    kernel = types.SimpleNamespace(kernel=1)
    for shell, answer in ((None, False), (object(), False), (kernel, True)):
        ipython = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert in_notebook() is answer
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
    assert "IPython" not in sys.modules
