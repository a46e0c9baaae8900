"""Models that are served, and clients that ask them."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import edgnn
from edgnn.models import GraphRegressor
from serve_runs import client_of, make_mutag_run, make_node_run, make_people


@pytest.fixture(scope="session")
def mutag_run(tmp_path_factory):
    return make_mutag_run(tmp_path_factory.mktemp("serve") / "mutag")


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    return make_people(tmp_path_factory.mktemp("tables") / "people")


@pytest.fixture(scope="session")
def node_run(tmp_path_factory, people):
    return make_node_run(tmp_path_factory.mktemp("serve") / "people", people)


@pytest.fixture(scope="session")
def value_run(tmp_path_factory):
    graphs = edgnn.from_smiles(["C" * length + "O" for length in range(1, 11)])
    path = tmp_path_factory.mktemp("serve") / "values"
    GraphRegressor(max_epochs=3, hidden=8, random_state=0).fit(
        graphs, [float(length) for length in range(1, 11)]
    ).save(path)
    return path


@pytest.fixture(scope="session")
def molecules(mutag_run):
    return client_of(mutag_run)


@pytest.fixture(scope="session")
def nodes(node_run):
    return client_of(node_run)


@pytest.fixture(scope="session")
def values(value_run):
    return client_of(value_run)
