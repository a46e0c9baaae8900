import gzip
import sys
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgnn.errors import FormatError, GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.io import read_rdf, write_rdf

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
STRING = "http://www.w3.org/2001/XMLSchema#string"

NT = f"""\
<http://x/a> <http://x/p> <http://x/b> .
<http://x/b> <http://x/q> "http://x/a" .
<http://x/a> <http://x/p> <http://x/b> .
_:n <http://x/p> "1"^^<{INTEGER}> .
<http://x/a> <http://x/q> "1"@en .
<http://x/a> <http://x/q> "2"@de .
"""
TTL = """\
@prefix : <http://x/> .
:a :p :b . :b :q "http://x/a" . :a :p :b .
_:n :p 1 .
:a :q "1"@en, '2'@de .
"""
NQ = "".join(
    f"{line[:-2]} <http://g/{number % 2}> .\n" for number, line in enumerate(NT.splitlines())
)
TRIG = TTL.replace("_:n :p 1 .", ":g { _:n :p 1 . :a :p :b }")
XML = f"""\
<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY x "http://x/">]>
<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://x/">
  <rdf:Description rdf:about="&x;a"><p rdf:resource="&x;b"/></rdf:Description>
  <rdf:Description rdf:about="&x;b"><q>http://x/a</q></rdf:Description>
  <rdf:Description rdf:nodeID="n"><p rdf:datatype="{INTEGER}">1</p></rdf:Description>
  <rdf:Description rdf:about="&x;a"><q xml:lang="en">1</q><q xml:lang="de">2</q></rdf:Description>
</rdf:RDF>
"""
DOCUMENTS = {
    "nt": NT,
    "nq": NQ,
    "ttl": TTL,
    "trig": TRIG,
    "n3": TTL,
    "rdf": XML,
    "owl": XML,
    "xml": XML,
}
NAMES = ["http://x/a", "http://x/b", '"http://x/a"', "_:n", f'"1"^^<{INTEGER}>', '"1"@en', '"2"@de']
EDGES = [(0, 1), (1, 2), (3, 4), (0, 5), (0, 6)]


def made(tmp_path, content, name="a.nt"):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / name


def pairs(graphs):
    return list(zip(graphs.edge_source.tolist(), graphs.edge_target.tolist(), strict=True))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", DOCUMENTS)
def test_every_format_gives_the_same_graph(form, compressed, tmp_path):
    content = DOCUMENTS[form].encode()
    path = made(
        tmp_path,
        gzip.compress(content) if compressed else content,
        f"a.{form}.gz" if compressed else f"a.{form}",
    )
    labeled = read_rdf(path)
    graphs = labeled.graphs
    blank = "_:n" if form in ("nt", "nq") else "_:b0"
    assert graphs.node_names.tolist() == [blank if name == "_:n" else name for name in NAMES]
    assert pairs(graphs) == EDGES
    assert graphs.edge_labels == [
        "http://x/p",
        "http://x/q",
        "http://x/p",
        "http://x/q",
        "http://x/q",
    ]
    assert graphs.node_vocabulary.constant
    assert len(graphs) == 1
    assert labeled.targets is None


@pytest.mark.parametrize("form", ["nt", "nq", "ttl", "rdf"])
def test_a_file_without_a_telling_name_is_recognized_by_its_start(form, tmp_path):
    content = b"\xef\xbb\xbf" + DOCUMENTS[form].encode()
    assert read_rdf(made(tmp_path, content, "data")).graphs.num_edges == 5
    assert read_rdf(made(tmp_path, content, "data.txt"), format=form).graphs.num_edges == 5


def test_a_format_that_cannot_be_told_or_is_unknown_names_the_choices(tmp_path):
    with pytest.raises(FormatError, match=r"neither the name nor the content.*'nt', 'nq', 'ttl'"):
        read_rdf(made(tmp_path, "hello", "data"))
    with pytest.raises(FormatError, match=r"format='turtle' is unknown.*'nt', 'nq', 'ttl'"):
        read_rdf(made(tmp_path, TTL, "a.ttl"), format="turtle")


def test_dropped_literals_leave_no_trace(tmp_path):
    content = '<urn:l> <urn:only> "x" .\n_:b <urn:p> <urn:c> .\n<urn:c> <urn:q> "1" .\n<urn:c> <urn:r> _:b .\n'
    graphs = read_rdf(made(tmp_path, content), literals="drop").graphs
    assert graphs.node_names.tolist() == ["_:b", "urn:c"]
    assert list(graphs.edge_vocabulary) == ["urn:p", "urn:r"]
    assert pairs(graphs) == [(0, 1), (1, 0)]


def test_merged_literals_are_one_node_per_datatype(tmp_path):
    content = (
        NT
        + f'<http://x/a> <http://x/q> "2"^^<{INTEGER}> .\n<http://x/a> <http://x/q> "3"^^<{INTEGER}> .\n'
    )
    graphs = read_rdf(made(tmp_path, content), literals="merge", node_labels="kind").graphs
    merged = [f"^^<{STRING}>", f"^^<{INTEGER}>", f"^^<{RDF}langString>"]
    assert graphs.node_names.tolist() == [
        "http://x/a",
        "http://x/b",
        merged[0],
        "_:n",
        merged[1],
        merged[2],
    ]
    assert graphs.node_labels == ["iri", "iri", STRING, "blank", INTEGER, f"{RDF}langString"]
    assert pairs(graphs) == [(0, 1), (1, 2), (3, 4), (0, 5), (0, 4)]


def test_dropped_predicates_leave_no_trace(tmp_path):
    graphs = read_rdf(made(tmp_path, NT), drop_predicates=iter(["http://x/p"])).graphs
    assert graphs.node_names.tolist() == [
        "http://x/b",
        '"http://x/a"',
        "http://x/a",
        '"1"@en',
        '"2"@de',
    ]
    assert list(graphs.edge_vocabulary) == ["http://x/q"]
    assert graphs.equals(read_rdf(made(tmp_path, NT), drop_predicates="http://x/p").graphs)


def test_a_dropped_predicate_that_never_occurs_is_named(tmp_path):
    with pytest.raises(
        FormatError, match=r"a\.nt: drop_predicates names 'http://x/P', but no triple has"
    ):
        read_rdf(made(tmp_path, NT), drop_predicates=["http://x/p", "http://x/P"])


@pytest.mark.parametrize("spelling", ["ex:hasRole", "http://x/hasrole", "hasRole"])
def test_a_dropped_predicate_is_suggested_by_its_whole_iri(spelling, tmp_path):
    path = made(
        tmp_path, "<urn:a> <http://x/hasRole> <urn:b> .\n<urn:a> <http://x/other> <urn:b> .\n"
    )
    with pytest.raises(FormatError, match="did you mean 'http://x/hasRole'\\?") as caught:
        read_rdf(path, drop_predicates=spelling)
    assert ("give the whole IRI, not a prefix" in str(caught.value)) == ("//" not in spelling)
    graphs = read_rdf(path, drop_predicates="<http://x/hasRole>").graphs
    assert list(graphs.edge_vocabulary) == ["http://x/other"]


def test_missing_predicates_can_be_ignored(tmp_path):
    path = made(tmp_path, NT)
    given = read_rdf(
        path, drop_predicates=["http://x/p", "http://x/P"], missing_predicates="ignore"
    ).graphs
    assert given.equals(read_rdf(path, drop_predicates="http://x/p").graphs)
    with pytest.raises(
        GraphError, match="missing_predicates='warn': choose one of 'error', 'ignore'"
    ):
        read_rdf(path, missing_predicates="warn")


def test_a_file_of_which_nothing_is_left_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="no triple is left"):
        read_rdf(made(tmp_path, '<urn:a> <urn:p> "x" .'), literals="drop")
    with pytest.raises(FormatError, match="no triple is left"):
        read_rdf(made(tmp_path, NT), drop_predicates=["http://x/p", "http://x/q"])


def test_node_labels_are_nothing_kinds_or_terms(tmp_path):
    path = made(
        tmp_path,
        NT + '<urn:s> <urn:p> <<( <urn:a> <urn:p> "x"@en )>> .\n<urn:s> <urn:p> "x"@en--ltr .\n',
    )
    assert set(read_rdf(path).graphs.node_labels) == {None}
    kinds = ["iri", "iri", STRING, "blank", INTEGER, f"{RDF}langString", f"{RDF}langString"]
    assert read_rdf(path, node_labels="kind").graphs.node_labels == [
        *kinds,
        "iri",
        "triple",
        f"{RDF}dirLangString",
    ]
    graphs = read_rdf(path, node_labels="term").graphs
    assert graphs.node_labels == graphs.node_names.tolist()
    assert graphs.node_names[-2] == '<<( <urn:a> <urn:p> "x"@en )>>'


def test_labels_are_numbered_like_those_of_other_graphs(tmp_path):
    like = read_rdf(
        made(tmp_path, "<urn:a> <http://x/q> <urn:b> .\n<urn:a> <http://x/p> <urn:b> .")
    ).graphs
    assert read_rdf(made(tmp_path, NT), like=like).graphs.edge_label.tolist() == [1, 0, 1, 0, 0]
    path = made(tmp_path, "<urn:a> <http://x/new> <urn:b> .")
    with pytest.raises(UnknownLabelError, match="http://x/new"):
        read_rdf(path, like=like)
    assert read_rdf(path, like=like, unknown="map").graphs.edge_labels == [UNKNOWN]


@pytest.mark.parametrize("option", ["literals", "node_labels"])
def test_a_wrong_choice_is_an_error(option, tmp_path):
    with pytest.raises(GraphError, match=f"{option}='wrong': choose one of '"):
        read_rdf(made(tmp_path, NT), **{option: "wrong"})


def test_blank_nodes_without_labels_are_numbered_in_the_order_of_triples(tmp_path):
    content = "@prefix : <urn:> .\n[] :p [ :q (1) ] .\n_:b0 :p <<( _:b0 :p _:z )>> ."
    names = read_rdf(made(tmp_path, content, "a.ttl")).graphs.node_names.tolist()
    assert [name for name in names if name.startswith("_:")] == [
        f"_:b{number}" for number in range(4)
    ]
    assert "<<( _:b3 <urn:p> _:b4 )>>" in names


DETERMINED = """
import sys, zlib
from edgnn.io import read_rdf
for path in sys.argv[1:]:
    graphs = read_rdf(path, node_labels="kind").graphs
    arrays = (graphs.node_label, graphs.edge_source, graphs.edge_target, graphs.edge_label)
    print([array.tolist() for array in arrays], graphs.node_names.tolist(), list(graphs.edge_vocabulary))
"""


@pytest.mark.slow
def test_integers_do_not_depend_on_the_process(run_python, tmp_path):
    anonymous = "@prefix : <urn:> .\n" + "".join(
        f":a{i % 7} :p{i % 3} [ :q (1 [ :r 'x{i % 5}' ]) ] .\n" for i in range(40)
    )
    files = [
        made(tmp_path, NT),
        made(tmp_path, XML.replace('rdf:nodeID="n"', ""), "a.rdf"),
        made(tmp_path, anonymous, "a.ttl"),
    ]
    first, second = (run_python(DETERMINED, *files, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert "_:b50" in first


# Files that are wrong


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.ttl", "@prefix : <urn:> .\n:a :b :c .\n:a :b ;; :c", 3, "is not a valid"),
        (
            "a.ttl",
            "@prefix : <urn:> .\n:a :b <c> .",
            2,
            "No scheme found in an absolute IRI; say what.*base_iri=",
        ),
        ("a.trig", "<urn:g> {\n<urn:a> <urn:b> }", 2, "."),
        (
            "a.nq",
            "<urn:a> <urn:b> <urn:c> <urn:g> .\n<urn:a> <urn:b> <urn:c> <urn:g> <urn:h> .",
            2,
            "dot",
        ),
        (
            "a.n3",
            "@prefix : <urn:> .\n:a :b :c .\n:a :b ?x .\n:a :b :c .",
            3,
            "variables are not allowed",
        ),
        (
            "a.n3",
            "@prefix : <urn:> .\n:a :b :c .\n{ :a :b :c } => { :a :b :d } .\n",
            3,
            "formula in braces",
        ),
        (
            "a.rdf",
            XML.replace("</q></", "</p></", 1),
            5,
            "not well-formed XML in UTF-8: mismatched tag",
        ),
        ("a.rdf", XML[:300], 5, "unclosed token"),
        (
            "a.rdf",
            XML.replace("&x;b", "b"),
            4,
            "No scheme found in an absolute IRI; say what.*base_iri=",
        ),
        ("a.rdf", XML.replace('rdf:nodeID="n"', 'rdf:nodeID="1"'), 6, "not a valid rdf:nodeID"),
        ("a.rdf", XML.encode("utf-16"), 1, "UTF-8"),
        ("a.rdf", XML.replace("?>", ' encoding="latin-1"?>', 1), 1, "Only UTF-8"),
        ("a.rdf", XML.replace("&x;b", "&y;b"), 4, "undefined entity"),
        ("a.ttl", b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> '\xff' .", 2, "Invalid UTF-8"),
        (
            "a.ttl",
            b"<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> '" + 2**25 * b"x" + b"' .",
            2,
            "too long for the parser",
        ),
        (
            "a.nt",
            b'<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> "' + 2**25 * b"x" + b'" .',
            2,
            "too long for the parser",
        ),
    ],
)
def test_a_malformed_file_names_its_line_and_the_reason(name, content, line, reason, tmp_path):
    path = made(tmp_path, content, name)
    with pytest.raises(FormatError, match=reason) as caught:
        read_rdf(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert len(str(caught.value)) < 600
    assert "Parser error" not in str(caught.value)


def test_relative_iris_are_resolved_against_the_base(tmp_path):
    for path in (
        made(tmp_path, "<a> <p> <b> .", "a.ttl"),
        made(tmp_path, XML.replace("&x;", ""), "a.rdf"),
    ):
        assert read_rdf(path, base_iri="http://base/c/d").graphs.node_names.tolist()[:2] == [
            "http://base/c/a",
            "http://base/c/b",
        ]
        with pytest.raises(GraphError, match="base_iri='d': No scheme"):
            read_rdf(path, base_iri="d")


@pytest.mark.parametrize("name", ["a.nt", "a.nq", "a.ttl", "a.trig", "a.n3"])
@pytest.mark.parametrize("content", [b"", b"\n \n", b"# nothing\n", gzip.compress(b"", mtime=0)])
def test_a_file_without_triples_is_an_error(name, content, tmp_path):
    with pytest.raises(FormatError, match="there are no triples in it"):
        read_rdf(made(tmp_path, content, name))


def test_an_rdf_xml_file_without_triples_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="no triples"):
        read_rdf(made(tmp_path, f'<rdf:RDF xmlns:rdf="{RDF}"/>', "a.rdf"))
    with pytest.raises(
        FormatError, match="line 1: this is not well-formed XML in UTF-8: no element found"
    ):
        read_rdf(made(tmp_path, "", "a.rdf"))


@pytest.mark.parametrize("form", DOCUMENTS)
def test_damaged_compression_is_an_error(form, tmp_path):
    packed = gzip.compress(DOCUMENTS[form].encode())
    for content in (packed[:-12], packed[:15], packed[:20] + b"\x00" + packed[21:]):
        with pytest.raises(FormatError, match="damaged or cut off"):
            read_rdf(made(tmp_path, content, f"a.{form}.gz"))


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_file_that_unpacks_to_too_much_is_an_error(form, tmp_path):
    path = made(tmp_path, gzip.compress(DOCUMENTS[form].encode()), f"a.{form}.gz")
    with pytest.raises(FormatError, match=r"more than 100 bytes.*max_bytes="):
        read_rdf(path, max_bytes=100)
    assert read_rdf(path, max_bytes=10_000).graphs.num_edges == 5


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (300 * "<rdf:Description><p>" + 300 * "</p></rdf:Description>", "nest more than 256 deep"),
        (
            "<rdf:Description {}/>".format(" ".join(f'p{n}="x"' for n in range(1001))),
            "more than 1000 attributes",
        ),
    ],
)
def test_xml_that_would_keep_the_parser_busy_is_refused(inside, reason, tmp_path):
    content = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="http://x/">\n{inside}\n</rdf:RDF>'
    with pytest.raises(FormatError, match=f"line 2: .*{reason}"):
        read_rdf(made(tmp_path, content, "a.rdf"))


LONG = 1000 * "x"
MANY = f"@prefix p: <urn:{LONG}> .\n" + "".join(f"p:{n} p:p p:{n + 1} .\n" for n in range(100))
OFTEN = f"@prefix p: <urn:{LONG}> .\n" + 1000 * "p:s p:p p:o .\n"
NESTED = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns="urn:{LONG}"><C>{"".join(f"<p{n}/>" for n in range(100))}</C></rdf:RDF>'


@pytest.mark.parametrize(
    ("name", "content"), [("a.ttl", MANY), ("a.trig", OFTEN), ("a.rdf", NESTED)]
)
def test_short_forms_that_stand_for_too_much_are_refused(name, content, tmp_path):
    path = made(tmp_path, content, name)
    assert read_rdf(path).graphs.num_edges > 0
    with pytest.raises(FormatError, match="short forms of IRIs stand for more than 20,000 bytes"):
        read_rdf(path, max_bytes=20_000)


def test_xml_never_reads_other_files(tmp_path):
    made(tmp_path, "secret", "secret.txt")
    content = XML.replace(
        '"http://x/">]', f'"http://x/"><!ENTITY s SYSTEM "{tmp_path.as_uri()}/secret.txt">]'
    ).replace(">1<", ">&s;<")
    with pytest.raises(FormatError) as caught:
        read_rdf(made(tmp_path, content, "a.rdf"))
    assert "secret" not in caught.value.rule


MEASURED = """
import sys
from pathlib import Path
import pyoxigraph
from edgnn.errors import FormatError
from edgnn.io import read_rdf
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
for path in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    try:
        found = read_rdf(path).graphs.num_edges
    except FormatError as error:
        found = error.rule
    print(peak() - before, found, sep="|")
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="peak memory is read from Linux's /proc"
)
@pytest.mark.slow
def test_bombs_take_little_memory(run_python, tmp_path):
    bomb = "".join(f'<!ENTITY e{n + 1} "{10 * f"&e{n};"}">' for n in range(8))
    laughs = XML.replace('"http://x/">]', f'"http://x/"><!ENTITY e0 "{100 * "x"}">{bomb}]').replace(
        ">1<", ">&e8;<"
    )
    prefixes = f"@prefix p: <urn:{100_000 * 'x'}> .\n" + "".join(
        f"p:{n} p:p p:{n + 1} .\n" for n in range(10_000)
    )
    line = b"<http://x/a> <http://x/p> <http://x/b> .\n"
    files = [
        made(tmp_path, laughs, "a.rdf"),
        made(tmp_path, prefixes, "b.ttl"),
        made(tmp_path, gzip.compress(line * 1_500_000), "a.nt.gz"),
        made(tmp_path, gzip.compress(TTL.encode() + b":a :p :b .\n" * 200_000), "a.ttl.gz"),
        made(tmp_path, gzip.compress(bytes(2**27)), "b.nt.gz"),
        made(tmp_path, gzip.compress(bytes(2**27)), "b.ttl.gz"),
    ]
    megabytes, found = zip(
        *(row.split("|") for row in run_python(MEASURED, *files).splitlines()), strict=True
    )
    assert "amplification" in found[0]
    assert "short forms of IRIs stand for more than 67,108,864 bytes" in found[1]
    assert found[2:4] == ("1", "5")
    assert all(
        "unpacks to more than" in rule or "line is longer than" in rule for rule in found[4:]
    )
    assert all(
        int(taken) < allowed
        for taken, allowed in zip(megabytes, (60, 200, 150, 60, 200, 60), strict=True)
    ), megabytes


REFUSED = """
import sys
from edgnn.errors import FormatError
from edgnn.io import read_rdf
for path in sys.argv[1:]:
    try:
        read_rdf(path)
    except FormatError as error:
        print(f"line {error.line}: {error.rule}")
"""


@pytest.mark.slow
def test_deeply_nested_terms_are_refused_before_they_exhaust_the_stack(run_python, tmp_path):
    content = (
        "<a:b> <a:c> <a:d> .\n<a:b> <a:c> "
        + 40_000 * "<<( <a:b> <a:c> "
        + "<a:d>"
        + 40_000 * " )>>"
        + " .\n"
    )
    files = [made(tmp_path, content, f"a.{form}") for form in ("nt", "nq", "ttl", "trig", "n3")]
    assert run_python(REFUSED, *files).splitlines() == 5 * [
        "line 2: triple terms nest more than 100 deep"
    ]


def test_terms_may_nest_a_little(tmp_path):
    content = "<a:b> <a:c> " + 100 * "<<( <a:b> <a:c> " + "<a:d>" + 100 * " )>>" + " .\n"
    for form in ("nt", "nq", "ttl", "trig"):
        assert read_rdf(made(tmp_path, content * 3, f"a.{form}")).graphs.num_edges == 1


EXTRA = {
    "nt": '<a:b> <a:c> <<( _:x <a:d> "\\u00e9\\n"@en--ltr )>> . # c\n',
    "nq": "<a:b> <a:c> _:d _:g .\n",
    "ttl": ':s :p [ a :C ; :q (1 2.5 true """x\n"y\\u00e9""") ], <<( :a :b _:z )>> ~ :r {| :q << :a :b :c >> |} .\n',
    "trig": "GRAPH _:g { :s :p [] } :h { :s :p :o }\n",
    "n3": ":a = :b . :a!:b :c :d . :a => :b .\n",
    "xml": '<rdf:Bag xml:base="http://y/"><rdf:li rdf:parseType="Collection"><p rdf:ID="i"/></rdf:li></rdf:Bag></rdf:RDF>',
}
TOKENS = (
    rb"""< > <<( )>> " ' \u # . [ ( {| _: &x; <!-- ]]> /> => ?x @prefix 1e ^^ @en % GRAPH""".split()
)
TOKENS += [b"\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xf0\x9f"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def survives(path, content, stored=None):
    path.write_bytes(content if stored is None else stored)
    try:
        graphs = read_rdf(path).graphs
    except FormatError as error:
        graphs, line = None, error.line
    lines = content.count(b"\n") + content.count(b"\r") + 1
    assert graphs.num_edges > 0 if graphs else line is None or 1 <= line <= lines


@pytest.mark.parametrize("form", EXTRA)
@given(data=st.data())
@settings(max_examples=150)
def test_a_damaged_document_is_a_graph_or_a_format_error(form, data, folder):
    content = DOCUMENTS[form].removesuffix("</rdf:RDF>\n").encode() + EXTRA[form].encode()
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(content)))
        new = data.draw(
            st.sampled_from(TOKENS)
            | st.binary(max_size=3)
            | st.just(content[place // 2 : place // 2 + 20])
        )
        content = content[:place] + new + content[place + data.draw(st.integers(0, 20)) :]
    survives(folder / f"a.{form}", content)


@pytest.mark.parametrize("form", EXTRA)
@given(content=st.binary(max_size=60), packed=st.booleans())
def test_random_bytes_are_a_graph_or_a_format_error(form, content, packed, folder):
    survives(
        folder / f"a.{form}",
        content,
        gzip.compress(content)[: 5 * len(content)] if packed else None,
    )


# Writing


def test_what_was_read_is_written_and_read_again(tmp_path):
    content = (
        NT + '<urn:é> <urn:\\u00fc> <<( _:n <urn:p> "x\\ty\\n\\"\\u0001\\u2028"@en--ltr )>> .\n'
    )
    for file in ("b.nt", "b.nt.gz"):
        graphs = read_rdf(made(tmp_path, content)).graphs
        write_rdf(graphs, tmp_path / file)
        assert read_rdf(tmp_path / file).graphs.equals(graphs)
    assert (tmp_path / "b.nt.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert gzip.decompress((tmp_path / "b.nt.gz").read_bytes()) == (tmp_path / "b.nt").read_bytes()


@given(
    triples=st.lists(
        st.tuples(
            st.sampled_from(["<urn:a>", "<urn:b>", "_:c"]),
            st.sampled_from(["<urn:p>", "<urn:q>"]),
            st.sampled_from(["<urn:a>", "_:c", '"a b"', '"\\u0022"@en', f'"\\\\"^^<{INTEGER}>']),
        ),
        min_size=1,
    )
)
def test_round_trips_lose_nothing(triples, folder):
    (folder / "a.nt").write_text("".join(f"{' '.join(triple)} .\n" for triple in triples))
    graphs = read_rdf(folder / "a.nt").graphs
    write_rdf(graphs, folder / "b.nt")
    assert read_rdf(folder / "b.nt").graphs.equals(graphs)


def test_names_and_labels_that_are_no_terms_become_urns(tmp_path):
    names = [
        "a b",
        "http://x/y",
        ("t", 1),
        '"unclosed',
        "_:bad label",
        '"x" .\n<urn:a> <urn:b> "y"',
    ]
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    graphs = Graphs.from_edges(
        edges, node_names=names, edge_labels=["ä/", "http://x/p", 1, None, ""]
    )
    write_rdf(graphs, tmp_path / "a.nt")
    again = read_rdf(tmp_path / "a.nt").graphs
    assert pairs(again) == edges
    node, label = "urn:edgnn:node:", "urn:edgnn:label:"
    assert again.node_names.tolist()[:4] == [
        f"{node}a%20b",
        "http://x/y",
        f"{node}%28%27t%27%2C%201%29",
        f"{node}%22unclosed",
    ]
    assert again.edge_labels == [
        f"{label}%C3%A4%2F",
        "http://x/p",
        f"{label}1",
        f"{label}None",
        label,
    ]
    write_rdf(Graphs.from_edges([(0, 1)]), tmp_path / "b.nt")
    assert (tmp_path / "b.nt").read_text() == f"<{node}0> <{label}None> <{node}1> .\n"


@pytest.mark.parametrize(
    ("graphs", "reason"),
    [
        (Graphs.from_edges([(0, 1)], num_nodes=3), "node 2, <urn:edgnn:node:2>, has no edges"),
        (Graphs.from_edges([], num_nodes=0), "no edges"),
        (Graphs.from_edges([(0, 1), (1, 0), (0, 1)]), "edge 2 is like an earlier one"),
        (
            Graphs.from_edges([(0, 1)], node_names=['"x"', "urn:a"]),
            'edge 0 starts at "x"; in RDF only',
        ),
        (
            Graphs.from_edges([(0, 1)], node_names=[1, "1"]),
            "node names 1 and '1' would both be written as '<urn:edgnn:node:1>'",
        ),
        (
            Graphs.from_edges([(0, 1), (1, 0)], edge_labels=[1, "1"]),
            "edge labels 1 and '1' would both be",
        ),
        (Graphs.from_edges([(0, 1)], sizes=[2, 0]), "holds a single graph, not 2"),
    ],
)
def test_what_rdf_cannot_hold_is_refused_and_nothing_is_written(graphs, reason, tmp_path):
    with pytest.raises(GraphError, match=reason):
        write_rdf(graphs, tmp_path / "a.nt")
    assert not list(tmp_path.iterdir())


def test_only_names_of_n_triples_can_be_written(tmp_path):
    with pytest.raises(GraphError, match=r"must end in .nt or .nt.gz, and 'a.ttl' does not"):
        write_rdf(Graphs.from_edges([(0, 1)]), tmp_path / "a.ttl")


# Real data


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "relations", "kinds"),
    [
        ("aifb", 8_285, 29_043, 45, (2_683, 152, 5_450)),
        ("mutag", 23_644, 74_227, 23, (22_540, 0, 1_104)),
    ],
)
def test_the_published_counts_of_real_data(
    name, nodes, edges, relations, kinds, data_dir, tmp_path
):
    path = data_dir / "rdf" / name / f"{name}_stripped.nt.gz"
    graphs = read_rdf(path, node_labels="kind").graphs
    assert (graphs.num_nodes, graphs.num_edges, len(graphs.edge_vocabulary)) == (
        nodes,
        edges,
        relations,
    )
    found = Counter(graphs.node_labels)
    assert (found["iri"], found["blank"], nodes - found["iri"] - found["blank"]) == kinds
    assert read_rdf(path, format="nq", node_labels="kind").graphs.equals(graphs)
    write_rdf(graphs, tmp_path / "a.nt.gz")
    assert read_rdf(tmp_path / "a.nt.gz", node_labels="kind").graphs.equals(graphs)


def test_a_literal_and_an_iri_of_the_same_text_are_two_nodes(data_dir):
    names = read_rdf(data_dir / "rdf" / "aifb" / "aifb_stripped.nt.gz").graphs.node_names.tolist()
    twin = "http://swrc.ontoware.org/ontology#ResearchTopic"
    assert {twin, f'"{twin}"'} <= set(names)
    assert len(set(names)) == len(names)


def test_literals_of_real_data_can_be_dropped_or_merged(data_dir):
    path = data_dir / "rdf" / "mutag" / "mutag_stripped.nt.gz"
    kept = read_rdf(path, node_labels="kind").graphs
    literal = torch.tensor([label not in ("iri", "blank") for label in kept.node_labels])
    dropped = read_rdf(path, literals="drop").graphs
    assert dropped.num_edges == int((~literal[kept.edge_target]).sum())
    merged = read_rdf(path, literals="merge").graphs
    assert merged.num_nodes == 22_540 + len(set(kept.node_labels) - {"iri", "blank"})
