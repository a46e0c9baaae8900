import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from edgnn.serve import Limits, create_app
from serve_runs import make_mutag_run, make_node_run, make_people

LIMITS = Limits(nodes=2_000, edges=4_000, items=200, seconds=200)
REFUSED = {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 413, 422]}}


def config():
    return schemathesis.Config.from_dict({"checks": REFUSED})


@pytest.fixture(scope="session")
def graph_schema(tmp_path_factory):
    run = make_mutag_run(tmp_path_factory.mktemp("schema") / "mutag")
    return schemathesis.openapi.from_asgi(
        "/openapi.json", create_app(run, limits=LIMITS, hosts=None), config=config()
    )


@pytest.fixture(scope="session")
def node_schema(tmp_path_factory):
    place = tmp_path_factory.mktemp("schema")
    run = make_node_run(place / "run", make_people(place / "people"))
    return schemathesis.openapi.from_asgi(
        "/openapi.json", create_app(run, limits=LIMITS, hosts=None), config=config()
    )


OPERATIONS = [
    ("/health", "GET"),
    ("/version", "GET"),
    ("/model", "GET"),
    ("/names", "GET"),
    ("/predict", "POST"),
    ("/predict/file", "POST"),
    ("/explain", "POST"),
    ("/explain/file", "POST"),
    ("/colors", "POST"),
    ("/colors/file", "POST"),
]


def check(schema, path, method, mode):
    @settings(
        max_examples=12,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(schema[path][method].as_strategy(generation_mode=mode))
    def ask(case):
        if method == "GET" or mode != GenerationMode.POSITIVE:
            case.call_and_validate()
            return
        answer = case.call_and_validate(
            excluded_checks=[positive_data_acceptance]
        )  # no schema tells a SMILES from other text
        assert answer.status_code in (200, 413, 422)
        assert "see /openapi.json" not in answer.text, (
            answer.text
        )  # what it allows is not refused for what it could have said

    ask()


def test_all_operations_are_tried(graph_schema):
    found = {
        (result.ok().path, result.ok().method.upper())
        for result in graph_schema.get_all_operations()
    }
    assert found == set(OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_a_model_of_graphs_answers_as_its_schema_says(graph_schema, path, method):
    check(graph_schema, path, method, GenerationMode.POSITIVE)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS[3:])
def test_what_the_schema_forbids_is_refused(graph_schema, path, method):
    check(graph_schema, path, method, GenerationMode.NEGATIVE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "method"), [operation for operation in OPERATIONS if operation[1] == "POST"]
)
def test_a_model_of_nodes_answers_as_its_schema_says(node_schema, path, method):
    check(node_schema, path, method, GenerationMode.POSITIVE)
