"""The lag counts policies that were handed over, not the numbers they bear."""

from yieldrl.collectors import segments
from yieldrl.collectors.segments import PolicyLag


def test_a_report_has_mean_and_maximum_since_the_one_before():
    policies = PolicyLag(0)
    policies.publish(1)
    for version in (0, 1, 1, 1):
        policies.add(version)
    assert policies.report() == {"policy_lag": 0.25, "policy_lag_max": 1}
    policies.add(1)
    assert policies.report() == {"policy_lag": 0.0, "policy_lag_max": 0}


def test_a_checkpoint_keeps_the_versions_and_what_was_not_reported():
    policies, saved = PolicyLag(0), PolicyLag(0)
    policies.publish(1)
    policies.publish(2)
    policies.add(1)
    policies.add(2)
    saved.load_state_dict(policies.state_dict())
    assert [saved.of(version) for version in (0, 1, 2)] == [2, 1, 0]
    assert saved.newest == 2
    assert saved.report() == {"policy_lag": 0.5, "policy_lag_max": 1}


def test_it_remembers_so_many_versions(monkeypatch):
    monkeypatch.setattr(segments, "MAX_VERSIONS", 4)
    policies = PolicyLag(0)
    for version in range(1, 10):
        policies.publish(version)
    assert [policies.of(version) for version in (6, 7, 8, 9)] == [3, 2, 1, 0]
    assert len(policies.state_dict()["versions"]) == 4
