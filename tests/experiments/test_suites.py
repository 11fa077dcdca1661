"""Success by task: the same numbers in processes, gone on with; their file."""

import json

import gymnasium as gym
import pytest

from yieldrl.algorithms import ppo
from yieldrl.collectors import evaluate
from yieldrl.experiments.suites import EpisodeOutcome, SuiteEvaluation, SuiteResults

TASKS = {"few": {"num_objects": 2}, "many": {"num_objects": 6}}
SIZE = {"height": 4, "width": 4}


@pytest.fixture(scope="module")
def trainer():
    """A policy that has never learned, and fails now and then."""
    config = ppo.Config(
        env_id="yieldrl/GoTo-v1",
        env_kwargs={**SIZE, "max_episode_steps": 9},
        hidden_sizes=(8,),
        eval_every=0,
        device="cpu",
        seed=2,
    )
    with ppo.Trainer(config) as trainer:
        yield trainer


@pytest.fixture
def begin(trainer, tmp_path):
    """Begins evaluations that go on in one file."""

    def begin(episodes=4, tasks=TASKS, name="a", **options):
        about = {"suite": "crowds", "tasks": tasks}
        results = SuiteResults(tmp_path / f"{name}.json", about)
        parts = trainer, tasks, results, episodes
        return SuiteEvaluation(*parts, **{"seed": 3, **options})

    return begin


def numbers(evaluation):
    return {
        key: one._replace(seconds=0) for key, one in evaluation.results.outcomes.items()
    }


def test_an_episode_is_that_of_one_environment_and_its_seed(trainer, begin):
    evaluation = begin()
    outcomes = [*evaluation]
    assert [(one.task, one.number) for one in outcomes] == [
        (task, number) for task in TASKS for number in range(4)
    ]
    assert len({one.length for one in outcomes}) > 2
    assert {one.success for one in outcomes} == {True, False}
    for one in outcomes:
        kwargs = {**SIZE, **TASKS[one.task], "max_episode_steps": 9}
        envs = gym.make_vec("yieldrl/GoTo-v1", num_envs=1, **kwargs)
        expected = evaluate(trainer.agent, envs, 1, 3 + one.number)
        assert one.episode_return == expected.returns[0]
        assert one.length == expected.lengths[0]
        assert one.success == expected.successes[0]


def test_episodes_side_by_side_have_the_numbers_of_single_ones(begin):
    alone = begin(episodes=2)
    assert next(iter(alone)).number == 0
    assert len([*alone]) == 3  # a loop that was left goes on
    beside = begin(episodes=3, name="b", workers=2)  # the last one plays alone
    assert len([*beside]) == 6
    found = numbers(beside)
    assert {key: found[key] for key in numbers(alone)} == numbers(alone)
    for options in ({"episodes": 0}, {"workers": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            begin(**options)


def test_what_was_played_is_not_played_again(begin):
    expected = begin(name="b")
    assert expected.planned == len([*expected]) == 8
    cut = begin()
    for number, _ in enumerate(cut, 1):
        if number == 3:
            break
    again = begin()
    assert again.planned == 5
    later = [("few", 3), *[("many", number) for number in range(4)]]
    assert [(o.task, o.number) for o in again] == later
    assert numbers(again) == numbers(expected)
    more = begin(episodes=5)
    assert [(o.task, o.number) for o in more] == [("few", 4), ("many", 4)]
    assert [*begin(episodes=5)] == []


def test_a_film_shows_the_failure(begin, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="films need imageio-ffmpeg")
    evaluation = begin()
    failed = [one for one in evaluation if not one.success]
    own = evaluation.trainer.config
    films = [*evaluation.films(tmp_path / "films", most=1)]
    first = {task: next(o for o in failed if o.task == task) for task in TASKS}
    expected = [f"{task}_{one.number:03d}.mp4" for task, one in first.items()]
    assert [film.name for film in films] == expected
    for film, one in zip(films, first.values(), strict=True):
        frames, _ = ffmpeg.count_frames_and_secs(str(film))
        assert frames == one.length + 1  # with the last
    assert evaluation.trainer.config is own
    assert [*evaluation.films(tmp_path / "films", most=1)] == []


ABOUT = {"suite": "crowds", "seed": 7, "tasks": {"few": {"num": 2}, "many": {"num": 6}}}


def outcome(task, number, success, length=3):
    said = {"episode_return": float(bool(success)), "length": length, "seconds": 0.5}
    return EpisodeOutcome(task=task, number=number, success=success, **said)


def test_each_episode_is_in_the_file_at_once_in_the_order_of_tasks(tmp_path):
    file = tmp_path / "there" / "crowds.json"
    results = SuiteResults(file, ABOUT)
    assert not file.exists()
    for task, number in [("many", 0), ("few", 1), ("few", 0)]:
        results.add(outcome(task, number, True))
    found = json.loads(file.read_text())
    where = [(one["task"], one["number"]) for one in found.pop("episodes")]
    assert where == [("few", 0), ("few", 1), ("many", 0)]
    assert found == ABOUT
    results.add(outcome("many", 4, None))
    assert SuiteResults(file, ABOUT).outcomes == results.outcomes
    assert [path.name for path in file.parent.iterdir()] == ["crowds.json"]


def test_a_file_of_another_evaluation_is_refused_and_left_alone(tmp_path):
    file = tmp_path / "a.json"
    SuiteResults(file, ABOUT).add(outcome("few", 0, True))
    before = file.read_text()
    said = r"another evaluation: seed was \[7\], and is \[8\]"
    with pytest.raises(ValueError, match=said):
        SuiteResults(file, {**ABOUT, "seed": 8})
    assert file.read_text() == before


def test_the_report_has_wilsons_intervals(tmp_path):
    """By hand, of 1 of 6 and z = 1.96: (1/6 + 0.3201) / 1.6402 = 0.2968, and beside it
    1.96 sqrt(5/216 + 0.02668) / 1.6402 = 0.2667."""
    results = SuiteResults(tmp_path / "a.json", ABOUT)
    for number in (5, 4, 0, 1, 2, 3):
        results.add(outcome("few", number, number == 3))
    few, many, suite = results.report().splitlines()
    said = " 16.7%  1 of 6, 95 % interval 3.0% to 56.4%"
    assert few == f"few              {said}"
    assert many == "many             not played"
    assert suite == f"crowds, 2 tasks  {said}"
    results = SuiteResults(tmp_path / "b.json", ABOUT)
    results.add(outcome("few", 0, None))  # nothing says what a success is
    assert results.report().startswith("few              return 0.00 +- 0.00 of 1")
