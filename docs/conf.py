"""How Sphinx makes the site: `make site`, into build/site."""

from headgate import __version__

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
autodoc_default_options = {"members": True, "show-inheritance": True}

external_toc_path = "_toc.yml"
