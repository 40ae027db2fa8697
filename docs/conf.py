"""How Sphinx makes the site: `make site`, into build/site."""

from __future__ import annotations

from headgate import __version__

project = "headgate"
copyright = "the headgate authors"
version = release = __version__

extensions = [
    "myst_parser",
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
myst_heading_anchors = 6
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

external_toc_path = "_toc.yml"
