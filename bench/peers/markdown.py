"""Sections and paragraphs of Markdown, by their places in the text."""

import re
from dataclasses import dataclass

LINE = re.compile(r"[^\n]*\n|[^\n]+")
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|$)", re.S)
TITLE = re.compile(r"^[ \t]*title:(.*\S.*)$", re.M)
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(slots=True)
class Line:
    start: int
    end: int
    is_blank: bool
    # 0 where the line is no heading.
    level: int
    heading: str
    is_fenced: bool


@dataclass(slots=True)
class Section:
    """Characters from `start` to `end`, under the headings of `path`."""

    start: int
    end: int
    # Headings above the first line, from the widest to the narrowest.
    above: tuple
    # The same with the section's own heading.
    path: tuple


def scan(text):
    """Splits a text into lines and marks headings and fenced code."""
    found, at, fence = [], 0, None
    for raw in LINE.findall(text):
        bare = raw.rstrip("\r\n")
        level, heading, is_fenced = 0, "", fence is not None
        mark = FENCE.match(bare)
        if fence is None and mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, is_fenced = mark[1], True
        elif fence is not None:
            closes = mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence)
            if closes and not mark[2].strip():
                fence = None
        elif title := HEADING.match(bare):
            level, heading = len(title[1]), (title[2] or "").strip()
        found.append(Line(at, at + len(raw), not bare.strip(), level, heading, is_fenced))
        at += len(raw)
    return found


def title(text):
    """The title in the front matter, else the first heading, else nothing."""
    if front := FRONT_MATTER.match(text):
        if named := TITLE.search(front[0]):
            return named[1].strip().strip("\"'")
        text = text[front.end() :]
    return next((line.heading for line in scan(text) if line.heading), "")


def sections(text):
    """Splits a text at its headings. A heading without text of its own stays with what follows."""
    found, open_headings = [], []
    start, above, path, has_text = 0, (), (), False
    for line in scan(text):
        if not line.level:
            has_text = has_text or not line.is_blank
            continue
        if has_text:
            found.append(Section(start, line.start, above, path))
            start, has_text = line.start, False
        while open_headings and open_headings[-1][0] >= line.level:
            open_headings.pop()
        # The first heading of the section begins it; those directly below are part of its text.
        if start == line.start or not text[start : line.start].strip():
            above = tuple(heading for _, heading in open_headings)
        open_headings.append((line.level, line.heading))
        path = tuple(heading for _, heading in open_headings)
    if text[start:].strip():
        found.append(Section(start, len(text), above, path))
    return found


def paragraphs(text, start, end):
    """Ranges of the paragraphs between two places; fenced code is one paragraph."""
    begin = stop = None
    for line in scan(text[start:end]):
        if line.is_blank and not line.is_fenced:
            if begin is not None:
                yield start + begin, start + stop
            begin = None
            continue
        begin = line.start if begin is None else begin
        stop = line.end
    if begin is not None:
        yield start + begin, start + stop


def is_headings(text):
    """Whether a text has nothing but headings."""
    return all(line.level or line.is_blank for line in scan(text))
