import sys
import time

import pyoxigraph as ox
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import edgnn
from edgnn.errors import FormatError, MissingDependencyError
from edgnn.io import read_rdf
from edgnn.io._plain_terms import plain_spellings

PLAIN = [
    "<http://a.org/b_c#d>",
    "<http://a:80/%20?q=1/?#x?>",
    "<urn:a:b>",
    "<http://a/é>",
    "<mailto:me@a.org>",
    "_:node1",
    "_:a.b-",
    '"two words"',
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"a"@en',
]
OTHERWISE = {
    '"a"^^<http://www.w3.org/2001/XMLSchema#string>': '"a"',
    r'"\u00e9\n\'\U0001F600"': r'"é\n' + "'😀\"",
    '"\t\x7f\ufffe"': r'"\t\u007F\uFFFE"',
    r'"\u000B\\\""@de-AT': r'"\u000B\\\""@de-at',
}
DOUBTFUL = [
    "<a>",
    "<1:a>",
    "<http://a b>",
    "<http://a/%zz>",
    "<http://a#b#c>",
    "<x:a|b>",
    "<http://[::1]/>",
    r"<urn:\u0061>",
    "<x:\ue000>",
    "<<( <a:a> <a:a> <a:a> )>>",
    "_:",
    "_:-a",
    "_:a.",
    '"a',
    '"a"b',
    r'"\v"',
    r'"\uD800"',
    r'"\U00110000"',
    r'"\u00e"',
    '"a"@toolonglanguage',
    '"a"@en--ltr',
    '"a"^^<b>',
    '"a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
]


def parsed(term):
    try:
        return [
            str(quad.object)
            for quad in ox.parse(f"<x:x> <x:x> {term} .".encode(), format=ox.RdfFormat.N_TRIPLES)
        ]
    except SyntaxError:
        return None


@pytest.fixture
def hidden(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)


def same(one, two):
    tensors = ("node_label", "edge_source", "edge_target", "edge_label", "graph_offset")
    assert all(torch.equal(getattr(one, name), getattr(two, name)) for name in tensors)
    assert list(one.edge_vocabulary) == list(two.edge_vocabulary)
    assert one.node_names.tolist() == two.node_names.tolist()


@pytest.mark.parametrize("term", PLAIN)
def test_plain_terms_are_their_own_canonical_form(term):
    assert plain_spellings([term]) == {}
    assert parsed(term) == [term]


@pytest.mark.parametrize(("term", "form"), OTHERWISE.items())
def test_other_spellings_of_literals_are_known(term, form):
    assert plain_spellings([term]) == {term: form}
    assert parsed(term) == [form]


@pytest.mark.parametrize("term", DOUBTFUL)
def test_doubtful_terms_are_left_to_the_parser(term):
    assert plain_spellings(["<a:a>", term]) is None


CHARACTERS = st.sampled_from(
    "aZ09.:/?#%[]@!$&'()*+,;=-_~ <>|^`{}\"\\é\u00a0\ue000\ufdd0\ufffd😀"
) | st.characters(codec="utf-8")
SCHEMES = st.sampled_from(
    ["http://", "x:", "http:/", "urn:a:", "http://a:8", "x://%41", "", "http://a/%4"]
)
STRINGS = st.lists(
    st.sampled_from(
        [
            r"\n",
            r"\t",
            r"\"",
            r"\\",
            r"\'",
            r"\b",
            r"\f",
            r"\r",
            r"\u00e9",
            r"\U0001F600",
            r"\uDC00",
            r"\uFFFF",
            r"\x",
        ]
    )
    | st.characters(codec="utf-8", exclude_characters='"\\\r\n')
).map("".join)
SUFFIXES = st.sampled_from(
    ["", "^^<http://www.w3.org/2001/XMLSchema#string>", "^^<a:b>", "^^<b>"]
) | st.from_regex(r"@[a-zA-Z0-9]{1,4}(-[a-zA-Z0-9]{1,4})?", fullmatch=True)
TERMS = st.one_of(
    st.builds("<{}{}>".format, SCHEMES, st.text(CHARACTERS, max_size=8)),
    st.builds("_:{}".format, st.text("aZ09_.-é", min_size=1, max_size=6)),
    st.builds('"{}"{}'.format, STRINGS, SUFFIXES),
)


@settings(max_examples=600)
@given(TERMS)
def test_whatever_is_taken_is_what_pyoxigraph_reads(term):
    found = plain_spellings([term])
    if found is not None:
        assert parsed(term) == [found.get(term, term)]


NODES = st.sampled_from(["<a:b>", "<http://x/y#z>", "_:b", "_:c1"])
LITERALS = st.sampled_from(
    ['"a"', '"a"^^<http://www.w3.org/2001/XMLSchema#string>', r'"\u0061"', r'"\n"@EN', '"1"^^<a:b>']
)
LINES = st.builds("{} {} {} .".format, NODES, st.sampled_from(["<a:p>", "<a:q>"]), NODES | LITERALS)


@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.sampled_from(["", "\n", "\n\n"]),
)
def test_plain_lines_give_the_same_graph_either_way(lines, end, last, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "plain.nt"
    file.write_bytes((end.join(lines) + last).encode())
    expected = read_rdf(file, node_labels="kind").graphs
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyoxigraph", None)
        same(read_rdf(file, node_labels="kind").graphs, expected)


@pytest.mark.parametrize("name", ["AIFB", "MUTAG-RDF"])
def test_the_sets_of_the_paper_need_no_parser(data_dir, monkeypatch, name):
    expected = edgnn.load_dataset(name, data_dir=data_dir)
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    found = edgnn.load_dataset(name, data_dir=data_dir)
    same(found.graphs, expected.graphs)
    assert found.nodes.index.tolist() == expected.nodes.index.tolist()
    assert found.targets.tolist() == expected.targets.tolist()


@pytest.mark.parametrize(
    "line",
    [
        "# a comment",
        "",
        "<a:a>  <a:p> <a:b> .",
        "<a:a> <a:p> <b> .",
        "<a:a> <a:p> .",
        "\xff",
        "<a:a> <a:p> <a:b> .\r\r",
    ],
)
def test_a_line_that_needs_the_parser_is_named(hidden, tmp_path, line):
    file = tmp_path / "a.nt"
    file.write_text(
        "<a:a> <a:p> <a:b> .\n" * 2 + f"{line}\n<a:a> <a:p> <a:b> .\n", encoding="latin-1"
    )
    with pytest.raises(
        MissingDependencyError,
        match=r"a\.nt, line 3, .* needs the package 'pyoxigraph'.*edgnn\[rdf\]",
    ):
        read_rdf(file)


def test_all_else_needs_the_parser(hidden, tmp_path):
    for name in ("a.ttl", "a.nq", "a.nt"):
        (tmp_path / name).write_text("<a:a> <a:p> <a:b> .\n")
    options = {"a.ttl": {}, "a.nq": {}, "a.nt": {"base_iri": "http://a"}}
    for name, chosen in options.items():
        with pytest.raises(
            MissingDependencyError, match=r"read_rdf needs the package 'pyoxigraph'.*edgnn\[rdf\]"
        ):
            read_rdf(tmp_path / name, **chosen)


def test_an_empty_file_has_no_triples_either_way(hidden, tmp_path):
    (tmp_path / "a.nt").write_text("\n\r\n")
    with pytest.raises(FormatError, match="no triples"):
        read_rdf(tmp_path / "a.nt")


@pytest.mark.parametrize(
    "term",
    [
        "<a:" + "%41" * 200_000 + "<",
        "<a:" + "?" * 400_000,
        '"' + r"\n" * 200_000,
        "_:" + "." * 400_000,
    ],
)
def test_long_terms_take_no_time(term):
    start = time.process_time()
    assert plain_spellings([term]) is None
    assert time.process_time() - start < 2
