"""When steps are compiled: by the work ahead, and by what is kept."""

import logging

import pytest
import torch
from torch import nn

from yieldrl.speed import CompiledStep, Plan, compiler, library, plan

FEW, SOME, MANY = plan.LEAST_STEPS - 1, plan.COMPILED_STEPS, 20_000


class Code:
    """Stands for a compilation that takes some looks, or fails."""

    def __init__(self, kept=False, looks=2, failure=None):
        self.kept, self.looks, self.failed_with = kept, looks, failure
        self.failure = None

    def __call__(self, graph):
        self.graph = graph
        return self

    def poll(self):
        self.looks -= 1
        if self.looks > 0:
            return None
        self.failure = self.failed_with
        return None if self.failure else self.run

    def wait(self):
        self.looks = 0
        return self.poll()

    def run(self, tensors):
        self.ran = getattr(self, "ran", 0) + 1
        return self.graph.operations(*tensors, *self.graph.captured)


class Clock:
    """Every gradient step takes so many seconds."""

    def __init__(self, seconds=0.0):
        self.seconds, self.steps = seconds, 0

    def monotonic(self):
        return self.steps * self.seconds

    def sleep(self, seconds):
        pass


def step_of(mode, steps, done=0, clock=None):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())

    def loss(data):
        loss = model(data["x"]).square().mean()
        return loss, {"loss": loss.detach()}

    made = Plan(mode, steps, lambda: done + (clock.steps if clock else 0))
    return CompiledStep(loss, optimizer, 1.0, model, made), made


def take(step, times, clock=None):
    for _ in range(times):
        step({"x": torch.ones(4, 2)})
        if clock is not None:
            clock.steps += 1


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    """Of this room's tests long runs compile, as everybody's do."""
    monkeypatch.setattr(plan, "COMPILED_SECONDS", 10.0)
    monkeypatch.setattr(plan, "CROWDED_SECONDS", 30.0)
    monkeypatch.setattr(plan, "usable_cores", lambda: 1)


@pytest.fixture
def clock(monkeypatch):
    """A second for each gradient step."""
    clock = Clock(1.0)
    monkeypatch.setattr(plan, "time", clock)
    return clock


@pytest.fixture
def stands(monkeypatch, tmp_path):
    """Put a stand-in where graphs are compiled; what is kept goes by it alone."""
    monkeypatch.setenv(library.FOLDER, str(tmp_path))

    def put(code):
        monkeypatch.setattr(plan, "Compilation", code)
        monkeypatch.setattr(library, "knows", lambda kind: code.kept)
        return code

    return put


@pytest.mark.parametrize(("mode", "steps"), [("eager", MANY), ("auto", FEW)])
def test_short_runs_and_eager_ones_never_look(mode, steps):
    made = Plan(mode, steps, lambda: 0)
    assert not made.fits(torch.optim.Adam([nn.Parameter(torch.ones(1))]))
    assert made.decisions == (
        [] if mode == "eager" else [f"eager: {FEW:,} steps are too few to compile one"]
    )


def test_what_is_kept_is_taken_from_the_first_step_on(stands):
    code = stands(Code(kept=True))
    step, made = step_of("auto", SOME, done=SOME - 10)
    take(step, 3)
    assert code.ran == 3
    assert made.decisions == ["compiled by an earlier run: 10 steps ahead"]


def test_of_a_short_run_all_that_is_not_kept_is_eager_from_the_first_step_on(
    stands, clock
):
    """It does not look how long steps take, and says so once."""
    code = stands(Code())
    step, made = step_of("auto", SOME - 1, clock=clock)
    take(step, 1, clock)
    other = CompiledStep(step.loss, step.optimizer, None, nn.Identity(), made.beside())
    assert not made.compiles
    take(other, 1, clock)
    assert not other.plan.compiles
    assert not hasattr(code, "ran")
    few = f"eager: {SOME - 1:,} steps are too few to compile one"
    assert made.decisions == [few]


def test_a_short_run_takes_what_is_kept(stands):
    code = stands(Code(kept=True))
    step, made = step_of("auto", plan.LEAST_STEPS)
    take(step, 3)
    assert code.ran == 3
    assert made.decisions == [
        f"compiled by an earlier run: {plan.LEAST_STEPS:,} steps ahead"
    ]


@pytest.mark.parametrize(("kept", "ahead"), [(False, 29), (True, 28)])
def test_a_run_of_some_seconds_does_not_compile(
    stands, clock, monkeypatch, kept, ahead
):
    """Nor if something alike was compiled, by another version, say."""
    code = stands(Code())
    monkeypatch.setattr(library, "knows", lambda kind: kept)
    step, made = step_of("auto", SOME, done=SOME - 31, clock=clock)
    take(step, 9, clock)
    assert not hasattr(code, "ran")
    assert made.decisions == [f"eager: {ahead} s ahead are too few to compile"]
    assert not made.compiles, "it need not look again"


def test_a_long_run_goes_over_when_the_code_is_there(stands, clock):
    code = stands(Code(looks=3))
    step, made = step_of("auto", SOME, done=SOME - 32, clock=clock)
    take(step, 5, clock)  # two to see how long they take; one begins, the others look
    assert not hasattr(code, "ran")
    take(step, 4, clock)
    assert code.ran == 4
    assert made.decisions == [
        "eager, while one is compiled: 30 steps ahead",
        "compiled beside the training: 27 steps ahead",
    ]


@pytest.mark.parametrize(("cores", "ahead"), [(2, 10), (2, 9), (1, 30), (1, 29)])
def test_with_a_core_to_spare_shorter_runs_compile(
    stands, clock, monkeypatch, cores, ahead
):
    stands(Code())
    monkeypatch.setattr(plan, "usable_cores", lambda: cores)
    step, made = step_of("auto", SOME, done=SOME - ahead - 2, clock=clock)
    take(step, 3, clock)
    waits = made.decisions[0].startswith("eager, while one is compiled")
    assert waits == (ahead in (10, 30))


def test_gradient_steps_are_compiled_first(stands, clock):
    stands(Code())
    steps = Plan("auto", MANY, lambda: clock.steps)
    plans = {"steps": steps, "looking": steps.beside()}
    candidates = {name: plan.Candidate(name) for name in plans}
    graph = plan.Followed(None, ([], []), [])
    began = {}
    for _ in range(5):
        for name, own in reversed(plans.items()):
            own.compiled(candidates[name], lambda: graph)
            if candidates[name].compilation is not None:
                began.setdefault(name, clock.steps)
        clock.steps += 1
    assert began == {"steps": 2, "looking": 3}


def test_many_steps_that_take_no_time_are_a_short_run(stands, clock):
    stands(Code())
    clock.seconds = 1e-3
    step, made = step_of("auto", MANY, clock=clock)
    take(step, 2_001, clock)
    assert made.decisions == ["eager: 18 s ahead are too few to compile"]


def test_a_compiler_that_fails_is_named_and_training_goes_on(stands, clock):
    stands(Code(looks=2, failure="ld: no space left"))
    step, made = step_of("auto", MANY, clock=clock)
    take(step, 6, clock)
    assert made.decisions[-1] == "eager: the compiler failed: ld: no space left"


def test_to_compile_is_to_wait(stands):
    code = stands(Code(looks=100))
    step, made = step_of("compile", 1)
    take(step, 1)
    assert code.ran == 1
    assert made.decisions == ["compiled before the first step: 1 steps ahead"]


def test_without_a_compiler_one_line_says_so(stands, monkeypatch, caplog):
    stands(Code())
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    step, made = step_of("compile", 1)
    with caplog.at_level(logging.INFO, "yieldrl.speed"):
        take(step, 3)
    assert made.decisions == [f"eager: {compiler.missing_compiler()}"]
    assert [record.message for record in caplog.records] == made.decisions


def test_a_loss_that_looks_at_numbers_is_eager_or_refused():
    for mode in ("auto", "compile"):
        model = nn.Linear(2, 1)

        def loss(data, model=model):
            loss = model(data["x"]).mean()
            return (loss if float(data["x"].sum()) > 0 else -loss), {}

        optimizer = torch.optim.Adam(model.parameters())
        made = Plan(mode, MANY, lambda: 0)
        step = CompiledStep(loss, optimizer, 1.0, model, made)
        if mode == "compile":
            with pytest.raises(RuntimeError, match="cannot be followed"):
                take(step, 1)
            continue
        take(step, 2)
        assert made.decisions[0].startswith("eager: the loss cannot be followed: ")
        assert len(made.decisions) == 1


def test_another_optimizer_is_eager_or_refused():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    made = Plan("auto", MANY, lambda: 0)
    assert not made.fits(optimizer)
    assert made.decisions[0].startswith("eager: a compiled step needs Adam or AdamW")
    with pytest.raises(TypeError, match="got SGD"):
        Plan("compile", MANY, lambda: 0).fits(optimizer)


def test_of_many_layouts_the_first_few_are_compiled(stands):
    code = stands(Code(kept=True))
    step, _ = step_of("auto", MANY)
    for rows in range(1, plan.MOST_LAYOUTS + 3):
        step({"x": torch.ones(rows, 2)})
    assert code.ran == plan.MOST_LAYOUTS
