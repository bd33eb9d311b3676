"""Convert HTML on standard input to Markdown on standard output, in a process of its own.

Anyone can write a page, and its parser is written in C. A separate process can be stopped in time, and a crash stays in
it. `web_reader` starts this file by its path; it knows nothing else of Prowess.

The arguments are the URL of the page, the character set that the server names (may be empty), and the folders to import
modules from.
"""

from __future__ import annotations

import sys
from urllib.parse import urljoin

_MEMORY_LIMIT_BYTES = 2 << 30
_REMOVED_TAGS = [
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "math",
    "iframe",
    "object",
    "canvas",
    "form",
    "dialog",
]
_LINK_SCHEMES = ("http://", "https://", "mailto:")


def main(page: bytes, url: str, charset: str) -> str:
    """Convert a page to Markdown, with its title first."""
    from bs4 import BeautifulSoup, Comment, Tag
    from bs4.dammit import UnicodeDammit
    from markdownify import MarkdownConverter

    text = UnicodeDammit(page, [charset] if charset else [], is_html=True).unicode_markup
    soup = BeautifulSoup(text or page.decode("utf-8", "replace"), "lxml")
    title = " ".join(soup.title.get_text().split())[:300] if soup.title is not None else ""
    base = soup.find("base", href=True)
    start = urljoin(url, str(base["href"])) if isinstance(base, Tag) else url
    for tag in soup.find_all([*_REMOVED_TAGS, "head"]):
        tag.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    # A reader of the page does not see hidden elements, so instructions for a model are often in them.
    for tag in soup.find_all(lambda tag: tag.has_attr("hidden") or tag.get("aria-hidden") == "true"):
        if not tag.decomposed:
            tag.decompose()
    for tag in soup.find_all("img"):
        tag.replace_with(f"[image: {alt}]" if (alt := " ".join(str(tag.get("alt") or "").split())) else "")
    for tag in soup.find_all("a", href=True):
        try:
            tag["href"] = urljoin(start, str(tag["href"]).strip())
        except ValueError:
            tag["href"] = ""
        if not str(tag["href"]).startswith(_LINK_SCHEMES):
            del tag["href"]
    try:
        converter = MarkdownConverter(heading_style="ATX", bullets="-", escape_misc=False, wrap=False)
        text = str(converter.convert_soup(soup))
    except RecursionError:
        text = soup.get_text(" ")
    lines = [line.rstrip() for line in text.splitlines()]
    kept_lines = [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]
    return "\n".join([*([f"# {title}", ""] if title else []), *kept_lines]).strip()


def limit_memory() -> None:
    """Limit the memory of this process."""
    try:
        import resource
    except ImportError:
        return
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (OSError, ValueError):
        return


if __name__ == "__main__":
    limit_memory()
    sys.path[:] = sys.argv[3:]
    sys.stdout.buffer.write(main(sys.stdin.buffer.read(), *sys.argv[1:3]).encode("utf-8", "replace"))
