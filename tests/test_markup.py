"""HTML is escaped whatever it is made of, and the policy of a page allows exactly what is in it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from keyframer.markup import HtmlPage, escape, fragment, heading_row, opening, row, script, script_source, tag, verbatim

HOSTILE = "</script><script>alert(1)</script>&\"' onload=x \x1b[31m\u202e\x00"


class Reader(HTMLParser):
    """The tags with their attributes, and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_is_never_markup() -> None:
    made = fragment(
        HOSTILE,
        tag("p", HOSTILE, tag("b", HOSTILE), title=HOSTILE, data_name=HOSTILE),
        row([HOSTILE, None, 7]),
        heading_row([HOSTILE]),
    )
    read = Reader(made)
    assert [name for name, _ in read.tags] == ["p", "b", "tr", "td", "td", "td", "tr", "th"]
    assert read.tags[0][1].keys() == {"title", "data-name"}
    assert read.text.count("alert(1)") == 5
    assert "alert(1)" in str(read.tags[0][1]["title"])
    for unsafe in ("\x1b", "\x00", "\u202e"):
        assert unsafe not in made


def test_markup_is_not_escaped_twice() -> None:
    assert tag("p", tag("b", "1 < 2")) == "<p><b>1 &lt; 2</b></p>"
    assert escape(escape("a & b")) == "a &amp; b"
    assert len(escape("A" * 10_000, 300)) == 300


def test_attributes() -> None:
    assert opening("input", class_="a", aria_label="b", hidden=True, checked=False, value=None, size=0) == (
        '<input class="a" aria-label="b" hidden size="0">'
    )
    assert tag("img", alt="") == '<img alt="">'


@pytest.mark.parametrize("quote", ['"', "'"])
def test_verbatim_text_comes_back_from_an_attribute(quote: str) -> None:
    text = '<p title="a">a\'b & c\n\tx</p>'
    assert Reader(f"<i srcdoc={quote}{verbatim(text)}{quote}>").tags == [("i", {"srcdoc": text})]


def test_scripts_and_styles_cannot_end_early() -> None:
    assert "</script" not in script('let a = "</script>"').removesuffix("</script>")
    page = HtmlPage("t", style='a::after { content: "</style>" }').whole("text")
    assert page.count("</style") == 1


def hashes(page: str, name: str) -> list[str]:
    """The sources of a policy that the inline elements of a page need, computed as browsers do."""
    inside = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", page, re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in inside]


def test_policy_allows_what_is_in_the_page_and_nothing_else() -> None:
    program = 'document.title = "<!-- </script>";'
    page = HtmlPage(HOSTILE, {"script-src": script_source(program)}, "p { color: red }")
    whole = page.whole(tag("p", HOSTILE), script(program))
    read = Reader(whole)
    (policy,) = [dict(attrs)["content"] for name, attrs in read.tags if "http-equiv" in attrs]
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))
    assert rules == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "style-src": hashes(whole, "style")[0],
        "script-src": hashes(whole, "script")[0],
    }
    assert whole.index("Content-Security-Policy") < whole.index("<title>")
    assert HtmlPage("t").policy == "default-src 'none'; base-uri 'none'; form-action 'none'"
