"""Fill in the template of a report.

The page is safe whatever the skills contain: every value is escaped for HTML, hidden characters are written as escapes,
no value becomes an attribute other than addresses and numbers of our own, and a policy in the page itself forbids
scripts, requests and any style but its own.
"""

from __future__ import annotations

import os
from functools import cache

from prowess._internal.files import package_folder
from prowess._internal.text import neutral

from ._content import page_content
from ._texts import escape_stacked_marks
from ._usage import usage_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    import jinja2

    from prowess.visibility import Comparison, Usage


def render_page(comparison: Comparison, *, note: str = "", usage: Usage | None = None) -> str:
    """Return a page that shows which agents see which skills, what is lost, and what to do.

    The same comparison gives the same text.

    Args:
        comparison: of the skills.
        note: a sentence about other skills.
        usage: which skills were used; without it the page has no part about that.

    Raises:
        ImportError: the extra `report` is not installed; the message says how to install it.
    """
    page: str = template("page.html", "page.css").render(page=page_content(comparison, note), use=usage_content(usage))
    return page


@cache
def template(name: str, *styles: str) -> jinja2.Template:
    """Return a template of this package with everything that is the same on all pages.

    Args:
        name: of its file.
        styles: the files of its style, which are joined.
    """
    try:
        import jinja2
        import markupsafe
    except ImportError:
        from prowess._internal.installer import missing_extra

        raise ImportError(missing_extra("Jinja2", "report", "a report"), name="jinja2") from None
    import prowess

    def make_safe(value: object) -> object:
        """Escape hidden characters of each value that the template prints."""
        return value if isinstance(value, markupsafe.Markup) else escape_stacked_marks(neutral(str(value)))

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=make_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = "".join(map(_read, styles))
    return environment.get_template(
        name,
        globals={
            "style": markupsafe.Markup(style),  # noqa: S704 - a file of this package
            "style_digest": _style_digest(style),
            "version": prowess.__version__,
        },
    )


def _read(name: str) -> str:
    with open(os.path.join(package_folder(), "report", name), encoding="utf-8") as file:
        return file.read()


def _style_digest(style: str) -> str:
    """Return the digest with which the page allows this style, as in a Content-Security-Policy."""
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
