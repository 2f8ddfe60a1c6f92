"""Hooks of mkdocs for the site of docs/ (mkdocs.yml)."""

import pathlib
import posixpath
import re

from mkdocs.exceptions import PluginError

SOURCE = "https://github.com/mcpchain/mcpchain/blob/main/"


def on_page_markdown(markdown, page, **_):
    """The home begins as the README of the repository does. Links that lead out of docs/ lead to the repository."""
    if page.file.src_path == "README.md":
        first = pathlib.Path("README.md").read_text(encoding="utf-8").split("\n## ", 1)[0]
        first = re.sub(r"\]\((?!https?:|#)([^)]*)\)", lambda link: "](" + posixpath.relpath(link[1], "docs") + ")", first)
        markdown = first + "\n" + re.sub(r"^# .*\n", "\n", markdown)
    return re.sub(r"\]\(\.\./([^)]*)\)", lambda link: "](" + SOURCE + posixpath.normpath(link[1]) + ")", markdown)


def on_post_build(config, **_):
    """Every link within the site leads to a file, and to a heading if it names one."""
    site = pathlib.Path(config["site_dir"])
    for page in site.glob("*.html"):
        if page.name == "404.html":  # its links begin at the root of the host
            continue
        for path, anchor in re.findall(r'href="([^":#]*)(?:#([^"]*))?"', page.read_text(encoding="utf-8")):
            target = page if path in ("", ".") else page.parent / path
            if not target.exists():
                raise PluginError(f"{page.name} leads to {path}, which there is not")
            if anchor and f'id="{anchor}"' not in target.read_text(encoding="utf-8"):
                raise PluginError(f"{page.name} leads to {path}#{anchor}, which there is not")
