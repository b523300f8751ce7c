"""What is changed of generated requests: waits that only cost time, streams that have no end, and names of which nothing is there."""

import itertools

import schemathesis

calls = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    query = case.query
    if isinstance(query, dict):
        query.pop("follow", None)
        if query.get("wait"):
            query["wait"] = "10ms"
    body = case.body
    if isinstance(body, dict):
        for claim in (body, body.get("claim")):
            if isinstance(claim, dict) and isinstance(claim.get("wait"), (int, float, str)) and claim["wait"]:
                claim["wait"] = "10ms"
    # Every second request is about a queue and messages that are there.
    if next(calls) % 2 == 0:
        for name, value in (("queue", "q"), ("sequence", 1)):
            if isinstance(case.path_parameters, dict) and name in case.path_parameters:
                case.path_parameters[name] = value
