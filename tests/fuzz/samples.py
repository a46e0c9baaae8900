"""A small valid file or folder of every format that edgnn reads, as bytes by name."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

import edgnn
from edgnn.io import write_arrays, write_structure

NT = b"""<http://x/a> <http://x/knows> <http://x/b> .
<http://x/b> <http://x/knows> _:c .
_:c <http://x/name> "Zo\\u00EB \\"Z\\"" .
<http://x/b> <http://x/age> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .
# a comment
<http://x/a> <http://x/says> "hi"@en-US .
"""
TTL = b"""@prefix x: <http://x/> .
@base <http://y/> .
x:a x:knows x:b , [ x:name "Zo\xc3\xab" ] ; a x:Person .
<b> x:likes ( x:a 3 4.5 true ) .
x:b x:says '''long
text'''@en .
"""
NQ = b"""<http://x/a> <http://x/knows> <http://x/b> <http://g/1> .
_:b <http://x/knows> "x" <http://g/1> .
<http://x/b> <http://x/knows> <http://x/a> .
"""
XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY x "http://x/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
  <x:Person rdf:about="http://x/a"><x:knows rdf:resource="http://x/b"/><x:name xml:lang="en">Zo</x:name></x:Person>
  <rdf:Description rdf:about="&x;b"><x:age rdf:datatype="http://www.w3.org/2001/XMLSchema#int">3</x:age></rdf:Description>
</rdf:RDF>
"""
GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="label" attr.type="string"><default>C</default></key>
  <key id="d1" for="edge" attr.name="label" attr.type="int"/>
  <key id="d2" for="node" attr.name="weight" attr.type="double"/>
  <graph id="G" edgedefault="directed">
    <node id="a"><data key="d0">N</data><data key="d2">1.5</data></node>
    <node id="b"><data key="d2">2</data></node>
    <node id="c"><data key="d2">-1e3</data></node>
    <edge source="a" target="b"><data key="d1">1</data></edge>
    <edge source="b" target="c" directed="false"><data key="d1">2</data></edge>
  </graph>
</graphml>
"""
NODE_LINK = b"""{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": "a", "label": "x", "w": 1.5, "y": "p"},
{"id": 2, "label": "z", "w": 2, "y": "q"}, {"id": null, "label": "x", "w": -1, "y": "p"}],
"links": [{"source": "a", "target": 2, "label": 1, "key": 0}, {"source": 2, "target": null, "label": 2, "key": 0}]}
"""
SDF = b"""ethanol
  edgnn

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    2.0000    1.0000    0.0000 O   0  0  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
  2  3  1  0
M  END
> <kind>
alcohol

$$$$
methylamine
  edgnn

  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 N   0  0  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
M  END
> <kind>
amine

$$$$
"""
SMILES = b'smiles,kind,value\nCCO,alcohol,1.5\n"c1ccccc1[N+](=O)[O-]",nitro,2\nCC(=O)Oc1ccccc1C(=O)O,acid,-3e2\n[Na+].[Cl-],salt,0\n'
EDGES = b'source,target,label,w\na,b,x,1\nb,c,y,2.5\nc,a,"x,y",-3\nb,b,,0\n'
TABLES = {
    "edges.csv": b"graph,source,target,label,w\n1,a,b,x,1\n1,b,c,y,2.5\n2,a,b,x,-3\n",
    "nodes.csv": b"graph,node,label,v,y\n1,a,C,1,p\n1,b,N,2,q\n1,c,C,3,p\n2,a,O,4,q\n2,b,C,5,p\n",
    "graphs.csv": b"graph,kind\n1,good\n2,bad\n",
}
TU = {
    "S_A.txt": b"1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "S_graph_indicator.txt": b"1\n1\n1\n2\n2\n",
    "S_graph_labels.txt": b"1\n-1\n",
    "S_node_labels.txt": b"0\n1\n0\n2\n2\n",
    "S_edge_labels.txt": b"0\n0\n1\n1\n0\n0\n",
    "S_node_attributes.txt": b"1.5, 2\n0, -1e3\n1, 1\n2, 2\n3, 3\n",
    "S_edge_attributes.txt": b"1\n2\n3\n4\n5\n6\n",
}

#: Files: the bytes, the name, and options of the reader.
FILES: dict[str, tuple[bytes, dict[str, object]]] = {
    "x.nt": (NT, {}),
    "x.ttl": (TTL, {}),
    "x.nq": (NQ, {}),
    "x.trig": (b'@prefix x: <http://x/> .\nx:g { x:a x:knows x:b . }\n{ x:b x:knows "c" . }\n', {}),
    "x.n3": (TTL, {}),
    "x.rdf": (XML, {}),
    "x.graphml": (GRAPHML, {"node_features": ["weight"]}),
    "plain.graphml": (GRAPHML, {}),
    "x.json": (NODE_LINK, {"node_features": ["w"], "node_target": "y"}),
    "plain.json": (NODE_LINK, {}),
    "x.sdf": (SDF, {"target": "kind"}),
    "plain.sdf": (SDF, {}),
    "molecules.csv": (SMILES, {"target": "kind"}),
    "values.csv": (SMILES, {"target": "value"}),
    "x.smi": (b"CCO ethanol\nc1ccccc1 benzene\nC#N\n", {}),
    "edges.csv": (EDGES, {"edge_features": ["w"]}),
    "plain.csv": (EDGES, {}),
    "edges.tsv": (EDGES.replace(b",", b"\t"), {}),
    "edges.txt": (EDGES.replace(b",", b";"), {}),
    "unknown": (NT, {}),
}


def packed(data: bytes) -> bytes:
    """Return the bytes as a gzip file."""
    return gzip.compress(data, mtime=0)


def zipped(files: dict[str, bytes]) -> bytes:
    """Return files as a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(f"S/{name}"), data)
    return stream.getvalue()


def parquet_file() -> bytes:
    """Return an edge table as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    columns = {
        "source": ["a", "b", "c"] * 5,
        "target": ["b", "c", "a"] * 5,
        "label": [1, 2, 1] * 5,
        "w": [1.0, 2.0, 3.0] * 5,
    }
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def small_graphs() -> edgnn.Graphs:
    """Return three graphs with labels, features and names."""
    return edgnn.Graphs.from_edges(
        [(0, 1), (1, 0), (1, 2), (3, 3), (4, 5)],
        sizes=[3, 1, 2],
        node_labels=["C", ("a", 1), None, "C", 7, b"x"],
        edge_labels=["x", "y", "x", "z", "x"],
        node_features=np.arange(12, dtype=np.float32).reshape(6, 2),
        edge_features=np.ones((5, 1), dtype=np.float32),
        node_names=[f"n{node}" for node in range(6)],
        graph_names=["one", "two", "three"],
    )


def content_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, by their place in it; locks are left out."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files into a new folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def arrays_folder(place: Path) -> dict[str, bytes]:
    """Return the files of a folder of arrays."""
    write_arrays(small_graphs(), place, targets=np.array(["good", "bad", "good"]))
    return content_of(place)


def structure_folder(place: Path, **options: str) -> dict[str, bytes]:
    """Return the files of a structure's folder."""
    write_structure(small_graphs(), place, **options)
    return content_of(place)


def signed(files: dict[str, bytes], header: str) -> dict[str, bytes]:
    """Return a folder of arrays whose checksums are right again, whatever was done to it, as an enemy would."""
    try:
        document = json.loads(files[header])
        content = document["content"]
        for kind, suffix, skip in (("arrays", "npy", 128), ("values", "jsonl", 0)):
            for name, entry in content.get(kind, {}).items():
                if isinstance(entry, dict) and f"{name}.{suffix}" in files:
                    entry["crc32"] = zlib.crc32(files[f"{name}.{suffix}"][skip:])
        document["crc32"] = zlib.crc32(
            json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return files
    return files | {header: json.dumps(document).encode()}


#: Files that say which of twelve graphs are for training.
SPLITS = {
    "splits.json": b'[{"train": "0-5,7", "val": [6, 8], "test": [9, 10, "11"]}]',
    "splits.csv": b"id,split\n"
    + b"".join(b"g%d,%s\n" % (n, b"train" if n < 8 else b"test") for n in range(12)),
}
