import pytest

from edgnn.io import FORMATS


def uses_of(path, **options):
    return {use.of: use for use in FORMATS["tables"].columns(path, options)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "edges.csv").write_text(
        "graph,source,target,label,feature_0,cost\ng,a,b,x,1,2\ng,b,a,x,2,\n"
    )
    (tmp_path / "nodes.csv").write_text(
        "graph,node,kind,mass,full name,flag\ng,a,p,1,A,\ng,b,p,2e3,B,1\n"
    )
    (tmp_path / "graphs.csv").write_text("graph,target_0,target_1,note\ng,1,2,hm\n")
    return tmp_path


def test_what_the_reader_takes_by_itself_is_used(folder):
    uses = uses_of(folder)
    assert (uses["edge"].label, uses["edge"].features, uses["edge"].unused) == (
        "label",
        ("feature_0",),
        ("cost",),
    )
    assert (uses["node"].label, uses["node"].unused) == (
        None,
        ("kind", "mass", "full name", "flag"),
    )
    assert uses["graph"].unused == ("note",)


def test_only_full_columns_of_numbers_and_words_that_come_again_are_worth_a_hint(folder):
    uses = uses_of(folder)
    assert (uses["edge"].numbers, uses["edge"].words) == ((), ())
    assert (uses["node"].numbers, uses["node"].words) == (("mass",), ("kind",))
    assert (uses["graph"].numbers, uses["graph"].words) == ((), ())


def test_options_name_what_is_used(folder):
    uses = uses_of(
        folder,
        node_label="kind",
        node_features=["mass"],
        node_target="flag",
        edge_label=None,
        edge_features=(),
    )
    assert uses["node"].unused == ("full name",)
    assert uses["edge"].unused == ("label", "feature_0", "cost")


def test_parquet_tells_numbers_by_their_type(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "source": ["a", "b"],
        "target": ["b", "a"],
        "weight": [1.5, 2.0],
        "on": [True, True],
        "kind": ["x", "x"],
    }
    parquet.write_table(pa.table(columns), tmp_path / "edges.parquet")
    (use,) = FORMATS["tables"].columns(tmp_path / "edges.parquet", {})
    assert (use.unused, use.numbers, use.words) == (
        ("weight", "on", "kind"),
        ("weight",),
        ("on", "kind"),
    )


def test_a_table_without_rows_has_columns_too(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\n")
    (use,) = FORMATS["tables"].columns(tmp_path / "edges.csv", {})
    assert (use.unused, use.numbers, use.words) == (("weight",), (), ())


def test_other_formats_have_no_columns(tmp_path):
    assert FORMATS["rdf"].columns is None
