"""How Sphinx makes the site: `make site`, into build/site."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from docs.api_pages import names_internals, shown_paths
from headgate import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "headgate"
copyright = "the headgate authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_external_toc",
    "sphinxcontrib.mermaid",
]
exclude_patterns = ["results"]
html_theme = "furo"
html_title = f"headgate {version}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False

# Markdown, as the repository shows it.
myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Docstrings: text in backticks is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False
add_module_names = False
python_use_unqualified_type_names = True

external_toc_path = "_toc.yml"


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", name_bases)
    app.connect("autodoc-process-signature", hide_signature)


def name_bases(app: Sphinx, what: str, name: str, found: object, *others: Any) -> None:
    """Begin the text of a class with those of its base classes that have a page."""
    if isinstance(found, type):
        paths = shown_paths()
        bases = [f":class:`~{paths[base]}`" for base in found.__mro__[1:] if base in paths]
        lines: list[str] = others[-1]
        lines[:0] = [f"Extends {', '.join(bases)}.", ""] if bases else []


def hide_signature(app: Sphinx, what: str, name: str, found: object, *others: object) -> tuple[str, str] | None:
    """Leave out the parameters of a class that programs get, and do not make."""
    if not isinstance(found, type):
        return None
    is_hidden = inspect.isabstract(found) or names_internals(inspect.getattr_static(found, "__init__"))
    return ("", "") if is_hidden else None
