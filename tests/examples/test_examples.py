import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from warm_python import warm_python

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
NEEDS = {"pyg_model": "torch_geometric", "lightning_module": "lightning"}
LEARN = ("pyg_model", "lightning_module", "plain_loop")
CHECKED = (*LEARN, "tell_apart")  # by a test of their own
#: What other packages do when they are imported or run is theirs.
THEIRS = (
    "ignore:`torch.jit.script` is deprecated:DeprecationWarning",
    "ignore:`isinstance(treespec, LeafSpec)` is deprecated:FutureWarning",
)


def run(path, folder):
    if path.stem in NEEDS and find_spec(NEEDS[path.stem]) is None:
        pytest.skip(f"{NEEDS[path.stem]} is not installed")
    warnings = [word for rule in ("error", *THEIRS) for word in ("-W", rule)]
    command = [warm_python(), *warnings, str(path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.stem not in CHECKED], ids=lambda path: path.stem
)
def test_example_runs_without_a_warning(path, tmp_path):
    assert run(path, tmp_path) or any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARN)
def test_models_of_the_examples_learn(name, tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == name]
    (accuracy,) = re.findall(r"accuracy (\d\.\d\d)", run(path, tmp_path))
    assert float(accuracy) > 0.7


@pytest.mark.slow
def test_pairs_are_told_apart_and_drawn(tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == "tell_apart"]
    done = subprocess.run(
        [warm_python(), str(path), "."], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("isomorphic: False") == 3
    assert len(list(tmp_path.glob("*.svg"))) == 6
