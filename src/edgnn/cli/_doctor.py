"""``edgnn doctor`` and ``edgnn --version``: what is installed, where data is, whether it works."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edgnn._system import cores
from edgnn._words import one_line
from edgnn.cli._options import Json, console
from edgnn.errors import DatasetError, EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset

Group = Literal["installed", "machine", "data", "self-test"]
State = Literal["ok", "absent", "warning", "failed"]

_TITLES = {
    "installed": "Installed",
    "machine": "Machine",
    "data": "Data, in the order it is looked for",
    "self-test": "Self-test",
}
_STYLES = {"ok": "green", "absent": "dim", "warning": "yellow", "failed": "bold red"}
_NAME_WIDTH, _LONGEST_TEXT = 15, 1000
_CORE = "core"
_FOR_DEVELOPERS = ("all", "bench", "dev", "docs")
_SHOWN_BY_VERSION = ("numpy", "scipy", "scikit-learn", "safetensors", "typer", "rich")
_LITTLE_SPACE = 2**30
_GRAPHS = 60
_REINSTALL = (
    "the core does not work here: install edgnn anew into a fresh environment, "
    "and if that does not help, report it"
)


@dataclass(frozen=True)
class Finding:
    """One thing that was examined.

    Attributes
    ----------
    group : {"installed", "machine", "data", "self-test"}
        What kind of thing it is.
    name : str
        The thing.
    state : {"ok", "absent", "warning", "failed"}
        ``"absent"``: not there, and not needed. ``"warning"``: something beside the core will not
        work. ``"failed"``: the core does not work.
    text : str
        What there is.
    fix : str
        What to do about it; empty where nothing needs to be done.
    seconds : float or None
        How long a test took.
    """

    group: Group
    name: str
    state: State
    text: str
    fix: str = ""
    seconds: float | None = None


def doctor(
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test/--no-self-test",
            help="Also train, predict, save and load on a small task: some seconds.",
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Examine what is installed, the machine, where data is looked for, and whether the core works.

    Extras that are not installed are no failure. Exit code 0: the core works; 2: something it needs
    does not.
    """
    from edgnn import __version__

    findings: list[Finding] = []
    if as_json:
        findings.extend(_examine(self_test))
        document = {
            "edgnn": __version__,
            "works": not _failures(findings),
            "findings": [asdict(finding) for finding in findings],
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(_examine(self_test), findings)
    if failures := _failures(findings):
        raise EdgnnError(
            f"the core does not work here: {', '.join(failures)} failed; "
            "what edgnn doctor prints says what to do"
        )
    if as_json:
        return
    if self_test:
        typer.echo("\nThe core works.")
    else:
        typer.echo("\nNothing that the core needs is missing; it was not tried.")


def print_version(wanted: bool) -> None:
    """Print the version and a short block about the environment; torch is not imported for it."""
    if not wanted:
        return
    from edgnn import __version__

    cuda = _cuda_of_torch()
    torch = _version_of("torch") or "not installed"
    core = ", ".join(f"{name} {_version_of(name) or 'not installed'}" for name in _SHOWN_BY_VERSION)
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    typer.echo(f"edgnn {__version__}")
    typer.echo(f"python    {python}, {platform.system()} {platform.machine()}")
    typer.echo(f"torch     {torch}, built {f'for CUDA {cuda}' if cuda else 'without CUDA'}")
    typer.echo(f"core      {core}")
    typer.echo(f"extras    {_extras()}")
    raise typer.Exit


def _extras() -> str:
    """Return the packages of extras that are installed, and the extras that are not complete."""
    present: list[str] = []
    absent: list[str] = []
    for extra, packages in _packages().items():
        if extra == _CORE:
            continue
        installed = [str(package) for package in packages if package.version]
        present += installed
        if len(installed) < len(packages):
            absent.append(extra)
    text = ", ".join(present) or "none"
    return f"{text}; not installed: {', '.join(sorted(absent))}" if absent else text


def _print(findings: Iterator[Finding], printed: list[Finding]) -> None:
    """Print findings as they come, and collect them in ``printed``."""
    screen = console()
    for group, members in groupby(findings, lambda finding: finding.group):
        if printed:
            screen.print()
        screen.print(f"[bold]{_TITLES[group]}[/]")
        for finding in members:
            printed.append(finding)
            screen.print(_row(finding))


def _row(finding: Finding) -> Any:
    from rich.markup import escape
    from rich.table import Table

    row = Table.grid(padding=(0, 1))
    row.add_column(width=7)
    row.add_column(width=_NAME_WIDTH)
    row.add_column(overflow="fold")
    text = escape(one_line(finding.text, _LONGEST_TEXT))
    if finding.seconds is not None:
        text += f" [dim]({finding.seconds:.1f} s)[/]"
    if finding.fix:
        text += f"\n→ {escape(finding.fix)}"
    row.add_row(f"[{_STYLES[finding.state]}]{finding.state}[/]", escape(finding.name), text)
    return row


def _failures(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings if finding.state == "failed"]


def _examine(self_test: bool) -> Iterator[Finding]:
    """Examine everything; findings come as they are made."""
    yield from _installed()
    for finding in _machine():
        yield finding
        if finding.state == "failed":
            return  # without torch there is nothing more to try
    yield from _data()
    if self_test:
        yield from _SelfTest().run()


# What is installed: read from the packages' own records, nothing is imported


@dataclass(frozen=True)
class _Package:
    """A package that edgnn needs, or that one of its extras brings."""

    name: str
    needed: str
    version: str | None
    fits: bool

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def problem(self) -> str:
        """Why it does not fit."""
        if self.version is None:
            return f"{self.name} is not installed"
        return f"{self} is installed, {self.needed} is needed"


def _packages() -> dict[str, list[_Package]]:
    """Return the packages of the core and of the extras for users, by extra.

    There are none where edgnn runs from its source files without being installed.
    """
    from packaging.requirements import Requirement

    try:
        lines = metadata.requires("edgnn") or []
    except metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[_Package]] = {}
    for requirement in map(Requirement, lines):
        marked = re.search(r'extra == "([^"]+)"', str(requirement.marker or ""))
        extra = _CORE if marked is None else marked[1]
        if requirement.name == "edgnn" or extra in _FOR_DEVELOPERS:
            continue
        name, needed = requirement.name, requirement.specifier
        version = _version_of(name)
        fits = version is not None and needed.contains(version, prereleases=True)
        packages.setdefault(extra, []).append(_Package(name, str(needed), version, fits))
    return packages


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cuda_of_torch() -> str | None:
    """Return the version of CUDA that the installed torch was built for, without importing it."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    version = re.search(r"""^cuda\b[^=]*=\s*["']([\d.]+)["']""", text, re.MULTILINE)
    return None if version is None else version[1]


def _installed() -> Iterator[Finding]:
    from edgnn import __version__

    packages = _packages()
    where = "" if packages else ", from source files that are not installed"
    yield Finding("installed", "edgnn", "ok", f"{__version__}{where}")
    core = packages.pop(_CORE, [])
    if core:
        yield Finding("installed", "core", "ok", _listed(core))
    for package in core:
        if not package.fits:
            fix = f"pip install '{package.name}{package.needed}'"
            yield Finding("installed", package.name, "failed", package.problem, fix)
    for extra, members in packages.items():
        yield _of_extra(extra, members)


def _of_extra(extra: str, packages: list[_Package]) -> Finding:
    lacking = [package for package in packages if not package.fits]
    if not lacking:
        return Finding("installed", extra, "ok", _listed(packages))
    problems = ", ".join(package.problem for package in lacking)
    is_outdated = any(package.version for package in lacking)
    state: State = "warning" if is_outdated else "absent"
    return Finding("installed", extra, state, problems, f"pip install 'edgnn[{extra}]'")


def _listed(packages: list[_Package]) -> str:
    return ", ".join(str(package) for package in packages if package.fits)


# The machine: Python, processor, threads, memory, CUDA devices


def _machine() -> Iterator[Finding]:
    system = f"{platform.platform(terse=True)}, {platform.machine()}"
    yield Finding("machine", "Python", "ok", f"{platform.python_version()} on {system}")
    try:
        import torch
    except Exception as error:  # a library that torch needs can fail in any way
        problem = f"cannot be imported: {type(error).__name__}: {error}"
        fix = "install it anew: pip install --force-reinstall torch"
        yield Finding("machine", "torch", "failed", problem, fix)
        return
    limits = [
        f", {name}={os.environ[name]}"
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
        if name in os.environ
    ]
    threads = f"{cores()} cores, of which torch uses {torch.get_num_threads()}{''.join(limits)}"
    yield Finding("machine", "CPU", "ok", f"{threads}{_memory()}")
    cuda = torch.version.cuda
    if cuda is None:
        text = f"torch {torch.__version__} is built without it; everything runs on the CPU"
        yield Finding("machine", "CUDA", "absent", text)
    elif not torch.cuda.is_available():
        text = f"torch is built for CUDA {cuda}, but sees no device"
        yield Finding("machine", "CUDA", "absent", text)
    else:
        for number in range(torch.cuda.device_count()):
            device = torch.cuda.get_device_properties(number)
            text = f"{device.name}, {device.total_memory / 2**30:.0f} GiB, CUDA {cuda}"
            yield Finding("machine", f"cuda:{number}", "ok", text)


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return ""
    return f"; {total / 2**30:.0f} GiB of memory"


# Where named data sets are looked for, in that order, and where files can be written


def _data() -> Iterator[Finding]:
    """Examine the folders of data sets; the network is not touched."""
    yield _data_folder()
    yield _cache()
    yield from _data_sets()
    yield _temporary_files()


def _data_folder() -> Finding:
    name = os.environ.get("EDGNN_DATA")
    if not name:
        return Finding("data", "EDGNN_DATA", "absent", "not set; it would be looked in first")
    folder = Path(name)
    if not folder.is_dir():
        fix = "set it to one with TUDataset/ or rdf/ in it"
        return Finding("data", "EDGNN_DATA", "warning", f"{folder} is no folder", fix)
    layout = [name for name in ("TUDataset", "rdf") if (folder / name).is_dir()]
    if not layout:
        problem = f"{folder} holds neither TUDataset/ nor rdf/"
        return Finding("data", "EDGNN_DATA", "warning", problem, "set it to one that does")
    return Finding("data", "EDGNN_DATA", "ok", f"{folder} ({', '.join(layout)})")


def _cache() -> Finding:
    from edgnn.io.datasets import cache_root

    fix = "name another folder with EDGNN_CACHE"
    try:
        folder = cache_root()
    except DatasetError as error:
        return Finding("data", "cache", "warning", str(error), fix)
    above = (folder, *folder.absolute().parents)
    existing = next(path for path in above if os.path.exists(path))  # noqa: PTH110 - never raises
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Finding("data", "cache", "warning", f"{folder} cannot be written", fix)
    state = "writable" if existing == folder else "made when first needed"
    try:
        free = f", {shutil.disk_usage(existing).free / 2**30:.1f} GiB free"
    except OSError:
        free = ""
    return Finding("data", "cache", "ok", f"{folder}, {state}{free}")


def _data_sets() -> Iterator[Finding]:
    from edgnn.io.datasets import find, locate, names

    by_place: dict[str, list[str]] = {}
    for name in names():
        entry = find(name)
        assert entry is not None
        try:
            by_place.setdefault(locate(entry).place, []).append(name)
        except DatasetError:  # there is no home folder, as the cache's finding says
            return
    away = by_place.pop("network", [])
    here = "; ".join(f"{', '.join(sets)} ({place})" for place, sets in by_place.items())
    if here:
        yield Finding("data", "sets here", "ok", here)
    else:
        text = "none of the named sets is on this machine"
        yield Finding("data", "sets here", "absent", text)
    if away:
        text = f"{', '.join(away)}: fetched from the network when first used"
        fix = "work without the network: point EDGNN_DATA at a copy"
        yield Finding("data", "sets away", "absent", text, fix)


def _temporary_files() -> Finding:
    try:
        with tempfile.TemporaryDirectory(prefix="edgnn-") as folder:
            free, parent = shutil.disk_usage(folder).free, Path(folder).parent
    except OSError as error:
        problem, fix = f"cannot be written: {error}", "name a folder with TMPDIR"
        return Finding("data", "temporary files", "failed", problem, fix)
    text = f"{parent}, {free / 2**30:.1f} GiB free"
    if free < _LITTLE_SPACE:
        fix = "name another folder with TMPDIR"
        return Finding("data", "temporary files", "warning", text, fix)
    return Finding("data", "temporary files", "ok", text)


# A few seconds of the core at work on a small task; every answer is checked


class _WrongAnswer(EdgnnError):
    """An answer that is not the right one."""


class _SelfTest:
    """Tries the core, piece by piece, in one thread."""

    def run(self) -> Iterator[Finding]:
        import torch

        checks = {
            "refinement": self.refinement,
            "training": self.training,
            "repetition": self.repetition,
            "fleet": self.fleet,
            "files": self.files,
        }
        before = torch.get_num_threads()
        torch.set_num_threads(1)  # all of it is small, and other threads may be busy
        try:
            for name, check in checks.items():
                yield self.tried(name, check, "failed", _REINSTALL)
            if torch.cuda.is_available():
                fix = "train with --device cpu, and check the driver and triton"
                yield self.tried("CUDA", self.cuda, "warning", fix)
        finally:
            torch.set_num_threads(before)

    def tried(self, name: str, check: Callable[[], str], otherwise: State, fix: str) -> Finding:
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = check()
        except Exception as error:  # whatever goes wrong is what we are looking for
            kind = "" if isinstance(error, EdgnnError) else f"{type(error).__name__}: "
            seconds = time.perf_counter() - begin
            return Finding("self-test", name, otherwise, f"{kind}{error}", fix, seconds)
        return Finding("self-test", name, "ok", text, seconds=time.perf_counter() - begin)

    def refinement(self) -> str:
        """Compare pairs of graphs whose verdicts the paper's definitions settle."""
        from edgnn import wl
        from edgnn.theory import pairs

        expected: Any = {
            pairs.directed_triangles: {"separate": False, "joint": True},
            pairs.hexagon_and_triangles: {"separate": False, "joint": False},
            pairs.directed_cycles: {"separate": True, "joint": False},
        }
        for pair, verdicts in expected.items():
            for scheme, apart in verdicts.items():
                g, h = pair()
                if wl.compare(g, h, scheme, exact=True).distinguished != apart:
                    raise _WrongAnswer(
                        f"refinement ({scheme}) gives the wrong verdict on {pair.__name__}"
                    )
        return "color refinement tells apart what it should"

    def training(self) -> str:
        """Train a model that must do better than guessing."""
        import numpy as np

        name, targets = self.data.name, np.asarray(self.data.targets)
        right = float(np.mean(self.model.predict(self.data.graphs) == targets))
        majority = float(np.bincount(targets).max() / len(targets))
        if right <= majority + 0.05:
            raise _WrongAnswer(
                f"a model trained on {name} is right on {right:.0%} of it; "
                f"always guessing one class is on {majority:.0%}"
            )
        guess = f"{right:.0%} of them right, {majority:.0%} by guessing"
        return f"trained on {name} ({len(targets)} graphs): {guess}"

    def repetition(self) -> str:
        """Train twice, which must give the same bits."""
        import numpy as np

        graphs = self.data.graphs
        first = self.model.predict_proba(graphs)
        again = self.fitted().predict_proba(graphs)
        if not np.array_equal(first, again):
            difference = np.abs(first - again).max()
            raise _WrongAnswer(f"the same training gave other bits, by up to {difference:.3g}")
        return "the same training gives the same bits"

    def fleet(self) -> str:
        """Train a model alone and among others, in float64."""
        import torch

        from edgnn.nn import Inputs
        from edgnn.training import Member, Settings, Targets, train

        graphs, targets = self.data.graphs, self.data.targets
        assert targets is not None
        sizes = {
            "node_labels": len(graphs.node_vocabulary),
            "edge_labels": len(graphs.edge_vocabulary),
            "hidden": 8,
        }
        settings = Settings(max_epochs=3, batch_size=8, precision="float64")
        half, all_items = len(targets) // 2, len(targets)
        members = [
            Member(range(half + more), range(half + 5, all_items), seed=more) for more in range(3)
        ]

        def weights(some: list[Member]) -> dict[str, Any]:
            classes = Targets.classes(targets, 2)
            return train(
                "graph", sizes, Inputs.of(graphs), classes, some, settings
            ).model.state_dict()

        fleet = weights(members)
        worst = max(
            float((fleet[name][0] - value[0]).abs().max())
            for name, value in weights(members[:1]).items()
            if torch.is_floating_point(value)
        )
        if not worst <= 1e-8:  # NaN is wrong, too
            raise _WrongAnswer(
                f"a model trained among others differs by {worst:.3g} from itself alone"
            )
        return f"a model comes out the same alone and in a fleet of three (within {worst:.0e})"

    def files(self) -> str:
        """Save a model and graphs, and read both back."""
        import numpy as np

        from edgnn import io
        from edgnn.models import load_model

        graphs = self.data.graphs
        with tempfile.TemporaryDirectory(prefix="edgnn-") as name:
            folder = Path(name)
            self.model.save(folder / "run")
            written = self.data.targets
            io.write(graphs, folder / "KEPT", format="tu", name="KEPT", targets=written)
            loaded, read = load_model(folder / "run"), io.read(folder / "KEPT")
        if not np.array_equal(loaded.predict_proba(graphs), self.model.predict_proba(graphs)):
            raise _WrongAnswer("a model that was saved and loaded predicts something else")
        if _sizes(read) != _sizes(graphs):
            raise _WrongAnswer("graphs that were written and read are others")
        return "a run folder and a TU folder, written and read back"

    def cuda(self) -> str:
        """Train on CUDA, which must agree with the CPU."""
        import numpy as np

        few = {"max_epochs": 2, "precision": "float32"}
        device, cpu = (
            self.fitted(device=device, **few).predict_proba(self.data.graphs)
            for device in ("cuda", "cpu")
        )
        worst = float(np.abs(device - cpu).max())
        if not worst < 1e-2:  # NaN is wrong, too
            raise _WrongAnswer(
                f"probabilities of a model trained on CUDA differ by {worst:.3g} from the CPU's"
            )
        return f"a model trained on CUDA agrees with the CPU (within {worst:.0e})"

    @cached_property
    def model(self) -> Any:
        """A model fitted to the data."""
        return self.fitted()

    def fitted(self, **parameters: Any) -> Any:
        from edgnn.models import GraphClassifier

        chosen: dict[str, Any] = {"hidden": 16, "max_epochs": 15, "learning_rate": 0.01}
        chosen |= {"validation": None, "random_state": 0} | parameters
        return GraphClassifier(**chosen).fit(self.data.graphs, self.data.targets)

    @cached_property
    def data(self) -> Dataset:
        """Some of MUTAG where it is on this machine, else a synthetic task."""
        import numpy as np

        from edgnn.io.datasets import find, load_dataset, locate

        entry = find("MUTAG")
        assert entry is not None
        try:
            if locate(entry).path is None:
                return _rings()
            data = load_dataset("MUTAG", download=False)
        except EdgnnError:
            return _rings()
        assert data.targets is not None
        chosen = np.random.default_rng(0).permutation(len(data))[:_GRAPHS]
        return replace(data, graphs=data.graphs[chosen], targets=data.targets[chosen])


def _sizes(graphs: Any) -> tuple[int, int, int]:
    return len(graphs), graphs.num_nodes, graphs.num_edges


def _rings() -> Dataset:
    """Return rings whose edges are all of one label, or every third of another: two classes."""
    import numpy as np

    from edgnn.graphs import Graphs
    from edgnn.io.datasets import Dataset

    rings = []
    for number in range(_GRAPHS):
        size = 3 + number // 2 % 10
        edges = [(node, (node + 1) % size) for node in range(size)]
        labels = ["b" if number % 2 and node % 3 == 0 else "a" for node in range(size)]
        rings.append(Graphs.from_edges(edges, node_labels=["x"] * size, edge_labels=labels))
    targets = np.arange(_GRAPHS) % 2
    return Dataset("built-in rings", Graphs.concat(rings), targets, ("plain", "mixed"))
