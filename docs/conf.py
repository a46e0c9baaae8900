"""The documentation site: Sphinx, pages in Markdown (MyST), the furo theme. Nothing is fetched, neither here nor by a reader."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from pygments.lexers.special import TextLexer

import edgnn

project = "edgnn"
author = "The edgnn developers"
copyright = author  # noqa: A001 - the name that Sphinx reads
version = release = edgnn.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "commands",
    "mathml",
    "repository",
    "package",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
highlight_language = "none"
smartquotes = False  # it would make a dash of the two of an option
nitpicky = True
nitpick_ignore_regex = [
    # Names of other packages and of Python itself: their inventories would have to be downloaded.
    (
        "py:.*",
        r"(torch|numpy|np|scipy|sklearn|networkx|rdkit|torch_geometric|pyarrow|fastapi|collections|contextlib|os|pathlib|_thread)\..*",
    ),
    ("py:class", "FastAPI|Path|RandomForestClassifier|Tensor"),
    # Types of signatures that live in private modules; the docstrings say what they stand for.
    ("py:.*", r"edgnn(\.\w+)*\._\w+\.\w+"),
    ("py:class", "Answer|Direction|Exported|Multiplicity|Path_|Reordered"),
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = (
    "off"  # notebooks show their stored outputs; tests/integration/test_notebooks.py runs them
)
nb_ipywidgets_js = {}
suppress_warnings: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = False
napoleon_custom_sections = ["Shapes", ("Attributes", "params_style")]
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "edgnn"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["edgnn.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "tango"
pygments_dark_style = "monokai"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d8a", "color-brand-content": "#0b5d8a"},
    "dark_css_variables": {"color-brand-primary": "#6cc5f0", "color-brand-content": "#6cc5f0"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Show tables as they are: Pygments knows no CSV."""
    for name in ("csv", "tsv"):
        app.add_lexer(name, TextLexer)
