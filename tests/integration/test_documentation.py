import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from edgnn.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
NOT_RUN = "<!-- not run"


def names(page):
    return str(page.relative_to(ROOT))


def blocks(page, language):
    """Yield the code blocks of a page, except those marked as needing the reader's own files."""
    for match in re.finditer(rf"(?P<before>[^\n]*)\n```{language}\n(?P<code>.*?)```", page.read_text(encoding="utf-8"), re.S):
        if NOT_RUN not in match["before"]:
            yield match["code"]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_within_the_repository_exist(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)  # SMILES look like links
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{target} does not exist"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_python_examples_run(page, tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_commands_and_their_options_exist(page):
    text = page.read_text(encoding="utf-8")
    for code in re.findall(r"```(?:|sh|bash|console)\n(.*?)```", text, re.S):
        for line in code.splitlines():
            if line.startswith("edgnn "):
                check_command(shlex.split(line, comments=True)[1:])


def check_command(words):
    command = get_command(app)
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    options = {name for parameter in command.params for name in parameter.opts}
    for word in words:
        if word.startswith("--"):
            assert word in options, f"{command.name} has no option {word}"


def test_make_targets_named_in_the_pages_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        assert set(re.findall(r"^make ([a-z]+)", page.read_text(encoding="utf-8"), re.M)) <= targets


def test_no_page_names_a_path_of_one_machine():
    for page in PAGES:
        assert not re.search(r"(/home/|/root/|/Users/)", page.read_text(encoding="utf-8"))
