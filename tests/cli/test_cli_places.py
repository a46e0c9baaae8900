import json

import pytest

import edgnn
from edgnn.errors import DatasetError, RunError
from edgnn.training import RunFolder

SPOKEN = """
import contextlib, io, json, sys
from edgnn.cli import main
said = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["edgnn", *words]
    stream = io.StringIO()
    with contextlib.redirect_stderr(stream):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    said.append([code, stream.getvalue(), sorted({"torch", "numpy", "rdkit"} & set(sys.modules))])
print(json.dumps(said))
"""

NEITHER = "'nosuch.csv' is neither a data set's name nor an existing file; `edgnn datasets` lists the names"


def test_paths_that_are_wrong_are_told_before_torch_is_imported(
    run_python, molecules, smiles, tmp_path
):
    run, file, full, new = (tmp_path / name for name in ("run", "file", "full", "new"))
    RunFolder.create(run, {})
    file.write_text("")
    for folder, name in (
        (full, "mine.txt"),
        (tmp_path / "model", "model.pt2"),
        (tmp_path / "model", "labels.json"),
    ):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("")
    cases = [
        (("predict", "nosuch", "new.csv"), "there is no folder nosuch"),
        (("predict", file, smiles), f"{file} is a file, not the folder of a run"),
        (("predict", full, smiles), f"{full} is not the folder of a run: it has no config.json"),
        (("predict", run, "nosuch.csv"), "there is no file or data set 'nosuch.csv'"),
        (("predict", run, smiles, "--out", full), f"--out {full} is a folder; name a file"),
        (("predict", run, smiles, "--nodes", "nosuch"), "there is no file 'nosuch'"),
        (("explain", "nosuch", smiles), "there is no folder nosuch"),
        (("explain", run, "nosuch.sdf.gz"), "there is no file or data set 'nosuch.sdf.gz'"),
        (("serve", "nosuch"), "there is no folder nosuch"),
        (("serve", run, "--source", "nosuch.ttl"), "there is no file or data set 'nosuch.ttl'"),
        (("export", "nosuch", "--out", new), "there is no folder nosuch"),
        (
            ("export", run, "--out", full),
            f"{full} exists and is no exported model: name a new or empty folder",
        ),
        (
            ("export", run, "--out", tmp_path / "model"),
            "holds an exported model already: choose another folder",
        ),
        (("train", "nosuch.csv", "--out", new, "-t", "y"), NEITHER),
        (("train", smiles, "-t", "kind", "--out", run), f"{run} already holds a run: "),
        (
            ("train", smiles, "-t", "kind", "--out", full),
            f"{full} is not empty and no run of edgnn (it holds 'mine.txt')",
        ),
        (
            ("train", smiles, "-t", "kind", "--out", file),
            f"cannot create {file}: there is a file of that name",
        ),
        (
            ("train", smiles, "-t", "kind", "--out", file / "a"),
            f"cannot create {file / 'a'}: {file} is a file; choose",
        ),
        (
            ("train", molecules, "--target-file", "nosuch.tsv", "--out", new),
            "nosuch.tsv: No such file or directory",
        ),
        (
            ("train", molecules, "-o", "nodes=nosuch.csv", "--out", new),
            "nosuch.csv: No such file or directory",
        ),
        (("evaluate", "nosuch.csv"), NEITHER),
        (
            ("evaluate", molecules, "--target-file", "nosuch.tsv"),
            "nosuch.tsv: No such file or directory",
        ),
        (("evaluate", molecules, "--out", full), f"--out {full} is a folder; name a file"),
        (("datasets", "show", "nosuch.csv"), NEITHER),
        (("convert", "nosuch.csv", new), NEITHER),
    ]
    said = json.loads(run_python(SPOKEN, json.dumps([list(map(str, words)) for words, _ in cases])))
    for (words, rule), (code, err, loaded) in zip(cases, said, strict=True):
        assert (code, err.count("\n"), loaded) == (2, 1, []), (words, err)
        assert rule in err
    assert not new.exists()


@pytest.mark.parametrize("word", ["made.csv", "new.nt.gz", "MUTAG-RDF.nt"])
def test_a_word_that_ends_like_a_file_is_reported_as_by_the_library(command, tmp_path, word):
    RunFolder.create(tmp_path / "run", {})
    with pytest.raises(DatasetError) as library:
        edgnn.load_dataset(word)
    assert command("train", word, "--out", tmp_path / "new").err == f"edgnn: {library.value}\n"
    assert "there is no file or data set" in command("predict", tmp_path / "run", word).err


def test_folders_are_refused_in_the_words_of_the_run_folder(command, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    for name in ("a", "b", "c", "d"):
        (tmp_path / "full" / name).write_text("")
    RunFolder.create(tmp_path / "run", {})
    for path in (tmp_path / "nowhere", tmp_path / "file", tmp_path / "full"):
        with pytest.raises(RunError) as library:
            RunFolder.open(path)
        assert command("predict", path, "MUTAG").err == f"edgnn: {library.value}\n"
    for path in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / "full", tmp_path / "run"):
        with pytest.raises(RunError) as library:
            RunFolder.create(path, {})
        assert command("train", "MUTAG", "--out", path).err == f"edgnn: {library.value}\n"


def test_what_a_killed_run_left_does_not_keep_a_new_one_away(command, molecules, tmp_path):
    (tmp_path / ".edgnn.lock").write_text("")
    words = ("--max-epochs", 1, "--hidden", 2, "--quiet")
    assert command("train", molecules, "--out", tmp_path, *words).code == 0
