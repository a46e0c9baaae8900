import json

import pytest

import edgnn


@pytest.fixture
def tables(tmp_path):
    """Forty nodes with a type, two numbers, a team and a name; edges with a weight."""
    rows = [f"n{n},{'ab'[n % 2]},{n / 7:.3f},{n % 5},{'xy'[n % 2]},Name {n}\n" for n in range(40)]
    (tmp_path / "nodes.csv").write_text("node_id,type,f1,f2,team,name\n" + "".join(rows))
    edges = [f"n{n},n{(7 * n + 3) % 40},{n / 3:.2f}\n" for n in range(40)]
    (tmp_path / "links.csv").write_text("source,target,weight\n" + "".join(edges))
    return tmp_path / "links.csv", "-o", f"nodes={tmp_path / 'nodes.csv'}", "-o", "node=node_id"


NOTHING = "node labels: none; edge labels: none; features: none; "
ALL = "-o node_label=type -o node_features=f1,f2 -o edge_features=weight"
QUICK = ("--hidden", 4, "--max-epochs", 1)


def test_training_says_which_columns_it_reads_and_which_not(command, tables, tmp_path):
    ended = command("train", *tables, "-t", "team", "--out", tmp_path / "a", *QUICK)
    line = f"{NOTHING}columns not used: type, f1, f2, name (nodes.csv), weight (links.csv); to use more of them: {ALL}"
    assert ended.out.splitlines()[2] == line
    ended = command("train", *tables, *ALL.split(), "-t", "team", "--out", tmp_path / "b", *QUICK)
    line = "node labels: type; edge labels: none; features: f1, f2, weight; columns not used: name (nodes.csv)"
    assert ended.out.splitlines()[2] == line
    graphs = edgnn.models.load_model(tmp_path / "b")._coder
    assert (list(graphs.node_vocabulary), graphs.node_features, graphs.edge_features) == (
        ["a", "b"],
        2,
        1,
    )


def test_evaluation_and_show_say_it_too(command, tables):
    words = ("--model", "majority", "--protocol", "holdout", "--runs", 1)
    lines = command("evaluate", *tables, "-t", "team", *words).out.splitlines()
    assert lines[2].startswith(f"{NOTHING}columns not used: type, f1, f2, name (nodes.csv)")
    shown = command("datasets", "show", *tables).out
    assert (
        f"Columns   {NOTHING}columns not used: type, f1, f2, team, name (nodes.csv), weight (links.csv); to use"
        in shown
    )


def test_programs_and_the_quiet_are_not_told(command, tables, tmp_path, capfd):
    for number, word in enumerate(("--quiet", "--json")):
        ended = command(
            "train", *tables, "-t", "team", "--out", tmp_path / f"{number}", *QUICK, word
        )
        assert ended.code == 0
        assert "not used" not in ended.out + ended.err
    assert "not used" not in command("datasets", "show", *tables, "--json").out
    edgnn.load_dataset(
        tables[0], nodes=tables[2].partition("=")[2], node="node_id", node_target="team"
    )
    assert capfd.readouterr() == ("", "")


def test_columns_beside_molecules_are_named(command, smiles, tmp_path):
    words = ("-t", "kind", "--model", "majority", "--protocol", "holdout", "--runs", 1)
    assert "columns not used: value, length, odd, even\n" in command("evaluate", smiles, *words).out
    (tmp_path / "a.csv").write_text("ID,Smiles,kind\na,CO,x\nb,CN,y\nc,CCO,x\nd,CCN,y\n")
    assert (
        "columns not used"
        not in command("evaluate", tmp_path / "a.csv", *words, "--test", "0.5").out
    )


def test_a_column_of_the_table_of_targets_is_used(command, tables, tmp_path):
    words = (
        *tables,
        "--target-file",
        tmp_path / "nodes.csv",
        "-t",
        "team",
        "--out",
        tmp_path / "run",
        *QUICK,
    )
    assert (
        "columns not used: type, f1, f2, name (nodes.csv), weight" in command("train", *words).out
    )


def test_many_columns_are_cut(command, tmp_path):
    names = ",".join(f"c{number}" for number in range(12))
    rows = "".join(f"{'C' * (n + 1)},{n % 2}{',1' * 12}\n" for n in range(6))
    (tmp_path / "a.csv").write_text(f"smiles,y,{names}\n{rows}")
    shown = command("datasets", "show", tmp_path / "a.csv", "-o", "target=y").out
    assert "Columns   not used: c0, c1, c2, c3, c4, c5, c6, c7 and 4 more\n" in shown


def test_show_lists_the_most_frequent_labels(command, tmp_path):
    triples = [
        f"<n:{n}> <r:{edge}> <n:{n + 1}> .\n" for edge in range(12) for n in range(20 - edge)
    ]
    (tmp_path / "a.nt").write_text("".join(triples))
    lines = command("datasets", "show", tmp_path / "a.nt").out.splitlines()
    assert lines[3].split()[-2:] == ["none", "12"]
    first = lines.index("Edge labels, by how many edges have them") + 1
    assert lines[first : first + 11] == [f"    {20 - edge}  r:{edge}" for edge in range(10)] + [
        "    and 2 more (--all lists them)"
    ]
    everything = command("datasets", "show", tmp_path / "a.nt", "--all").out.splitlines()
    assert everything[first : first + 12] == [f"    {20 - edge:>2}  r:{edge}" for edge in range(12)]
    assert not any(line.startswith("Node labels,") for line in lines)
    told = json.loads(command("datasets", "show", tmp_path / "a.nt", "--json").out)
    assert told["edge_labels"] == [{"label": f"r:{edge}", "count": 20 - edge} for edge in range(12)]
    assert told["node_labels"] == []


def test_show_counts_the_labels_of_nodes(command):
    lines = command("datasets", "show", "MUTAG").out.splitlines()
    first = lines.index("Node labels, by how many nodes have them") + 1
    assert [line.split() for line in lines[first : first + 7]] == [
        ["2,395", "C"],
        ["593", "O"],
        ["345", "N"],
        ["23", "Cl"],
        ["12", "F"],
        ["2", "Br"],
        ["1", "I"],
    ]


def test_show_speaks_of_one_graph_as_one(command, tmp_path):
    triples = [
        "<a:a> <r:r> <a:b> .",
        '<a:a> <r:r> "b" .',
        '_:x <r:s> "b"@en .',
        "<a:b> <r:r> <a:c> .",
    ]
    (tmp_path / "a.nt").write_text("\n".join(triples))
    lines = command("datasets", "show", tmp_path / "a.nt").out.splitlines()
    assert lines[2].split() == ["Graphs", "Nodes", "Edges", "Node", "labels", "Edge", "labels"]
    assert lines[3].split() == ["here", "1", "6", "4", "none", "2"]
    assert "Terms     3 IRIs, 2 literals, 1 blank node" in lines
    told = json.loads(command("datasets", "show", tmp_path / "a.nt", "--json").out)
    assert told["terms"] == {"IRI": 3, "literal": 2, "blank node": 1}
    assert told["statistics"]["nodes"] == 6
    (tmp_path / "b.csv").write_text("source,target\na,b\nb,c\n")
    assert "Terms" not in command("datasets", "show", tmp_path / "b.csv").out
