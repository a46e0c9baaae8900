import json
import subprocess
import sys

import edgnn

OPTIONAL = (
    "gensim",
    "grakel",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "plotly",
    "pyarrow",
    "pyoxigraph",
    "rdflib",
    "rdkit",
    "torch_geometric",
)

CORE_ONLY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
import edgnn
graphs = edgnn.Graphs.from_edges([(0, 1), (1, 2), (2, 0)], node_labels=["a", "b", "a"], edge_labels=[1, 2, 1])
structure = edgnn.Structure.of(graphs)
assert structure.neighbors.nnz == 6
edgnn.write(graphs, sys.argv[1] + "/set", format="tu")
assert edgnn.read(sys.argv[1] + "/set").num_edges == 3
edgnn.write(graphs, sys.argv[1] + "/g.json")
assert edgnn.read(sys.argv[1] + "/g.json").num_edges == 3
edgnn.write(graphs, sys.argv[1] + "/g.graphml")
assert edgnn.read(sys.argv[1] + "/g.graphml").num_edges == 3
assert edgnn.read(sys.argv[1] + "/x.nt").num_edges == 1
import edgnn.cli, benchmarks, edgnn.report.draw, edgnn.wl
assert edgnn.wl.refine(graphs).num_colors() == 3
for call in (lambda: edgnn.to_networkx(graphs), lambda: edgnn.to_pyg(graphs), lambda: edgnn.from_smiles("C"),
             lambda: edgnn.read(sys.argv[1] + "/x.ttl"), lambda: edgnn.read(sys.argv[1] + "/x.csv")):
    try:
        call()
    except edgnn.errors.MissingDependencyError as error:
        assert "pip install 'edgnn[" in str(error)
    else:
        raise AssertionError("a blocked package was used")
"""


def python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_core_works_with_only_the_core_dependencies(tmp_path):
    (tmp_path / "x.nt").write_text("<a:a> <a:b> <a:c> .\n")
    (tmp_path / "x.ttl").write_text("<a:a> <a:b> <a:c> .\n")
    (tmp_path / "x.csv").write_text("source,target\na,b\n")
    python(f"BLOCKED = {OPTIONAL!r}\n{CORE_ONLY}", str(tmp_path))


def test_graphs_load_nothing_beside_torch():
    """Modules are listed instead of timed: what is not imported cannot cost time."""
    code = (
        "import sys, json, torch; before = set(sys.modules); import edgnn; edgnn.Graphs; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = json.loads(python(code))
    assert {name.partition(".")[0] for name in loaded} == {"edgnn"}
    assert {".".join(name.split(".")[:2]) for name in loaded if "._" not in name} == {
        "edgnn",
        "edgnn.errors",
        "edgnn.graphs",
    }


def test_importing_edgnn_loads_nothing_but_itself():
    loaded = json.loads(python("import sys, json, edgnn; print(json.dumps(sorted(sys.modules)))"))
    assert not {"torch", "numpy", "scipy", "sklearn", "rich", "typer"} & set(loaded)


def test_every_public_name_exists():
    for name in edgnn.__all__:
        assert getattr(edgnn, name) is not None
    assert {name for name in dir(edgnn) if not name.startswith("__")} == set(edgnn.__all__) - {
        "__version__"
    }
