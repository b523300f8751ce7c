"""Swift files, taken apart: the code without comments and strings, and the comments as the sentences they make."""
import os
import re

# A piece of Swift that the rules look at one by one: a comment, a quote that begins or ends a string, a bracket.
PIECE = re.compile(r'//[^\n]*|/\*|#*"""|#*"|[()]|\n')


def read(path):
    """The file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def texts(folder):
    """Every Swift file below the folder, with its text."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".swift"):
                path = os.path.join(place, name)
                yield path, read(path)


def code(text):
    """The text with its comments and strings left out. What an interpolation names stays, and so do the lines."""
    out = []
    _code(text, 0, out, nested=False)
    return "".join(out)


def _code(text, start, out, nested):
    depth = 0
    while found := PIECE.search(text, start):
        out.append(text[start:found.start()])
        piece, start = found[0], found.end()
        if piece.startswith("//"):
            continue
        if piece == "/*":
            end = text.find("*/", start)
            end = len(text) if end < 0 else end + 2
            out.append("\n" * text.count("\n", start, end))
            start = end
        elif piece.endswith('"'):
            out.append(" ")
            start = _string(text, start, piece, out)
        else:
            out.append(piece)
            depth += {"(": 1, ")": -1}.get(piece, 0)
            if nested and depth < 0:
                return start
    out.append(text[start:])
    return len(text)


def _string(text, start, opening, out):
    hashes = opening.count("#")
    ending = opening.lstrip("#") + "#" * hashes
    special = re.compile(r"\\" + "#" * hashes + r"\(|" + re.escape(ending) + (r"|\\." if not hashes else "") + r"|\n")
    while found := special.search(text, start):
        start = found.end()
        if found[0] == ending:
            return start
        if found[0] == "\n":
            out.append("\n")
            if not ending.startswith('"""'):
                return start
        elif found[0].endswith("("):
            out.append(" ")
            start = _code(text, start, out, nested=True)
    return len(text)


def comments(text):
    """Each comment with the number of its first line: lines of comment one below the other are one text."""
    begin, lines = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r'(?:^|\s)///?(?: (.*))?$', line)
        alone = found is not None and not line[:found.start()].strip()
        if lines and not alone:
            yield begin, "\n".join(lines)
            lines = []
        if found and '"' not in line[:found.start()]:
            if not lines:
                begin = number
            lines.append(found[1] or "")
            if not alone:
                yield begin, "\n".join(lines)
                lines = []
    if lines:
        yield begin, "\n".join(lines)
