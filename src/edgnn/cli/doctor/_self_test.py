"""A few seconds of the core at work on a small task; every answer is checked."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn.cli.doctor._finding import Finding
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.io.datasets import Dataset
    from edgnn.wl import Scheme

_REPORT = "the core does not work here: install edgnn anew into a fresh environment, and if that does not help, report it"
_GRAPHS = 60


class Wrong(EdgnnError):
    """An answer that is not the right one."""


def self_test() -> Iterator[Finding]:
    """Try the core, piece by piece, in one thread."""
    import torch

    _data.cache_clear()
    _fitted.cache_clear()
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # all of it is small, and other threads may be busy
    try:
        for name, check in _CHECKS.items():
            yield _tried(name, check, "failed", _REPORT)
        if torch.cuda.is_available():
            yield _tried(
                "CUDA",
                _cuda_agrees,
                "warning",
                "train with --device cpu, and check the driver and triton",
            )
    finally:
        torch.set_num_threads(before)


def _tried(name: str, check: Callable[[], str], otherwise: Any, way_out: str) -> Finding:
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = check()
    except Exception as error:  # whatever goes wrong is what is looked for
        kind = "" if isinstance(error, EdgnnError) else f"{type(error).__name__}: "
        return Finding(
            "self-test", name, otherwise, f"{kind}{error}", way_out, time.perf_counter() - begun
        )
    return Finding("self-test", name, "ok", told, seconds=time.perf_counter() - begun)


def _refines() -> str:
    """Compare pairs of graphs whose verdicts the paper's definitions settle."""
    from edgnn import wl
    from edgnn.theory import pairs

    expected: dict[Callable[[], tuple[Graphs, Graphs]], dict[Scheme, bool]] = {
        pairs.directed_triangles: {"separate": False, "joint": True},
        pairs.hexagon_and_triangles: {"separate": False, "joint": False},
        pairs.directed_cycles: {"separate": True, "joint": False},
    }
    for pair, verdicts in expected.items():
        for scheme, apart in verdicts.items():
            if wl.compare(*pair(), scheme, exact=True).distinguished != apart:
                raise Wrong(f"refinement ({scheme}) gives the wrong verdict on {pair.__name__}")
    return "color refinement tells apart what it should"


def _learns() -> str:
    import numpy as np

    data, estimator = _data(), _fitted()
    assert data.targets is not None
    known = float(np.mean(estimator.predict(data.graphs) == data.targets))
    majority = float(np.bincount(data.targets).max() / len(data))
    if not known > majority + 0.05:
        raise Wrong(
            f"a model trained on {data.name} is right on {known:.0%} of it; always guessing one class is on {majority:.0%}"
        )
    return f"trained on {data.name} ({len(data)} graphs): {known:.0%} of them right, {majority:.0%} by guessing"


def _repeats() -> str:
    import numpy as np

    graphs = _data().graphs
    first = _fitted().predict_proba(graphs)
    again = _estimator().fit(graphs, _data().targets).predict_proba(graphs)
    if not np.array_equal(first, again):
        raise Wrong(
            f"the same training gave other bits, by up to {np.abs(first - again).max():.3g}"
        )
    return "the same training gives the same bits"


def _fleet_agrees() -> str:
    """Train a model alone and among others, in float64."""
    import torch

    from edgnn.nn import Inputs
    from edgnn.training import Member, Settings, Targets, train

    data = _data()
    assert data.targets is not None
    half = len(data) // 2
    sizes = {
        "node_labels": len(data.graphs.node_vocabulary),
        "edge_labels": len(data.graphs.edge_vocabulary),
        "hidden": 8,
    }
    inputs, targets = Inputs.of(data.graphs), Targets.classes(data.targets, 2)
    settings = Settings(max_epochs=3, batch_size=8, precision="float64")
    members = [
        Member(range(half + more), range(half + 5, len(data)), seed=more) for more in range(3)
    ]
    alone, fleet = (
        train("graph", sizes, inputs, targets, some, settings).model.state_dict()
        for some in (members[:1], members)
    )
    worst = max(
        float((fleet[name][0] - value[0]).abs().max())
        for name, value in alone.items()
        if torch.is_floating_point(value)
    )
    if not worst <= 1e-8:
        raise Wrong(f"a model trained among others differs by {worst:.3g} from itself alone")
    return f"a model comes out the same alone and in a fleet of three (within {worst:.0e})"


def _keeps() -> str:
    """Save a model and graphs, and read both back."""
    import numpy as np

    from edgnn import io
    from edgnn.models import load_estimator

    data, estimator = _data(), _fitted()
    with tempfile.TemporaryDirectory(prefix="edgnn-") as place:
        folder = Path(place)
        estimator.save(folder / "run")
        io.write(data.graphs, folder / "KEPT", format="tu", name="KEPT", targets=data.targets)
        again, graphs = load_estimator(folder / "run"), io.read(folder / "KEPT")
    if not np.array_equal(again.predict_proba(data.graphs), estimator.predict_proba(data.graphs)):
        raise Wrong("a model that was saved and loaded predicts something else")
    if (len(graphs), graphs.num_nodes, graphs.num_edges) != (
        len(data.graphs),
        data.graphs.num_nodes,
        data.graphs.num_edges,
    ):
        raise Wrong("graphs that were written and read are others")
    return "a run folder and a TU folder, written and read back"


def _cuda_agrees() -> str:
    import numpy as np

    data = _data()
    few = {"max_epochs": 2, "precision": "float32"}
    ours, theirs = (
        _estimator(device=device, **few).fit(data.graphs, data.targets).predict_proba(data.graphs)
        for device in ("cuda", "cpu")
    )
    worst = float(np.abs(ours - theirs).max())
    if not worst < 1e-2:
        raise Wrong(
            f"probabilities of a model trained on CUDA differ by {worst:.3g} from those of the CPU"
        )
    return f"a model trained on CUDA agrees with the CPU (within {worst:.0e})"


def _estimator(**parameters: Any) -> Any:
    from edgnn.models import GraphClassifier

    chosen = {
        "hidden": 16,
        "max_epochs": 15,
        "learning_rate": 0.01,
        "validation": None,
        "random_state": 0,
    } | parameters
    return GraphClassifier(**chosen)


@cache
def _fitted() -> Any:
    data = _data()
    return _estimator().fit(data.graphs, data.targets)


@cache
def _data() -> Dataset:
    """Return some of MUTAG where it is on this machine, else a task of our own."""
    from edgnn.io.datasets import find, load_dataset, locate

    entry = find("MUTAG")
    assert entry is not None
    try:
        return (
            _some(load_dataset("MUTAG", download=False))
            if locate(entry).path is not None
            else built_in()
        )
    except EdgnnError:
        return built_in()


def _some(data: Dataset) -> Dataset:
    from dataclasses import replace

    import numpy as np

    assert data.targets is not None
    chosen = np.random.default_rng(0).permutation(len(data))[:_GRAPHS]
    return replace(data, graphs=data.graphs[chosen], targets=data.targets[chosen])


def built_in() -> Dataset:
    """Return rings whose edges are all of one label, or every third of another one: two classes."""
    import numpy as np

    from edgnn.graphs import Graphs
    from edgnn.io.datasets import Dataset

    rings = []
    for number in range(_GRAPHS):
        size = 3 + number // 2 % 10
        edges = [(node, (node + 1) % size) for node in range(size)]
        labels = ["b" if number % 2 and node % 3 == 0 else "a" for node in range(size)]
        rings.append(Graphs.from_edges(edges, node_labels=["x"] * size, edge_labels=labels))
    return Dataset(
        "built-in rings", Graphs.concat(rings), np.arange(_GRAPHS) % 2, ("plain", "mixed")
    )


_CHECKS: dict[str, Callable[[], str]] = {
    "refinement": _refines,
    "training": _learns,
    "repetition": _repeats,
    "fleet": _fleet_agrees,
    "files": _keeps,
}
