"""HTML: elements whose text is always escaped, and pages whose policy allows only what they contain.

All HTML and SVG that this package makes is made here: text from files is never markup.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keyframer.text import safe_text, shortened

_REPLACED = (
    *(("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")),
    *(("\ufffe", "\ufffd"), ("\uffff", "\ufffd")),  # not allowed in XML, which SVG is
)
_EMPTY = frozenset({"br", "img", "input", "link", "meta"})
"""elements without content, which HTML does not close"""


class Markup(str):
    """Text that is markup already: it is not escaped again."""

    __slots__ = ()


def escape(value: object, most: int | None = None) -> Markup:
    """Return a value as text in markup: safe to show, escaped, shortened to ``most`` characters; None is no text."""
    if isinstance(value, Markup):
        return value
    text = "" if value is None else str(value)
    return verbatim(safe_text(text) if most is None else shortened(text, most))


def verbatim(text: str) -> Markup:
    """Return text in markup as it is, with its line breaks and control characters."""
    for character, entity in _REPLACED:
        text = text.replace(character, entity)
    return Markup(text)


def fragment(*content: object) -> Markup:
    """Return markup and text, which is escaped, one after the other."""
    return Markup("".join(map(escape, content)))


def opening(name: str, /, **attributes: object) -> Markup:
    """Return the first tag of an element.

    An underscore in the name of an attribute stands for ``-``, one at its end for nothing (``class_``). An attribute is
    left out if it is None or False, and has no value if it is True.
    """
    words = [name]
    for attribute, value in attributes.items():
        if value is not None and value is not False:
            key = attribute.rstrip("_").replace("_", "-")
            words.append(key if value is True else f'{key}="{escape(value)}"')
    return Markup(f"<{' '.join(words)}>")


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element with its content: markup, or text, which is escaped. The attributes are those of `opening`."""
    end = "" if name in _EMPTY else f"</{name}>"
    return Markup(f"{opening(name, **attributes)}{fragment(*content)}{end}")


def heading_row(names: Iterable[object]) -> Markup:
    """Return the first row of a table."""
    return tag("tr", *(tag("th", name, scope="col") for name in names))


def row(cells: Iterable[object], **attributes: object) -> Markup:
    return tag("tr", *(tag("td", cell) for cell in cells), **attributes)


def script(text: str, **attributes: object) -> Markup:
    """Return a script in the page.

    ``</script``, ``<script`` and ``<!--``, with which HTML could end it or hide its end, are escaped; the program stays
    the same.
    """
    return tag("script", Markup(_in_script(text)), **attributes)


def _in_script(text: str) -> str:
    return re.sub(r"<(?=/script|script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _in_style(text: str) -> str:
    return re.sub("</(?=style)", r"<\\/", text, flags=re.IGNORECASE)


def script_source(text: str) -> str:
    """Return the source for a policy that allows this script."""
    return _source(_in_script(text))


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@dataclass(frozen=True)
class HtmlPage:
    """A page around its content. Its policy allows the given style, and only the sources named in ``sources``."""

    title: str
    sources: Mapping[str, str] = field(default_factory=dict)
    """the directives of the policy besides the usual ones: ``{"img-src": "'self'"}``"""
    style: str = ""
    """a style sheet in the page"""
    head: Sequence[Markup] = ()
    """more elements of the head"""
    css_class: str | None = None

    @property
    def policy(self) -> str:
        directives = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
        if self.style:
            directives["style-src"] = _source(_in_style(self.style))
        return "; ".join(f"{name} {value}" for name, value in {**directives, **self.sources}.items())

    def begin(self) -> Markup:
        """Return everything before the content. The policy comes first, because it governs what follows it."""
        head = (
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=Markup(self.policy)),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", self.title),
            *self.head,
            tag("style", Markup(_in_style(self.style))) if self.style else "",
        )
        lines = "\n".join(piece for piece in head if piece)
        body = opening("body", class_=self.css_class)
        return Markup(f"<!doctype html>\n{opening('html', lang='en')}<head>{lines}\n</head>{body}\n")

    def end(self) -> Markup:
        return Markup("</body></html>\n")

    def whole(self, *content: object) -> Markup:
        return Markup(f"{self.begin()}{fragment(*content)}{self.end()}")
