"""Names in Sources that nothing mentions: no code, no test, no page; private names that their own file does not use. And pages
that mention Swift files, paths or types that are not there."""
import collections
import os
import re

import source

WORD = re.compile(r"[A-Za-z]\w*")
DECLARED = re.compile(r"\b(?:func|var|let|struct|class|enum|actor|protocol|typealias) `?([A-Za-z]\w*)")
# What a protocol of the standard library, of SwiftNIO (ChannelInboundHandler) or of another library asks for, and only it calls.
REQUIRED = {
    "minimumResolution", "InboundIn", "InboundOut", "channelRead", "channelReadComplete", "channelWritabilityChanged",
    "channelInactive", "userInboundEventTriggered", "handlerAdded", "handlerRemoved",
    "recordNanoseconds", "makeCounter", "makeFloatingPointCounter", "makeMeter", "makeRecorder", "makeTimer",
    "destroyCounter", "destroyFloatingPointCounter", "destroyMeter", "destroyRecorder", "destroyTimer",
}

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PATH = re.compile(r"`((?:Sources|Tests|Migrations|tools|docs)/[\w+./-]*|[\w+]+\.(?:swift|sql))`")

PRIVATE = re.compile(
    r"\bprivate (?:(?:static|mutating|lazy|final|weak|indirect) )*(?:func|var|let|struct|enum|class|typealias) `?([A-Za-z]\w*)")
# What a page calls a type: a name in backticks with a capital first, and members, parameters or a file's second name behind it.
TYPE = re.compile(r"`([A-Z]\w*[a-z]\w*(?:[.+]\w+)*)(?:\([^`]*\))?`")
# Words of other systems that pages compare with ours.
FOREIGN = {"ByPeriod"}


def pages(repository):
    """Each page of the repository with its text."""
    for place, folders, names in os.walk(repository):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".md"):
                path = os.path.join(place, name)
                yield os.path.relpath(path, repository), source.read(path)


def broken(repository):
    """A text for each name that nothing mentions, and for each mention of nothing."""
    mentioned, declared, there, known = collections.Counter(), {}, set(), set(FOREIGN)
    for root in ("Sources", "Tests", "Migrations", "tools"):
        for path, text in source.texts(os.path.join(repository, root)):
            path = os.path.relpath(path, repository)
            there.add(os.path.basename(path))
            # Strings are known as well: what clients of other systems are told stands in them.
            words = WORD.findall(re.sub("(?<!:)//.*", "", text))
            known.update(words, WORD.findall(path))
            code = source.code(text)
            mentioned.update(WORD.findall(code))
            for found in PRIVATE.finditer(code):
                if words.count(found[1]) == 1 and found[1] not in REQUIRED:
                    line = code.count(chr(10), 0, found.start()) + 1
                    yield f"{path}:{line}: nothing uses '{found[1]}'; remove it."
            if root == "Sources":
                for found in DECLARED.finditer(code):
                    declared.setdefault(found[1], f"{path}:{code.count(chr(10), 0, found.start()) + 1}")
    for _, _, names in os.walk(os.path.join(repository, "Migrations")):
        there.update(names)
    texts = list(pages(repository))
    for path, _ in texts:
        known.update(WORD.findall(path))
    for _, text in texts:
        mentioned.update(WORD.findall(text))
    for name, place in sorted(declared.items(), key=lambda item: item[1]):
        if mentioned[name] == 1 and name not in REQUIRED:
            yield f"{place}: nothing mentions '{name}'; remove it, or test it."
    for path, text in texts:
        folder = os.path.dirname(os.path.join(repository, path))
        for found in LINK.finditer(text):
            if not os.path.exists(os.path.join(folder, found[1])):
                yield f"{path}: links to '{found[1]}', which is not there."
        for found in PATH.finditer(text):
            if not (any(os.path.exists(os.path.join(base, found[1])) for base in (repository, folder)) or found[1] in there):
                yield f"{path}: names '{found[1]}', which is not there."
        if path in ("ARCHITECTURE.md", "README.md") or path.startswith("docs" + os.sep):
            for found in TYPE.finditer(text):
                missing = [word for word in re.split(r"[.+]", found[1]) if word not in known and word not in ("md", "swift", "docc")]
                if missing:
                    yield f"{path}: speaks of '{found[1]}', and there is no '{missing[0]}'."
