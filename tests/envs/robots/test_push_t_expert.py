"""The rule for Push-T: its geometry. In the task itself it is seen in test_tasks.py."""

import numpy as np
import pytest

from yieldrl.benchmarks.experts import push_t as rule
from yieldrl.envs.robots.push_t import GOAL

UPRIGHT = np.array([250.0, 200.0, 0.0])  # a T in the middle, as it is written
ABOVE, BELOW = np.array([0.0, -40.0]), np.array([0.0, 160.0])


def at(point):
    """Which contact is the nearest to a point."""
    return np.linalg.norm(rule.CONTACTS - point, axis=1).argmin()


def test_the_disk_touches_where_it_is_to_push():
    assert rule.distance(rule.DISKS) == pytest.approx(rule.RADIUS)
    assert rule.distance(rule.CONTACTS + rule.NORMALS) == pytest.approx(0)
    assert len(np.unique(rule.NORMALS, axis=0)) == 4  # from all sides


def test_the_contact_gives_way_by_the_depth():
    """And the T stays as it is, so that the contact's way follows from the corners'."""
    depth = 1e-4
    after = rule.pushed(rule.CONTACTS, rule.NORMALS, np.array([depth]))[0]
    corners = np.c_[rule.CORNERS, np.ones(8)]
    for contact, normal, moved in zip(rule.CONTACTS, rule.NORMALS, after, strict=True):
        motion, *_ = np.linalg.lstsq(corners, moved - rule.CORNERS, rcond=None)
        assert np.array([*contact, 1]) @ motion @ normal == pytest.approx(depth)
        sides = np.linalg.norm(moved - np.roll(moved, 1, 0), axis=1)
        assert sides == pytest.approx([30, 120, 30, 45, 90, 30, 90, 45])


def test_ways_lead_around():
    """Those to the other side are longer than the T allows, and begin at a corner."""
    far = at([0, 120])
    assert rule.straight(ABOVE, rule.STANDS[far]) == np.inf
    ways, first = rule.ways_around(ABOVE, UPRIGHT)
    assert np.isfinite(ways).all()
    assert 250 < ways[far] < 320  # half the bar, down to the end, half of that
    assert abs(first[far]) == pytest.approx([79, 19])
    near = at([0, 0])
    assert first[near] == pytest.approx(rule.STANDS[near])
    assert ways[near] == pytest.approx(np.linalg.norm(ABOVE - rule.STANDS[near]))


@pytest.mark.parametrize(("x", "side"), [(50.0, 1), (462.0, -1)])
def test_nobody_walks_off_the_table(x, side):
    _, first = rule.ways_around(ABOVE, np.array([x, 200.0, 0.0]))
    assert np.sign(first[at([0, 120])][0]) == side


def test_it_walks_up_and_lets_go_without_touching():
    pose = GOAL - (0, 50, 0)
    for far in ((450.0, 100.0), (100.0, 400.0)):
        here = rule.to_frame(rule.place_to_push(np.array(far), pose), pose)
        assert rule.distance(here) >= rule.RADIUS + 1
    for disk in rule.DISKS:
        assert rule.distance(rule.backed_off(disk)) > rule.RADIUS + 1
    out = rule.backed_off(rule.CENTRE) - rule.CENTRE  # which a first state may be near
    assert np.linalg.norm(out) == pytest.approx(rule.RADIUS + 1.5)


def test_a_push_brings_it_home():
    """A T that is `depth` short of its place along a normal through its centre."""
    contact = at([0, 0])
    normal = rule.rotated(rule.NORMALS[contact], GOAL[2])
    pose = GOAL - [*(11 * normal), 0]
    disk = rule.to_table(rule.DISKS[contact], pose)
    move = rule.place_to_push(disk, pose) - disk
    assert move @ normal == pytest.approx(rule.LEAD * 11, rel=0.1)
