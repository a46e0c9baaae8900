"""RDF to one labeled graph and back: terms are nodes, triples edges, predicates edge labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
import torch

from edgnn._files import Path_, atomic_maybe_gzip
from edgnn._optional import optional
from edgnn._words import closest, one_line, short
from edgnn.errors import FormatError, GraphError, MissingDependencyError
from edgnn.graphs import Graphs, Names, OnUnknown, Vocabulary, factorize
from edgnn.io._common import (
    Array,
    as_list,
    check_distinct,
    check_single,
    labels_like,
    node_names,
    object_array,
)
from edgnn.io._labeled import Labeled
from edgnn.io._ntriples import DEEPEST_TERM, Triples, bare, first_of_each, kind
from edgnn.io._rdf_document import Document, Texts, format_of

_BATCH = 2**14


def read_rdf(
    path: Path_,
    *,
    format: str | None = None,
    literals: Literal["keep", "drop", "merge"] = "keep",
    drop_predicates: Iterable[str] = (),
    missing_predicates: Literal["error", "ignore"] = "error",
    node_labels: Literal["none", "kind", "term"] = "none",
    base_iri: str | None = None,
    max_bytes: int | None = None,
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
) -> Labeled:
    """Read an RDF file, plain or gzip-compressed, as one graph.

    A node is a distinct term in subject or object position: the literal ``"http://x"`` and the IRI
    ``http://x`` are two. An edge is a distinct triple from subject to object, labeled with its
    predicate; a triple that stands in several named graphs is one edge. Nodes and labels are
    numbered by first appearance, subject before object.

    Node names are IRIs as they are, ``_:id`` for blank nodes, and N-Triples text for literals
    (``"abc"``, ``"x"@en``, ``"1"^^<http://www.w3.org/2001/XMLSchema#integer>``) and triple terms.
    Blank nodes keep the label that N-Triples and N-Quads give them; in the other formats, where
    most have none, they are ``_:b0``, ``_:b1``, … by first appearance.

    Needs pyoxigraph, except for N-Triples whose every line is of the plain kind that most programs
    write.

    Parameters
    ----------
    path : path
        The file.
    format : {"nt", "ttl", "nq", "trig", "n3", "xml", "rdf", "owl"}, optional
        N-Triples, Turtle, N-Quads, TriG, N3 without rules and formulas, RDF/XML (the last three);
        default: recognized from the ending of the name, ``.gz`` aside, else from the first bytes.
    literals : {"keep", "drop", "merge"}
        Keep literals as nodes, drop the triples that end in one, or merge all literals of a
        datatype into one node, named ``^^<datatype>`` (language-tagged ones: ``^^<…#langString>``).
    drop_predicates : iterable of str
        IRIs of predicates whose triples are left out, because they give the target away; with or
        without ``<>``.
    missing_predicates : {"error", "ignore"}
        What to do where no triple has one of them: raise, or go on, as for a new file that need not
        have what is dropped.
    node_labels : {"none", "kind", "term"}
        No labels; ``"iri"``, ``"blank"``, ``"triple"`` or a literal's datatype IRI; or the node's
        own name.
    base_iri : str, optional
        What relative IRIs are relative to.
    max_bytes : int, optional
        How much the file may unpack to, and distinct terms may take when prefixes are written out;
        default: 100 times its size, or 64 MiB if that is more.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.
    """
    _check_choice("literals", literals, ("keep", "drop", "merge"))
    _check_choice("missing_predicates", missing_predicates, ("error", "ignore"))
    _check_choice("node_labels", node_labels, ("none", "kind", "term"))
    syntax = format_of(path, format)
    ox = _parser(syntax, base_iri)
    document = Document(path, syntax, base_iri, max_bytes, ox)
    triples = document.triples()
    if not len(triples):
        raise FormatError(path, "there are no triples in it")
    dropped = as_list(drop_predicates)
    if dropped:
        _drop_predicates(triples, dropped, path, may_be_missing=missing_predicates == "ignore")
    if literals == "drop":
        triples.drop_literals()
    elif literals == "merge":
        triples.merge_literals()
    if not len(triples):
        raise FormatError(
            path, "no triple is left; literals= and drop_predicates= removed all of them"
        )
    triples.settle()
    return Labeled(labels_like(_graph(triples, node_labels), like, unknown))


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise GraphError(f"{name}={value!r}: choose one of {', '.join(map(repr, choices))}")


def _drop_predicates(
    triples: Any, dropped: list[Any], path: Path_, *, may_be_missing: bool
) -> None:
    """Drop all triples of some predicates; one that no triple has is an error."""
    known = [] if may_be_missing else [bare(text) for text in triples.predicates]
    missing = triples.drop_predicates([re.sub("^<(.*)>$", r"\1", str(iri)) for iri in dropped])
    if missing and not may_be_missing:
        meant = _meant(missing[0], known)
        rule = f"drop_predicates names {missing[0]!r}, but no triple has that predicate{meant}"
        raise FormatError(path, rule)


def _parser(syntax: str, base_iri: str | None) -> Any:
    """Return pyoxigraph; ``None`` where it is not installed and the file may be read without."""
    try:
        ox = optional("pyoxigraph", "read_rdf")
    except MissingDependencyError:
        if syntax != "N_TRIPLES" or base_iri is not None:
            raise
        return None
    if base_iri is not None:
        try:
            ox.NamedNode(base_iri)
        except ValueError as error:
            raise GraphError(f"base_iri={short(base_iri)}: {one_line(error)}") from None
    return ox


def write_rdf(graphs: Graphs, path: Path_) -> None:
    """Write a single graph as N-Triples, compressed if the name ends in ``.gz``.

    Node names that are RDF terms, as :func:`read_rdf` gives them, are written as such, others
    (merged literals among them) as ``urn:edgnn:node:NAME``, unnamed nodes by number; edge labels
    that are IRIs as such, others as ``urn:edgnn:label:VALUE``. Node labels and features are not
    written. What RDF cannot hold is an error: a node without edges, an edge that stands twice, an
    edge from a literal.
    """
    ox = optional("pyoxigraph", "write_rdf")
    file = Path(path).name.lower()
    if not file.endswith((".nt", ".nt.gz")):
        raise GraphError(
            "write_rdf writes N-Triples: the name must end in .nt or .nt.gz, "
            f"and {Path(path).name!r} does not"
        )
    check_single(graphs, "an RDF file")
    names = node_names(graphs)
    nodes = [_node_term(name, ox) for name in names]
    check_distinct(names, nodes, "node name")
    labels = [_iri(label, "label", ox) for label in graphs.edge_vocabulary]
    check_distinct(graphs.edge_vocabulary, labels, "edge label")
    ends = torch.stack([graphs.edge_source, graphs.edge_target], 1).cpu().numpy()
    edge_label = graphs.edge_label.cpu().numpy()
    _check_expressible(ends, edge_label, nodes, len(labels))
    with atomic_maybe_gzip(path) as out:
        for start in range(0, len(ends), _BATCH):
            batch = zip(
                ends[start : start + _BATCH].tolist(),
                edge_label[start : start + _BATCH].tolist(),
                strict=True,
            )
            out.write(
                "".join(
                    f"{nodes[s]} {labels[label]} {nodes[o]} .\n" for (s, o), label in batch
                ).encode()
            )


def _graph(triples: Triples, node_labels: str) -> Graphs:
    kinds = [kind(text) for text in triples.nodes] if node_labels == "kind" else []
    names = _names(triples.nodes)
    node_label = torch.zeros(len(names), dtype=torch.int64)
    node_vocabulary = Vocabulary([None])
    if node_labels == "kind":
        node_label, node_vocabulary = factorize(kinds)
    elif node_labels == "term":
        node_label, node_vocabulary = torch.arange(len(names)), Vocabulary(names)
    return Graphs(
        node_label=node_label,
        edge_source=torch.from_numpy(triples.ends[:, 0].astype(np.int64)),
        edge_target=torch.from_numpy(triples.ends[:, 1].astype(np.int64)),
        edge_label=torch.from_numpy(triples.labels.astype(np.int64)),
        graph_offset=torch.tensor([0, len(names)]),
        node_vocabulary=node_vocabulary,
        edge_vocabulary=Vocabulary(map(bare, triples.predicates)),
        node_names=names,
    )


def _names(texts: list[str]) -> Names:
    """Turn texts into names; in blocks and in place, so that no term is held twice."""
    for start in range(0, len(texts), _BATCH):
        texts[start : start + _BATCH] = [bare(text) for text in texts[start : start + _BATCH]]
    return object_array(texts)


def _meant(name: str, known: list[str]) -> str:
    """Return advice for a predicate that is not there: the whole IRI that it may stand for."""
    tail = re.split("[:/#]", name)[-1]
    same = [iri for iri in known if tail and re.split("[:/#]", iri)[-1] == tail]
    close = same[0] if same else closest(name, known)
    question = "" if close is None else f"; did you mean {close!r}?"
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:(//|[^/]*:)", name):
        return question
    return f"; give the whole IRI, not a prefix{question}"


# Writing


def _node_term(name: Any, ox: Any) -> str:
    is_term = isinstance(name, str) and name.startswith(('"', "_:", "<<("))
    if is_term and name.count("<<(") <= DEEPEST_TERM and _canonical_term(name, ox) == name:
        return str(name)
    return _iri(name, "node", ox)


def _canonical_term(text: str, ox: Any) -> str | None:
    """Return a term as pyoxigraph writes it; ``None`` where the text is not one."""
    try:
        (quad,) = ox.parse(f"<x:x> <x:x> {text} .", format=ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError):
        return None
    return Texts(ox, count_blanks=False).of(quad.object)


def _iri(value: Any, what: str, ox: Any) -> str:
    try:
        return str(ox.NamedNode(value))
    except (TypeError, ValueError):
        return f"<urn:edgnn:{what}:{quote(str(value), safe='', errors='backslashreplace')}>"


def _check_expressible(ends: Array, labels: Array, nodes: list[str], predicates: int) -> None:
    lonely = np.flatnonzero(np.bincount(ends.reshape(-1), minlength=len(nodes)) == 0)
    if len(lonely):
        raise GraphError(
            f"node {lonely[0]}, {nodes[lonely[0]]}, has no edges; "
            "RDF knows a node only by its triples"
        )
    if not len(ends):
        raise GraphError("the graph has no edges, so there are no triples to write")
    first = first_of_each(ends, labels, len(nodes), predicates)
    if first is not None:
        again = int(np.setdiff1d(np.arange(len(ends)), first)[0])
        raise GraphError(
            f"edge {again} is like an earlier one in ends and label; RDF holds a triple only once"
        )
    object_only = np.fromiter(
        (text[0] == '"' or text[1] == "<" for text in nodes), np.bool_, len(nodes)
    )
    wrong = np.flatnonzero(object_only[ends[:, 0]])
    if len(wrong):
        raise GraphError(
            f"edge {wrong[0]} starts at {nodes[ends[wrong[0], 0]]}; "
            "in RDF only an IRI or a blank node can do that"
        )
