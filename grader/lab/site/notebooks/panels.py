"""Arranges the panels of a figure for a phone: stacks side-by-side panels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

ROOM = 300  # points across a phone, so that letters are about as large as those of the text
BAR = 20  # points: what is not as wide is a bar of colours, and belongs to the panel before it
EDGE = 8  # points beyond a panel, for half of its last label

_CHILD = re.compile(r'(?m)^(?=  <g id=")')  # as matplotlib indents the children of a figure
_NAME = re.compile(r'  <g id="([a-z]+)_(\d+)"')
_BOX = re.compile(r'<g id="patch_\d+">\s*<path d="M ([\d.]+) [\d.]+ \s*L ([\d.]+) ')
_TICK = re.compile(r'(?ms)^    <g id="ytick_\d+">.*?^    </g>')
_VIEW = re.compile(r'width="[\d.]+pt" height="[\d.]+pt" viewBox="0 ([\d.]+) ([\d.]+) ([\d.]+)"')


def stacked(svg: str) -> str:
    """The figure for a phone; empty if it has only one column, or something that belongs to all of its panels."""
    head, *children = _CHILD.split(svg)
    view, boxes, labelled = _VIEW.search(head), {}, set()
    for place, child in enumerate(children):
        kind, number = found.groups() if (found := _NAME.match(child)) else ("", "")
        if kind == "axes" and (box := _BOX.search(child)):
            boxes[place] = (float(box[1]), float(box[2]))
            if ticks := _TICK.findall(child):
                labelled.add("<text" in "".join(ticks))
        elif kind != "text" and (kind, number) != ("patch", "1"):
            return ""
    columns = _columns(boxes.values())
    panels = sum(right - left > BAR for left, right in boxes.values())
    read_by_rows = panels > len(columns) > 2  # an order that whole columns would break
    labels_are_shared = len(labelled) > 1
    if view is None or len(columns) < 2 or labels_are_shared or read_by_rows:
        return ""
    cut, full, height = map(float, view.groups())
    margin = max(columns[0][0], *(right[0] - left[1] for left, right in pairwise(columns)))
    row, shift, width = 0, margin - columns[0][0], 0.0
    moves: list[tuple[float, str]] = []
    for left, right in columns:
        if moves and right + shift > ROOM:
            row, shift = row + 1, margin - left
        moves.append((right, f'transform="translate({shift:.2f} {row * height:.2f})"'))
        width = max(width, right + shift + (full - right if right == columns[-1][1] else EDGE))
    for place, (_, right) in boxes.items():
        move = next(move for end, move in moves if right <= end)
        children[place] = children[place].replace('">', f'" {move}>', 1)
    wide, tall = f"{width:.2f}", f"{(row + 1) * height:.2f}"
    return _VIEW.sub(f'width="{wide}pt" height="{tall}pt" viewBox="0 {cut} {wide} {tall}"', head) + "".join(children)


def _columns(boxes: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where the columns of panels begin and end, from where panels do."""
    columns: list[tuple[float, float]] = []
    for left, right in sorted(boxes):
        if columns and (left < columns[-1][1] or right - left < BAR):
            columns[-1] = (columns[-1][0], max(right, columns[-1][1]))
        else:
            columns.append((left, right))
    return columns
