"""Comments that say "who" of nobody: the actor is to be named ("the process that ...", "a reader that ...").

What is looked for is a "who" that begins a sentence which is no question, or that follows a word after which only a noun
or a question can come. "Somebody who ..." and "the kernel says who lives" are well."""
import os
import re

import source

HEADLESS = re.compile(
    r"(?:^|[.:;(]\s|\n\n|\n- )who\b(?![^.?]*\?)"
    r"|\b(?:and|or|for|by|to|of|with|at|from|as|when|if|so|but|only|which|that|than|not|also|tells?|wakes?|holds?|takes?|"
    r"takes?\s+out|asks?)\s+who\b",
    re.IGNORECASE)


def broken(repository):
    """A text for each such comment."""
    for root in ("Sources", "Tests"):
        for path, text in source.texts(os.path.join(repository, root)):
            path = os.path.relpath(path, repository)
            for number, comment in source.comments(text):
                for found in HEADLESS.finditer(comment):
                    line = number + comment.count("\n", 0, found.end() - len("who"))
                    said = " ".join(comment[max(0, found.start() - 20):found.end() + 50].split())
                    yield f"{path}:{line}: a comment says \"who\" of nobody; name the actor: … {said} …"
