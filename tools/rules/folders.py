"""Circles of folders: within a module, folders use each other in one direction.

Swift has no imports inside a module, so this reads names: a folder uses another one when its code names a type that is
declared at the top level of a file there. A file that lies loose in a module counts as a folder of its own. Circles of loose
files alone are no matter."""
import collections
import os
import re

import source

KIND = r"(?:struct|class|enum|actor|protocol|typealias)"
TOP = re.compile(r"^(?:@\w+(?:\([^)]*\))? )*((?:\w+ )*)" + KIND + r" ([A-Z]\w*)", re.M)
INNER = re.compile(r"^[ \t]+(?:[\w@()]+ )*(?:" + KIND + r"|associatedtype) ([A-Z]\w*)", re.M)
PARAMETERS = re.compile(r"(?:func [^\s(<]+|init|\b" + KIND + r" \w+)<([^>{]*)>")
NAME = re.compile(r"(?<![.\w])[A-Z]\w*")


def folder(path, root):
    """The folder that the file lies in; a loose file of a module is its own."""
    parts = os.path.relpath(path, root).split(os.sep)
    return "/".join(parts if len(parts) == 2 else parts[:-1])


def arrows(root):
    """Which folder uses which other one of its module, and by what names."""
    uses = collections.defaultdict(set)
    for module in sorted(os.listdir(root)):
        texts = {path: source.code(text) for path, text in source.texts(os.path.join(root, module))}
        places = collections.defaultdict(set)
        for path, text in texts.items():
            for words, name in TOP.findall(text):
                if "private" not in words:
                    places[name].add(path)
        homes = {name: folder(next(iter(paths)), root) for name, paths in places.items() if len(paths) == 1}
        for path, text in texts.items():
            here = folder(path, root)
            for name in set(NAME.findall(re.sub(r"\b" + module + r"\.", "", text))) - own_names(text):
                if homes.get(name, here) != here:
                    uses[here, homes[name]].add(name)
    return uses


def own_names(text):
    """What the file declares itself, at whatever depth: there such a name is not the other folder's."""
    names = {name for _, name in TOP.findall(text)} | set(INNER.findall(text))
    for parameters in PARAMETERS.findall(text):
        names |= {parameter.split(":")[0].removeprefix("each ").strip() for parameter in parameters.split(",")}
    return names


def circles(uses):
    """The sets of places from each of which a way leads to each other one."""
    reached = {}
    for place in {place for arrow in uses for place in arrow}:
        seen, left = set(), [place]
        while left:
            here = left.pop()
            for begin, end in uses:
                if begin == here and end not in seen:
                    seen.add(end)
                    left.append(end)
        reached[place] = seen
    found = {frozenset(other for other in reached[place] if place in reached[other]) for place in reached}
    return sorted((set(circle) for circle in found if circle), key=sorted)


def broken(repository):
    """A text for each circle."""
    uses = arrows(os.path.join(repository, "Sources"))
    for circle in circles(uses):
        if all(place.endswith(".swift") for place in circle):
            continue
        lines = ["folders use each other in a circle: " + ", ".join(sorted(circle))]
        for (begin, end), names in sorted(uses.items()):
            if begin in circle and end in circle:
                lines.append(f"    {begin} -> {end}: {', '.join(sorted(names)[:6])}")
        yield "\n".join(lines)
