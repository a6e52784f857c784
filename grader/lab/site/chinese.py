"""Line breaks in Chinese text, which HTML shows as spaces, and classes of characters for regular expressions."""

from __future__ import annotations

import re

CHARACTER = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
PUNCTUATION = r"[\u3001-\u3011\uff01-\uff5e\u201c\u201d]"  # which has its own space

_BLOCK = r"[-*+] |\d+\. |[|>#\s]|\$\$|```|<!--"  # what a new paragraph, or an item of a list, begins with
_BREAK_IN_CHINESE = re.compile(  # outside of code; in a list, lines are indented
    r"((?s:```.*?```))|"
    rf"(?<={CHARACTER})\n *(?=\*{{0,2}}{CHARACTER})|(?<={PUNCTUATION})\n *(?!{_BLOCK}|$)|(?<=\S)\n *(?={PUNCTUATION})"
)


def unbroken(text: str) -> str:
    """A text without line breaks where Chinese has no space: HTML shows a break as one."""
    return _BREAK_IN_CHINESE.sub(r"\1", text)
