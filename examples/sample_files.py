"""Small made-up files to try edgnn on, written into the current folder: molecules as SMILES, people as RDF and as tables.

    python examples/sample_files.py

molecules.csv has 200 molecules and whether each is active: an amine or nitro group on an aromatic ring. new_molecules.csv has
16 more, without the answer. people.ttl is a knowledge graph of 200 people and what they wrote, and roles.tsv says of 150 of
them whether they are a scientist, whose texts cite books, or a clerk, whose texts are filed somewhere; new_people.txt names the
other 50. edges.csv and people.csv are the same graph as tables.
"""

import csv
import random
from pathlib import Path

RINGS = ["c1ccc(X)cc1", "c1ccc2cc(X)ccc2c1", "c1cc(X)ccn1", "C1CCC(X)CC1", "C1CC(X)CO1"]
GROUPS = ["N", "[N+](=O)[O-]", "O", "C", "Cl", "OC", "C#N", "C(=O)O"]
CHAINS = ["", "C", "CC", "CCC", "CC(C)"]


def molecules(rings, chains):
    for ring in rings:
        for group in GROUPS:
            for chain in chains:
                active = "c" in ring and group in ("N", "[N+](=O)[O-]")
                yield chain + ring.replace("X", group), "yes" if active else "no"


def people(draw):
    """Return triples, and the role of every person."""
    triples, roles = [], {}
    for number in range(200):
        person, role = f"person{number}", draw.choice(["scientist", "clerk"])
        roles[person] = role
        triples.append((person, "worksIn", f"house{draw.randrange(5)}"))
        triples.append((person, "knows", f"person{draw.randrange(200)}"))
        for _ in range(draw.randint(1, 4)):
            text = f"text{len(triples)}"
            triples.append((person, "wrote", text))
            if role == "scientist":
                triples.append((text, "cites", f"book{draw.randrange(40)}"))
            else:
                triples.append((text, "filedIn", f"folder{draw.randrange(40)}"))
    return triples, roles


def write(name, header, rows, delimiter=","):
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])


rows = list(molecules(RINGS, CHAINS))
write("molecules.csv", ["smiles", "active"], rows)
write("new_molecules.csv", ["smiles"], [[smiles] for smiles, _ in molecules(RINGS[::3], ["CCCC"])])

triples, roles = people(random.Random(0))  # noqa: S311
lines = [f"ex:{source} ex:{relation} ex:{target} ." for source, relation, target in triples]
Path("people.ttl").write_text(
    "@prefix ex: <http://example.org/> .\n" + "\n".join(lines) + "\n", encoding="utf-8"
)
iris = {person: f"http://example.org/{person}" for person in roles}
known, new = list(roles)[:150], list(roles)[150:]
write(
    "roles.tsv",
    ["person", "role"],
    [[iris[person], roles[person]] for person in known],
    delimiter="\t",
)
Path("new_people.txt").write_text("".join(f"{iris[person]}\n" for person in new), encoding="utf-8")
write(
    "edges.csv",
    ["source", "target", "label"],
    [(source, target, relation) for source, relation, target in triples],
)
write("people.csv", ["id", "role"], [[person, roles[person]] for person in known])
