"""Every code block of the documentation is run, page by page, in the order of the page.

How to write a page:

- Give every block a language. ``python`` blocks of a page share one namespace, warnings being errors. ``sh`` blocks are run by
  ``bash -euo pipefail``, each by one of its own; in ``console`` blocks commands stand behind ``$ ``, and what follows them is what
  they print. All are run in one folder, which is that of a fresh clone (without src): ``examples``, ``docs``, ``benchmarks``,
  ``Makefile`` are there. ``python examples/sample_files.py`` writes small files that examples can use.
- A comment directly above a block says what else is to be done with it:

  ``<!-- file: job.py -->``        the block is the content of this file, for later blocks of the page, which must use it
  ``<!-- prints -->``              above a ``text`` block: what the block before it prints; … stands for anything within a line,
                                   alone on a line for any lines; ``<!-- prints: numbers may differ -->``, where they may
  ``<!-- tested as: edgnn … -->``  too long for a test: these commands are run instead, the same ones, smaller, on one line
                                   or several
  ``<!-- background: 8000 -->``    a server, one command: goes on until the page ends. The test gives it a free port by
                                   ``--port``, and reads ``:8000`` in later blocks as that port
  ``<!-- not run: reason -->``     only where nothing can be run (an index of packages, another machine). ``NOT_RUN`` below
                                   has their number, page by page

- Other languages (``text``, ``json``, ``toml``, ``csv``, ``turtle`` …) show something; no commands hide in them.
- A page whose blocks name a data set other than MUTAG is skipped where the real data is absent.
- A page takes less than half a minute.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.main import get_command

from documentation_blocks import ROOT, SHELL, blocks, command_lines, command_of, pages
from documentation_runs import PageRun, dialogue, expect
from edgnn.cli import app
from warm_python import warm_programs

PAGES = pages()
NOT_RUN = {
    "README.md": 1,
    "docs/quickstart.md": 1,
    "docs/reproduce.md": 1,
    "docs/scale.md": 2,
}  # where this grows, a reader meets commands that nobody has tried
SHOWN_ONLY = {"bibtex", "csv", "html", "json", "text", "toml", "tsv", "turtle", "yaml"}
REAL_DATA = re.compile(r"\b(AIFB|MUTAG-RDF|PTC_[A-Z]+)\b")


def names(page):
    return str(page.relative_to(ROOT))


def runs(page):
    return re.search(r"```(python|sh|console)\n", page.read_text(encoding="utf-8"))


def needs_real_data(found):
    return any(block.runs and REAL_DATA.search(re.sub(r"#.*", "", block.tested)) for block in found)


def test_a_newcomer_needs_no_data_but_what_is_installed():
    for page in ("README.md", "docs/quickstart.md", "docs/molecules.md", "docs/tables.md"):
        assert not needs_real_data(blocks(ROOT / page)), (
            f"{page} names data that may have to be fetched"
        )
    assert needs_real_data(blocks(ROOT / "docs" / "nodes.md"))


@pytest.mark.slow
@pytest.mark.timeout(900)  # half a minute where nothing else runs
@pytest.mark.parametrize("page", [page for page in PAGES if runs(page)], ids=names)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, request):
    found = blocks(page)
    if needs_real_data(found):
        request.getfixturevalue("data_dir")
    run = PageRun(tmp_path, warm_programs())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", run.module)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for block in found:
            run.run(block)
    finally:
        torch.set_num_threads(threads)
        run.close()


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_block_has_a_language_that_is_run_or_only_shown(page):
    for block in blocks(page):
        assert block.language in {"python", *SHELL} | SHOWN_ONLY, (
            f"{block.place}: what language is {block.language!r}?"
        )
        if block.language in SHOWN_ONLY and "prints" not in block.notes:
            assert not list(command_lines(block.code)), (
                f"{block.place}: commands belong in a block of sh or console"
            )


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_no_block_is_left_out_without_a_reason_and_the_count(page):
    left = [block for block in blocks(page) if "not run" in block.notes]
    for block in left:
        assert len(block.notes["not run"].split()) > 1, f"{block.place}: say why it is not run"
    assert len(left) == NOT_RUN.get(names(page), 0), (
        f"not run: {[block.place for block in left]}; NOT_RUN has their number"
    )


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_a_shortened_form_has_all_commands_of_its_block(page):
    for block in blocks(page):
        if "tested as" in block.notes:
            assert block.language in SHELL, f"{block.place}: only commands have a shortened form"
            tested = {command_of(words) for words in command_lines(block.notes["tested as"])}
            for words in command_lines(block.code):
                assert command_of(words) in tested, (
                    f"{block.place}: {' '.join(words)} is not in what is tested"
                )


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_files_that_a_page_shows_are_used_by_it(page):
    found = blocks(page)
    for place, block in enumerate(found):
        if "file" in block.notes:
            file = Path(block.notes["file"])
            later = "".join(
                other.tested for other in found[place + 1 :] if other.runs or "file" in other.notes
            )
            assert any(str(name) in later for name in (file, *file.parents[:-1])), (
                f"{block.place}: no later block uses this file"
            )


def test_readme_and_quick_start_can_be_followed_in_one_folder():
    made = [
        words[words.index("--out") + 1]
        for page in ("README.md", "docs/quickstart.md")
        for block in blocks(ROOT / page)
        if block.language in SHELL
        for words in command_lines(block.code)
        if words[:2] == ["edgnn", "train"]
    ]
    assert made
    assert len(set(made)) == len(made), "a run is not written over another without --overwrite"


def test_no_page_writes_into_the_folders_of_another():
    owners = {}
    for page in PAGES:
        for block in blocks(page):
            for words in command_lines(block.code) if block.language == "sh" else ():
                if (
                    words[:1] == ["edgnn"]
                    and words[1:2] in (["train"], ["export"])
                    and "--out" in words
                ):
                    folder = words[words.index("--out") + 1]
                    assert owners.setdefault(folder, page) == page, (
                        f"{folder} is a folder of {owners[folder]} and of {page}"
                    )
    assert len(owners) > 10


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_commands_and_their_options_exist(page):
    for block in blocks(page):
        if block.language in SHELL:
            for words in command_lines(block.code):
                if "edgnn" in words:
                    check_command(words[words.index("edgnn") + 1 :], block.place)


def check_command(words, place):
    command = get_command(app)
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words[0]]
        words = words[1:]
    options = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help"}
    for word in words:
        if word.startswith("--"):
            assert word.split("=")[0] in options, f"{place}: {command.name} has no option {word}"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_within_the_repository_exist(page):
    prose = re.sub(
        r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S
    )  # SMILES look like links
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{target} does not exist"


def test_make_targets_named_in_the_pages_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for page in PAGES:
        assert set(re.findall(r"^make ([a-z]+)", page.read_text(encoding="utf-8"), re.M)) <= targets


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_demo_of_the_makefile_runs_when_shortened(tmp_path):
    recipe = subprocess.run(
        ["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    commands = [
        line.replace(".venv/bin/edgnn", "edgnn")
        for line in recipe.splitlines()
        if line.startswith(".venv/bin/edgnn")
    ]
    assert [command_of(words) for words in command_lines("\n".join(commands))] == [
        ("edgnn", "reproduce"),
        ("edgnn", "report"),
    ]
    PageRun(tmp_path, warm_programs())._shell(
        "\n".join([commands[0] + " --models majority,wl-subtree --runs 1", *commands[1:]]),
        "Makefile",
    )
    assert (tmp_path / "demo" / "report.html").is_file()


def test_pages_in_restructured_text_have_no_code():
    for page in ROOT.glob("docs/**/*.rst"):
        assert not re.search(
            r"(code-block|doctest|literalinclude)::|::\n\n ", page.read_text(encoding="utf-8")
        ), names(page)


def test_no_page_names_a_path_of_one_machine():
    for page in PAGES:
        assert not re.search(r"(/home/|/root/|/Users/)", page.read_text(encoding="utf-8"))


def test_what_a_page_shows_is_compared_with_what_is_printed():
    expect("a … c\n…\nend", "a b c\nmore\nlines\nend\n", "here")
    expect("…", "", "here")
    with pytest.raises(AssertionError, match="but this is what is printed"):
        expect("a … c", "a b d\n", "here")
    with pytest.raises(AssertionError, match="but this is what is printed"):
        expect("a", "a\nb\n", "here")


def test_numbers_may_differ_where_the_page_says_so():
    expect("a 12,000 ██ 0.5\nb,1e-05", "a 7     █ 12.25\nb,0.99", "here", numbers=False)
    with pytest.raises(AssertionError, match="but this is what is printed"):
        expect("a 1", "b 1", "here", numbers=False)
    with pytest.raises(AssertionError, match="but this is what is printed"):
        expect("a 1", "a 2", "here")


def test_a_console_block_is_commands_and_what_they_print():
    assert dialogue("$ one \\\n  --more\nprinted\n$ two\n") == [
        ("one \\\n  --more\n", "printed\n"),
        ("two\n", ""),
    ]
    with pytest.raises(AssertionError, match="begins with a command"):
        dialogue("printed\n")


def run_all(text, folder):
    folder.mkdir(exist_ok=True)
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    run = PageRun(folder)
    for block in blocks(page):
        run.run(block)
    return run


def test_blocks_of_a_page_build_on_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = "<!-- tested as: echo $(cat a.txt) b -->\n```sh\nsleep 1000\n```\n<!-- prints -->\n```text\na b\n```\n"
    run = run_all(
        f"<!-- file: a.txt -->\n```text\na\n```\n{told}```python\nx = 1\n```\n\n```python\nprint(x)\n```\n",
        tmp_path,
    )
    assert run.printed == "1\n"


def test_what_fails_is_named_by_its_place_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=r"page\.md:3 ended with 7"):
        run_all("one\n\n```sh\n(exit 7)\ntrue\n```\n", tmp_path / "a")
    with pytest.raises(ZeroDivisionError) as error:
        run_all("```python\nx = 1\nx / 0\n```\n", tmp_path / "b")
    assert error.traceback[-1].lineno == 2


def test_comments_above_a_block_are_known_and_blocks_are_closed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- note run: x -->\n```sh\nls\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="not 'note run'"):
        blocks(page)
    page.write_text("```sh\nls\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="never closed"):
        blocks(page)


def test_blocks_inside_directives_and_lists_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "````{note}\n```python\n1\n```\n````\n\n- item\n  <!-- not run: no\n  device -->\n  ```sh\n  ls\n  ```\n"
    )
    assert [(block.language, block.code, block.line) for block in blocks(page)] == [
        ("python", "1\n", 2),
        ("sh", "ls\n", 10),
    ]
    assert blocks(page)[1].notes == {"not run": "no\n  device"}
