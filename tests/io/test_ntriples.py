from unittest import mock

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgnn import _files
from edgnn.errors import FormatError
from edgnn.io import read_rdf
from edgnn.io._ntriples import DEEPEST_TERM, TripleBuilder, first_of_each, refuse_deep_terms

XSD = "http://www.w3.org/2001/XMLSchema#"
LINE = b"<http://a> <http://p> <http://b> .\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("nt") / "a.nt"


def text(term):
    return (
        f"<<( {text(term.subject)} {term.predicate} {text(term.object)} )>>"
        if isinstance(term, ox.Triple)
        else str(term)
    )


def reference(document):
    """Read with pyoxigraph alone, the plain way."""
    nodes, labels, edges = {}, {}, {}
    for subject, predicate, object_, _ in ox.parse(document, format=ox.RdfFormat.N_TRIPLES):
        source, target = (nodes.setdefault(text(term), len(nodes)) for term in (subject, object_))
        edges[source, labels.setdefault(predicate.value, len(labels)), target] = None
    names = [
        name[1:-1] if name.startswith("<") and not name.startswith("<<") else name for name in nodes
    ]
    return names, list(labels), list(edges)


def read(document, file):
    file.write_bytes(document)
    graphs = read_rdf(file).graphs
    edges = zip(
        graphs.edge_source.tolist(),
        graphs.edge_label.tolist(),
        graphs.edge_target.tolist(),
        strict=True,
    )
    return graphs.node_names.tolist(), list(graphs.edge_vocabulary), list(edges)


@st.composite
def spellings(draw, plain, reserved):
    """Draw a way to write a text with escapes."""
    pieces = []
    for character in plain:
        ways = (
            [rf"\u{ord(character):04x}", rf"\U{ord(character):08X}"]
            if ord(character) < 2**16
            else [rf"\U{ord(character):08x}"]
        )
        if character not in reserved:
            ways += 4 * [character]
        pieces.append(draw(st.sampled_from(ways)))
    return "".join(pieces)


IRIS = st.sampled_from(["http://a", "http://é/ü#x", "urn:b:c", "http://x?q=%20"]).flatmap(
    lambda iri: st.just(iri) | spellings(iri, "<>\\")
)
BLANKS = st.sampled_from(["_:a", "_:b.c", "_:1", "_:é", "_:x-y"])
STRINGS = st.text(st.sampled_from('ab .<>@#"\\\n\r\t_:é😀\x00\x85\u2028'), max_size=6).flatmap(
    lambda plain: spellings(plain, '"\\\n\r')
)
SUFFIXES = st.sampled_from(
    [
        "",
        "@en",
        "@EN",
        "@de-AT",
        f"^^<{XSD}string>",
        f"^^<{XSD}integer>",
        r"^^<urn:\u0061>",
        "^^<urn:a>",
    ]
)
LITERALS = st.builds('"{}"{}'.format, STRINGS, SUFFIXES)
SUBJECTS = st.builds("<{}>".format, IRIS) | BLANKS
PREDICATES = st.builds("<{}>".format, IRIS)
TRIPLE_TERMS = st.builds("<<( {} {} {} )>>".format, SUBJECTS, PREDICATES, LITERALS)
ORDINARY = st.builds("{} {} {} .".format, SUBJECTS, PREDICATES, SUBJECTS | LITERALS)
GAPS = st.sampled_from(["", " ", "\t", "  "])
ODD = st.one_of(
    st.builds(
        "{}{}{}{}{}{}{}.{}{}".format,
        GAPS,
        SUBJECTS,
        st.sampled_from([" ", "\t"]),
        PREDICATES,
        GAPS,
        SUBJECTS | LITERALS | TRIPLE_TERMS,
        st.just(" "),
        GAPS,
        st.sampled_from(["", "# <http://a> <http://p> <http://b> ."]),
    ),
    st.sampled_from(["", " ", "# a comment .", '<urn:a> <urn:p> "x" . # "y" .']),
)
LINES = st.lists(ORDINARY, max_size=8) | st.lists(ORDINARY | ODD, max_size=8)
DOCUMENTS = st.builds(
    lambda lines, end, last: (end.join(lines) + last).encode(),
    LINES,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)
CHUNKS = st.sampled_from([1, 40, 2**20])


@settings(max_examples=200)
@given(document=DOCUMENTS, chunk=CHUNKS)
def test_a_document_is_read_as_pyoxigraph_reads_it(document, chunk, file):
    expected = reference(document)
    with mock.patch.object(_files, "_CHUNK", chunk):
        if expected[2]:
            assert read(document, file) == expected
        else:
            with pytest.raises(FormatError, match="no triples"):
                read(document, file)


@settings(max_examples=200)
@given(document=DOCUMENTS, chunk=CHUNKS, data=st.data())
def test_exactly_what_pyoxigraph_refuses_is_refused(document, chunk, data, file):
    place = data.draw(st.integers(0, len(document)))
    new = data.draw(
        st.sampled_from(
            [
                b"",
                b" ",
                b".",
                b'"',
                b"\\",
                b"<",
                b">",
                b"#",
                b"_:",
                b"\n",
                b"\r",
                b" .\n",
                b"\xff",
                b"@",
            ]
        )
    )
    document = document[:place] + new + document[place + data.draw(st.integers(0, 3)) :]
    try:
        expected = reference(document)
    except SyntaxError:
        expected = None
    with mock.patch.object(_files, "_CHUNK", chunk):
        if expected is not None and expected[2]:
            assert read(document, file) == expected
        else:
            with pytest.raises(FormatError):
                read(document, file)


@pytest.mark.parametrize(
    "document", [LINE, LINE * 2, LINE[:-1], LINE + b"\n\n", LINE.replace(b"\n", b"\r\n") * 2]
)
def test_ordinary_lines_are_taken_at_once(document):
    builder = TripleBuilder()
    assert builder.add_lines(document, ox)
    assert set(builder.build().nodes) == {"<http://a>", "<http://b>"}


@pytest.mark.parametrize(
    "odd",
    [
        b"# comment\n",
        b"\n" + LINE,
        b"<urn:a>\t<urn:p>\t<urn:b> .\n",
        b"<urn:a> <urn:p> <urn:b>.\n",
        b"<urn:a> <urn:p> <urn:b> . # c\n",
        b'<urn:a> <urn:p> "x" . # "y" .\n',
        b'<urn:a> <urn:p> "x" "y" .\n',
        b"<urn:a> <urn:p> _:a.#b .\n",
        b"_:a.#b <urn:p> <urn:a> .\n",
        b"<urn:a> <urn:p> <<( <urn:a> <urn:p> <urn:b> )>> .\n",
        b"<urn:a> <urn:p> <urn:b> . <urn:a> <urn:p> <urn:c> .\n",
        b"<urn:a> <relative> <urn:b> .\n",
        b"<urn:a b> <urn:p> <urn:b> .\n",
        b"<urn:a\nb> <urn:p> <urn:b> .\n",
        b'<urn:a> <urn:p> "\\x" .\n',
        b'<urn:a> <urn:p> "\xff" .\n',
        b"<urn:a> <urn:p>\n",
    ],
)
@pytest.mark.parametrize("order", ["first", "last"])
def test_a_chunk_with_an_odd_line_leaves_no_trace(odd, order):
    builder = TripleBuilder()
    builder.add_lines(LINE, ox)
    new = b"<urn:new> <urn:q> _:new .\n"
    assert not builder.add_lines(odd + new if order == "first" else new + odd, ox)
    triples = builder.build()
    assert (triples.nodes, triples.predicates, len(triples)) == (
        ["<http://a>", "<http://b>"],
        ["<http://p>"],
        1,
    )


def test_spellings_of_one_term_are_one_node_wherever_they_first_appear(file):
    lines = [
        rf'<urn:\u0061> <urn:\u0070> "x"^^<{XSD}string> .',
        r'<urn:b> <urn:p> "\u0078" .',
        r'<urn:a> <urn:p> "x" .',
        '<urn:b> <urn:p> "x"@EN .',
        '<urn:b> <urn:p> "x"@en .',
    ]
    for chunk in (1, 2**20):
        with mock.patch.object(_files, "_CHUNK", chunk):
            names, labels, edges = read("\n".join(lines).encode(), file)
        assert (names, labels) == (["urn:a", '"x"', "urn:b", '"x"@en'], ["urn:p"])
        assert edges == [(0, 0, 1), (2, 0, 1), (2, 0, 3)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"<urn:a> <urn:p> <urn:b>", "must be followed by a dot"),
        (b"<urn:a> <urn:p>", "line jumps are not allowed"),
        (b'"a" <urn:p> <urn:b> .', "subject of a triple must be"),
        (b"<urn:a> _:p <urn:b> .", "predicate of a triple must be"),
        (b"<urn:a> <urn:p> <urn:b> . <urn:a> <urn:p> <urn:c> .", "single triple"),
        (b'<urn:a> <urn:p> "\xff" .', "Invalid UTF-8"),
        (b"\xff", "Invalid UTF-8"),
        (b"<urn:a> <urn:p> <b> .", "No scheme found"),
        (rb'<urn:a> <urn:p> "\ud800" .', "not a valid unicode character"),
    ],
)
def test_an_error_names_the_line_in_the_file_and_the_reason_alone(line, reason, file):
    for chunk in (1, 50, 2**20):
        file.write_bytes(LINE * 4 + line + b"\n" + LINE)
        with (
            mock.patch.object(_files, "_CHUNK", chunk),
            pytest.raises(FormatError, match=reason) as caught,
        ):
            read_rdf(file)
        assert caught.value.line == 5
        assert "Parser error" not in caught.value.rule


def test_an_error_at_the_end_of_the_file_names_the_last_line(file):
    file.write_bytes(LINE + LINE[:-3])
    with pytest.raises(FormatError, match="line 2: Triples must be followed by a dot"):
        read_rdf(file)


def test_many_unclosed_brackets_do_not_take_for_ever(file):
    file.write_bytes(b"<a\n" * 500_000 + b">")
    with pytest.raises(FormatError, match="line 1"):
        read_rdf(file)


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), max_size=12),
    largest=st.sampled_from([1, 2**63 - 1]),
)
def test_the_first_of_equal_triples_is_found_however_large_the_numbers(rows, largest):
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    first = first_of_each(table[:, [0, 2]], table[:, 1], 4, 2, largest)
    expected = [place for place, row in enumerate(rows) if row not in rows[:place]]
    assert expected == (list(range(len(rows))) if first is None else first.tolist())


OPEN, SHUT = b"<<( <a:b> <a:c> ", b" )>> "


@pytest.mark.parametrize(
    "hidden",
    [
        b'"<<(" ',
        b"'<<(' ",
        b'"""a" <<( """ ',
        b"'''a' <<( ''' ",
        b'"\\" <<(" ',
        b"# <<(\n",
        OPEN + b"<a:d>" + SHUT + b".\n",
    ],
)
def test_what_does_not_nest_is_not_refused(hidden):
    refuse_deep_terms(2 * DEEPEST_TERM * hidden, "f", 1)


@pytest.mark.parametrize(
    "filler", [b"", b"# )>>\n", b'")>>" ', b"a:b\\# ", b"a:b\\' ", b"<a:#)'> ", b"\n"]
)
def test_what_nests_is_refused_whatever_stands_between(filler):
    refuse_deep_terms(b"<a:a> <a:b> " + (OPEN + filler) * DEEPEST_TERM, "f", 1)
    with pytest.raises(FormatError, match=r"f, line \d+: triple terms nest more than 100 deep"):
        refuse_deep_terms(b"<a:a> <a:b> " + (OPEN + filler) * (DEEPEST_TERM + 1), "f", 1)
