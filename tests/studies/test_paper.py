import pytest

import edgnn
from edgnn.studies import published_accuracy


def test_what_the_paper_reports():
    published = {name: published_accuracy(name) for name in edgnn.io.datasets.names()}
    assert {name: str(found) for name, found in published.items() if found is not None} == {
        "MUTAG": "86.9 ± 1.0",
        "PTC_FM": "59.8 ± 1.5",
        "PTC_FR": "65.7 ± 1.3",
        "PTC_MM": "64.4 ± 0.8",
        "PTC_MR": "56.3 ± 1.9",
        "AIFB": "91.1 ± 2.4",
        "MUTAG-RDF": "80.0 ± 3.2",
    }
    assert published_accuracy("PROTEINS") is None
    assert str(published_accuracy("AIFB", "edGNN (max)")) == "97.2"
    with pytest.raises(edgnn.errors.DatasetError, match="it has WL, RDF2Vec, R-GCN"):
        published_accuracy("AIFB", "CSM")
