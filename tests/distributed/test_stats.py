"""What all workers have done, added up."""

from yieldrl.distributed.stats import StatsActor


def test_means_are_weighted_by_episodes():
    stats = StatsActor()
    few = {"episode_return": 1.0, "episode_length": 2.0, "episodes": 1.0}
    more = {"episode_return": 5.0, "episode_length": 6.0, "episodes": 3.0}
    stats.add(0, 10, [few])
    stats.add(1, 20, [more, {"epsilon": 0.5}])
    stats.add(1, 20, [])
    assert stats.summary() == {
        "steps": {0: 10, 1: 40},
        "episodes": {0: 1.0, 1: 3.0},
        "episode_return": 4.0,
        "episode_length": 5.0,
        "window": 4.0,
    }


def test_old_reports_leave_the_window_and_stay_in_the_counts():
    stats = StatsActor(window=2)
    for number in range(4):
        log = {"episode_return": number, "episode_length": 1, "episodes": 1.0}
        stats.add(0, 1, [log])
    found = stats.summary()
    assert found["episode_return"] == 2.5
    assert found["episodes"] == {0: 4.0}
