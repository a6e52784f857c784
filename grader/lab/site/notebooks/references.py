"""Shows the works that a page cites: at a link under the pointer, and as a list at the end of the page."""

from __future__ import annotations

import html
import re
import tomllib

from . import sources

_LINK = re.compile(r'<a href="(https?://[^"]+)">(.*?)</a>', re.DOTALL)
_VERSION = re.compile(r"(?<=\d)v\d+$")


def works() -> dict[str, str]:
    """The works that the sources can cite, by the end of their address; none if the sources list none."""
    path = sources.SOURCES / "references.toml"
    found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def key(address: str) -> str:
    """The key in ``works`` of the work at an address."""
    return _VERSION.sub("", address.rstrip("/").rsplit("/", 1)[-1])


def shown(content: str) -> tuple[str, dict[str, str]]:
    """A page's content with a card beside each link to a known work, and these works by author, with their links."""
    known, cited = works(), dict[str, str]()

    def card(found: re.Match[str]) -> str:
        address = html.unescape(found[1])
        work = known.get(key(address))
        if work is None:
            return found[0]
        cited.setdefault(work, address)
        # The list has it for those who do not see the card.
        return f'<span class="cite">{found[0]}<span class="card" aria-hidden="true">{html.escape(work)}</span></span>'

    return _LINK.sub(card, content), dict(sorted(cited.items()))
