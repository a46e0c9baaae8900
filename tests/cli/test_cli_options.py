"""What ``-o NAME=VALUE`` means: what the reader takes."""

import inspect
import json

from edgnn.io import FORMATS


def shown(command, source, *options):
    words = [word for option in options for word in ("-o", option)]
    ended = command("datasets", "show", source, "--json", *words)
    assert ended.err == ""
    return json.loads(ended.out)


def test_every_default_can_be_given_on_the_command_line(command, tmp_path):
    files = {
        "rdf": ("a.nt", "<http://a> <http://p> <http://b> .\n"),
        "tables": ("a.csv", "source,target,label\na,b,x\n"),
        "graphml": (
            "a.graphml",
            "<graphml><graph edgedefault='directed'><node id='a'/></graph></graphml>",
        ),
        "node-link": ("a.json", '{"directed": true, "nodes": [{"id": 1}], "edges": []}'),
        "smiles": ("b.csv", "smiles\nCCO\n"),
    }
    for kind, (name, text) in files.items():
        (tmp_path / name).write_text(text)
        plain = shown(command, tmp_path / name)
        defaults = inspect.signature(FORMATS[kind].read).parameters.values()
        given = [
            f"{one.name}={str(one.default).lower() if one.default in (None, True, False) else one.default}"
            for one in defaults
            if one.kind is one.KEYWORD_ONLY and one.name not in ("like", "format")
        ]
        assert len(given) > 3
        assert shown(command, tmp_path / name, *given) == plain, kind


def test_words_mean_what_the_option_takes(command, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text('none,007,true,"a,b",1.0\n1,2,x,3,4\n2,1,y,5,6\n')
    told = shown(command, path, "source=none", "target=007", "edge_label=true")
    assert [label["label"] for label in told["edge_labels"]] == ["x", "y"]
    assert shown(command, path, "source=none", "target=007", "edge_label=None")["edge_labels"] == []
    assert shown(command, path, "source=a,b", "target=1.0")["statistics"]["nodes"] == 4
    ended = command("datasets", "show", path, "-o", "source=none", "-o", "max_bytes=many")
    assert (
        "max_bytes='many': this option of the format 'tables' takes a whole number or None"
        in ended.err
    )


def test_a_run_keeps_options_as_the_reader_takes_them(command, tmp_path):
    rows = "".join(f"{'C' * (n + 1)},{n % 2}\n" for n in range(12))
    (tmp_path / "a.csv").write_text(f"smiles,y\n{rows}")
    options = ("-o", "hydrogens=true", "-o", "atom_label=symbol,charge", "-o", "bond_label=none")
    quick = ("--max-epochs", 1, "--hidden", 4, "--out", tmp_path / "run")
    assert command("train", tmp_path / "a.csv", "-t", "y", *options, *quick).code == 0
    stored = json.loads((tmp_path / "run" / "config.json").read_text())["source"]["options"]
    assert stored == {"hydrogens": True, "atom_label": ["symbol", "charge"], "bond_label": None}
    assert command("predict", tmp_path / "run", tmp_path / "a.csv").code == 0
