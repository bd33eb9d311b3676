"""Write what agents make of the skills on a machine as one page of HTML.

Front door: `render_page`, which turns a comparison of the catalogs of several hosts into the page, and
`render_answers`, which does so with the recorded runs of an eval. `_content` and
`_explanations` decide what the page says, `_states` how each state is called, `page.html` and `page.css` how it looks.
This package reads no skill. It needs the extra `report`, which is imported when a page is written.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._answers import render_answers as render_answers
    from ._page import render_page as render_page
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
