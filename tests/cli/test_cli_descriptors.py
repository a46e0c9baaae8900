"""--descriptors: columns of numbers beside molecules, from training to predictions."""

import json

import pytest

QUICK = ("--max-epochs", 1, "--hidden", 4)


@pytest.fixture
def doses(tmp_path):
    rows = [f"{'C' * (n % 5 + 1)},{n % 2},{n / 4},{-n},x{n}" for n in range(12)]
    path = tmp_path / "doses.csv"
    path.write_text("smiles,y,dose_a,dose_b,batch\n" + "\n".join(rows) + "\n")
    return path


def options_of(run):
    return json.loads((run / "config.json").read_text())["source"]["options"]


def test_descriptors_are_read_stored_by_name_and_carried_to_new_files(command, doses, tmp_path):
    run = tmp_path / "run"
    ended = command("train", doses, "-t", "y", "--descriptors", "dose_*", "--out", run, *QUICK)
    assert (ended.code, ended.err.count("warning")) == (0, 0)
    assert "columns not used: batch" in ended.out
    assert options_of(run)["descriptors"] == ["dose_a", "dose_b"]
    new = tmp_path / "new.csv"
    new.write_text("smiles,dose_c,dose_b,dose_a\nCCO,9,1,2\nCCN,9,,3\n")
    ended = command("predict", run, new)
    assert ended.code == 3
    assert ",9,1,2," in ended.out
    assert "the descriptor 'dose_b' is empty" in ended.out + ended.err
    new.write_text("smiles,dose_a\nCCO,9\n")
    ended = command("predict", run, new)
    assert ended.code == 2
    assert "there is no column 'dose_b', which descriptors= names" in ended.err


def test_a_run_resumes_with_the_descriptors_it_began_with(command, doses, tmp_path):
    run = tmp_path / "run"
    first = ("train", doses, "-t", "y", "--descriptors", "dose_a,dose_b", "--out", run)
    assert command(*first, *QUICK).code == 0
    assert command("train", "--out", run, "--resume").code == 0
    ended = command(*first[:5], "dose_a", "--out", run, "--resume")
    assert ended.code == 2
    assert "the data is not what" in ended.err


def test_evaluate_takes_descriptors_and_a_config_file_may_name_them(command, doses, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('descriptors = ["dose_a"]\n')
    for given in (("--descriptors", "dose_a"), ("--config", config)):
        ended = command("evaluate", doses, "-t", "y", *given, "--protocol", "cv2x1", *QUICK)
        assert ended.code == 0
        assert "columns not used: dose_b, batch" in ended.out


def test_files_of_other_formats_have_no_descriptors(command, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    ended = command(
        "train", tmp_path / "edges.csv", "--descriptors", "x", "--out", tmp_path / "run"
    )
    assert ended.code == 2
    assert "has no option 'descriptors'" in ended.err
