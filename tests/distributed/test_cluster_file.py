"""The cluster's file and the job of docs/cluster.md are what Ray takes: a dry run."""

import copy
import shlex
from pathlib import Path

import pytest
import yaml
from ray.autoscaler._private import util
from ray.autoscaler._private.local.config import bootstrap_local
from ray.dashboard.modules.job.cli import submit
from ray.scripts.scripts import start

DOCS = Path(__file__).parents[2] / "docs"
CLUSTER = yaml.safe_load((DOCS / "cluster" / "cluster.yaml").read_text("utf-8"))


def prepared(cluster):
    """What `ray up` makes of a file before it reaches for a machine."""
    config = util.prepare_config(copy.deepcopy(cluster))
    util.validate_config(config)
    return bootstrap_local(config)


def test_the_file_is_a_cluster_with_all_its_machines():
    config = prepared(CLUSTER)
    (machines,) = config["available_node_types"].values()
    assert machines["max_workers"] == len(CLUSTER["provider"]["worker_ips"]) == 3
    assert config["head_node_type"] in config["available_node_types"]
    installed = " ".join(config["setup_commands"])
    assert "'yieldrl[ray]' 'ray[default]'" in installed


def test_a_wrong_file_is_refused():
    with pytest.raises(Exception, match="provider_type"):
        prepared({**CLUSTER, "provider_type": "local"})


def commands(beginning):
    """The commands of the page that begin so, as lists of words."""
    lines = (DOCS / "cluster.md").read_text("utf-8").splitlines()
    return [shlex.split(x, comments=True) for x in lines if x.startswith(beginning)]


def test_a_ray_is_started_on_each_machine_by_options_that_it_has():
    head, other = commands("ray start")
    with start.make_context("start", head[2:]) as context:
        assert context.params["head"]
        assert context.params["port"] == 6379
    with start.make_context("start", other[2:]) as context:
        assert context.params["address"] == "10.0.0.1:6379"


def test_the_job_is_parsed_with_all_its_words():
    (words,) = commands("ray job submit")
    with submit.make_context("submit", words[3:]) as context:
        options = context.params
    assert options["address"] == "http://127.0.0.1:8265"
    assert options["working_dir"] == "."
    assert options["entrypoint"][:3] == ("yieldrl", "train", "ppo")
    assert options["entrypoint"] == tuple(words[words.index("--") + 1 :])
