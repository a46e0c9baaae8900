import json
import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

import edgnn
from edgnn._words import closest, suggestion, suggestion_or
from edgnn.evaluation import METRICS
from edgnn.nn import ACTIVATIONS
from edgnn.registry import LAYERS, MODELS
from warm_python import warm_python

ESCAPE = "\x1b["
PROGRAM = (sys.executable, "-m", "edgnn")
ABOUT_COLOR = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS")


def started(*words, **environment):
    return subprocess.run(
        [*PROGRAM, *map(str, words)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def unfinished(*words):
    """What bash tells of these words, the last of which is not finished."""
    return {
        "_EDGNN_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["edgnn", *words]),
        "COMP_CWORD": str(len(words)),
    }


@pytest.fixture
def completed(command, monkeypatch):
    """What a shell is given."""

    def given(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        ended = command()
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    return given


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("tr",), ["train"]),
        (("train", "--la"), ["--layers"]),
        (("train", "--conv", ""), ["edgnn", "gnn", "joint", "rgcn", "gine"]),
        (("evaluate", "MUTAG", "--model", "r"), ["ridge", "ridge-network", "rgcn", "rdf2vec"]),
        (("reproduce", "--datasets", "AIFB,PTC_F"), ["AIFB,PTC_FM", "AIFB,PTC_FR"]),
        (("train", "MUTAG", "--out", ""), []),
    ],
)
def test_bash_is_offered_what_fits(completed, words, offered):
    assert completed(**unfinished(*words)).split() == offered


def test_a_source_is_completed_to_names_and_files_together(completed, tmp_path, monkeypatch):
    (tmp_path / "MUCH.csv").touch()
    (tmp_path / "other.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert completed(**unfinished("train", "MU")).split() == ["MUTAG", "MUTAG-RDF", "MUCH.csv"]
    assert completed(**unfinished("train", "oth")).split() == []


def test_zsh_and_fish_are_offered_the_same(completed):
    zsh = completed(_EDGNN_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="edgnn train --readout ")
    assert re.findall(r'"(\w+)"', zsh) == ["sum", "mean", "max"]
    fish = {"_EDGNN_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "edgnn train --readout m"}
    assert completed(**fish, _TYPER_COMPLETE_FISH_ACTION="get-args").split() == ["mean", "max"]
    completed(**fish, _TYPER_COMPLETE_FISH_ACTION="is-args")


def test_completion_takes_less_than_a_second_of_the_processor():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "MUTAG" in started(**unfinished("evaluate", "M")).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_completion_loads_no_library(run_python):
    words = unfinished("evaluate", "MUTAG", "--model", "r")
    code = (
        f"import os, sys; os.environ |= {words!r}; import edgnn.cli\n"
        "try: edgnn.cli.main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'numpy', 'scipy', 'sklearn', 'urllib.request'} & set(sys.modules)))"
    )
    *offered, loaded = run_python(code).splitlines()
    assert (offered, loaded) == (["ridge", "ridge-network", "rgcn", "rdf2vec"], "[]")


@pytest.mark.parametrize(
    ("words", "library"),
    [
        (["train", "--activation"], ACTIVATIONS),
        (["train", "--conv"], LAYERS),
        (["evaluate", "--metric"], METRICS),
        (["evaluate", "--model"], MODELS),
        (["evaluate", "--settings"], edgnn.studies.recipe_names()),
        (["reproduce"], edgnn.studies.TABLES),
        (["reproduce", "--datasets"], edgnn.io.datasets.names()),
    ],
    ids=" ".join,
)
def test_words_offered_are_those_of_the_library(completed, words, library):
    assert completed(**unfinished(*words, "")).split() == list(library)


@pytest.mark.parametrize(
    "option", ["degree_labels", "direction", "precision", "readout", "unknown"]
)
def test_values_offered_are_taken_by_estimators(completed, option):
    graphs = edgnn.Graphs.concat([edgnn.Graphs.from_edges([(0, 1)])] * 4)
    offered = completed(**unfinished("train", f"--{option.replace('_', '-')}", "")).split()
    assert len(offered) > 1
    for word in offered:
        chosen = {option: None if word == "none" else word}
        model = edgnn.GraphClassifier(max_epochs=1, hidden=2, validation=None, **chosen)
        model.fit(graphs, [0, 1, 0, 1])


def test_nothing_is_offered_inside_folders(completed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert completed(**unfinished("train", "MUTAG/")).split() == []


def test_protocols_offered_are_those_of_the_library(completed, command, molecules, monkeypatch):
    offered = completed(**unfinished("evaluate", "--protocol", "")).split()
    assert len(offered) > 3
    monkeypatch.delenv("_EDGNN_COMPLETE")
    for word in (*offered, "nonsensical"):
        ended = command("evaluate", molecules, "--protocol", word, "--model", "majority", "-q")
        assert ("there is no protocol" in ended.err) is (word == "nonsensical")


def test_there_is_no_command_bench(completed):
    assert "bench" not in completed(**unfinished("")).split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_real_bash_completes_by_the_installed_script(tmp_path):
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    installed = started("--install-completion", "bash", **environment)
    assert (installed.returncode, installed.stderr) == (0, "")
    assert "edgnn.sh" in (tmp_path / ".bashrc").read_text()
    program = tmp_path / "edgnn"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m edgnn "$@"\n')
    program.chmod(0o755)
    script = (
        "source ~/.bashrc; COMP_WORDS=(edgnn evaluate MUTAG --metric r); COMP_CWORD=4; "
        '_edgnn_completion edgnn; printf "%s\\n" "${COMPREPLY[@]}"; complete -p edgnn'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=os.environ | environment | {"PATH": path},
        capture_output=True,
        text=True,
    )
    *offered, registered = ended.stdout.splitlines()
    assert (offered, ended.stderr) == (["roc_auc", "rmse", "r2"], "")
    assert registered == "complete -o default -F _edgnn_completion edgnn"


def test_version_tells_the_environment_without_importing_torch(command, run_python):
    lines = command("--version").out.splitlines()
    assert lines[0] == f"edgnn {edgnn.__version__}"
    assert [line.split()[0] for line in lines[1:]] == ["python", "torch", "core", "extras"]
    assert f"numpy {sys.modules['numpy'].__version__}" in lines[3]
    code = (
        "import sys; from edgnn.cli import main; sys.argv[1:] = ['--version']\n"
        "try: main()\n"
        "except SystemExit: print('torch' in sys.modules)"
    )
    assert run_python(code).splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["trian"], "no such command 'trian'; did you mean 'train'? (edgnn --help lists all)"),
        (["frobnicate"], "no such command 'frobnicate' (edgnn --help lists all)"),
        (
            ["datasets", "sho"],
            "no such command 'sho'; did you mean 'show'? (edgnn datasets --help lists all)",
        ),
        (
            ["--versoin"],
            "no such option '--versoin' of edgnn; did you mean '--version'? (edgnn --help lists all)",
        ),
        (
            ["train", "--layer", 3],
            "no such option '--layer' of edgnn train; did you mean '--layers'? (edgnn train --help lists all)",
        ),
        (["train", "MUTAG"], "missing option '--out' (edgnn train --help tells more)"),
        (
            ["wl", "compare", "MUTAG"],
            "missing argument 'second' (edgnn wl compare --help tells more)",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(command, words, line):
    ended = command(*words)
    assert (ended.code, ended.out, ended.err) == (2, "", f"edgnn: {line}\n")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (
            ["train", "MUTAG", "--out", "x", "--task", "grap"],
            ["'--task'", "'grap' is not one of", "did you mean 'graph'?"],
        ),
        (["train", "MUTAG", "--out", "x", "--seed", "abc"], ["'--seed'", "integer", "'abc'"]),
        (["evaluate", "MUTAG", "--runs", 0], ["'--runs'", "0"]),
        (["train", "MUTAG", "--config", "none.toml", "--out", "x"], ["'--config'", "none.toml"]),
        (["serve", "a", "b\nc"], ["unexpected", "edgnn serve --help"]),
        (["train", "MUTAG", "--out"], ["--out"]),
        (["datasets", "--json", "show", "MUTAG"], ["put options behind the command"]),
    ],
)
def test_a_bad_value_is_one_line_that_names_it(command, words, parts):
    ended = command(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("edgnn: ")
    assert all(part in ended.err for part in parts), ended.err


def test_names_with_control_characters_stay_on_one_line(command):
    ended = command("datasets", "show", "no\r\x1b[31msuch\u2028/file")
    assert (ended.code, ended.err.count("\n"), ESCAPE in ended.err, "\u2028" in ended.err) == (
        2,
        1,
        False,
        False,
    )


def test_no_words_at_all_print_the_help(command):
    ended = command()
    assert ended.code == 2
    assert "Usage: edgnn" in ended.out + ended.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["train", "MUTAG", "--activation", "rellu"], "relu"),
        (["train", "MUTAG", "--conv", "edgn"], "edgnn"),
        (["train", "MUTAG", "--settings", "papper"], "paper"),
        (["train", "MUTAG", "--class-weight", "mutagenik=2"], "mutagenic"),
        (["train", "SMILES", "--target", "kinds"], "kind"),
        (["train", "PEOPLE", "--target", "groop"], "group"),
        (["train", "SMILES", "-o", "smile=x"], "smiles"),
        (["evaluate", "MUTAG", "--protocol", "holdot"], "holdout"),
        (["evaluate", "MUTAG", "--metric", "balanced-acuracy"], "balanced_accuracy"),
        (["evaluate", "MUTAG", "--model", "wl_subtree"], "wl-subtree"),
    ],
)
def test_a_mistyped_name_is_guessed(command, smiles, people, tmp_path, words, meant):
    places = {"SMILES": str(smiles), "PEOPLE": str(people)}
    out = ["--out", tmp_path / "run"] if words[0] == "train" else []
    ended = command(*(places.get(word, word) for word in words), *out)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"did you mean '{meant}'?" in ended.err, ended.err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("colour", "color"),
        ("COLOR", "color"),
        ("wl_rdf", "wl-rdf"),
        (" color ", "color"),
        ("zzz", None),
        (3, None),
        (None, None),
    ],
)
def test_the_closest_name_is_found_whatever_its_case(name, meant):
    assert closest(name, ["color", "wl-rdf", 7, None]) == meant


def test_among_very_many_names_only_case_is_guessed():
    many = [f"name{number}" for number in range(6000)]
    assert closest("NAME17", many) == "name17"
    assert closest("nam17", many) is None
    assert closest("x" * 10_000, many) is None


def test_suggestions_stand_behind_a_complaint_or_give_way():
    assert suggestion("colour", ["color"]) == "; did you mean 'color'?"
    assert suggestion("zzz", ["color"]) == ""
    assert suggestion_or("zzz", ["color"], "there is color") == "there is color"


@pytest.mark.parametrize(
    "words",
    [["--help"], ["train", "--help"], ["datasets"], ["trian"], ["datasets", "show", "MUTAG"]],
)
def test_a_pipe_gets_no_escapes(command, monkeypatch, words):
    for name in ABOUT_COLOR:
        monkeypatch.delenv(name, raising=False)
    ended = command(*words)
    assert ended.out + ended.err
    assert ESCAPE not in ended.out + ended.err


COLOR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7])(?:;\d+)*m")
MARK = "--- next ---"
#: Runs commands one after the other, each with its own environment, and a mark behind each.
SEVERAL = f"""
import json, os, sys
from edgnn.cli import main

for words, environment in json.loads(sys.argv[1]):
    before = dict(os.environ)
    os.environ.update(environment)
    sys.argv = ["edgnn", *words]
    try:
        main()
    except SystemExit:
        pass
    os.environ.clear()
    os.environ.update(before)
    print({MARK!r}, flush=True)
"""


def on_terminal(*runs):
    """What commands write on a terminal, each with its own environment."""
    pty = pytest.importorskip("pty", reason="there are no terminals here")
    plain = {name: value for name, value in os.environ.items() if name not in ABOUT_COLOR}
    lead, side = pty.openpty()
    with subprocess.Popen(
        [
            warm_python(),
            "-c",
            SEVERAL,
            json.dumps([(list(map(str, words)), environment) for words, environment in runs]),
        ],
        env=plain | {"TERM": "xterm-256color", "COLUMNS": "100"},
        stdin=side,
        stdout=side,
        stderr=side,
        close_fds=True,
    ) as process:
        os.close(side)
        written = bytearray()
        while True:
            try:
                piece = os.read(lead, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        process.wait()
    os.close(lead)
    *told, rest = written.decode().split(MARK)
    assert (len(told), rest.strip()) == (len(runs), ""), rest
    return told


def test_help_on_a_terminal_has_colors_unless_asked_for_none():
    words = ("train", "--help")
    plain, bare, dumb = on_terminal(
        (words, {}), (words, {"NO_COLOR": "1"}), (words, {"TERM": "dumb"})
    )
    assert COLOR.search(plain)
    assert "layers" in bare
    assert not COLOR.search(bare)
    assert "--layers" in dumb
    assert ESCAPE not in dumb


@pytest.mark.slow
def test_tables_and_progress_keep_to_no_color_and_dumb_terminals(molecules, tmp_path):
    training = (
        "train",
        molecules,
        "--out",
        tmp_path / "run",
        "--overwrite",
        "--max-epochs",
        5,
        "--hidden",
        8,
    )
    doctor = ("doctor", "--no-self-test")
    plain, bare, dumb, green, examined = on_terminal(
        (training, {}),
        (training, {"NO_COLOR": "1"}),
        (training, {"TERM": "dumb"}),
        (doctor, {}),
        (doctor, {"NO_COLOR": "1"}),
    )
    assert COLOR.search(plain)
    assert ESCAPE in bare, "the line of progress is still drawn anew"
    assert not COLOR.search(bare)
    assert "training loss" in dumb
    assert ESCAPE not in dumb
    assert COLOR.search(green)
    assert "Machine" in examined
    assert not COLOR.search(examined)


def test_the_example_of_a_color_is_one():
    assert COLOR.search("\x1b[1;32mok\x1b[0m")
    assert not COLOR.search("\x1b[1mok\x1b[0m\x1b[2K")


@pytest.mark.parametrize("words", [("--help",), ("train", "--help"), ("wl", "compare", "--help")])
def test_flags_are_not_shown_as_options_that_take_a_value(command, words):
    assert "bool" not in command(*words).out


def test_options_and_parameters_are_read_by_one_rule(command, molecules, tmp_path):
    """Words that are numbers, lists or names mean the same behind -o and --set."""
    for words, read in (
        (("--set", "clip_norm=-1"), "clip_norm=-1"),
        (("--set", "clip-norm=0.5x"), "clip_norm='0.5x'"),
        (("--set", "clip_norm=007"), "clip_norm='007'"),
        (("--set", "clip_norm=nan"), "clip_norm='nan'"),
        (("--set", "clip_norm=1,b"), "clip_norm='b'"),
    ):
        ended = command("train", molecules, "--out", tmp_path / "run", *words)
        assert (ended.code, read in ended.err) == (2, True), ended.err
    (tmp_path / "a.csv").write_text("a;b;007\nCC;1;2\nCCC;2;3\n")
    options = ("-o", "smiles=a", "-o", "delimiter=;", "-o", "target=007")
    shown = json.loads(command("datasets", "show", tmp_path / "a.csv", *options, "--json").out)
    assert shown["statistics"]["graphs"] == 2
