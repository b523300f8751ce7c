"""Requests: those of the API's document, of Amazon SQS and of the dashboard's forms, whole or with something wrong."""
import base64
import json
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from .values import NAMES, NUMBERS, TEXTS, Values

# What each action of Amazon SQS is given.
SQS = {
    "CreateQueue": {"QueueName": "NAME", "Attributes": "ATTRIBUTES", "tags": {"a": "b"}},
    "GetQueueUrl": {"QueueName": "NAME"}, "ListQueues": {"QueueNamePrefix": "", "MaxResults": 10},
    "SendMessage": {"QueueUrl": "URL", "MessageBody": "hello", "DelaySeconds": 0, "MessageAttributes": "MESSAGE_ATTRIBUTES"},
    "SendMessageBatch": {"QueueUrl": "URL", "Entries": [{"Id": "a", "MessageBody": "x"}, {"Id": "b", "MessageBody": "y"}]},
    "ReceiveMessage": {"QueueUrl": "URL", "MaxNumberOfMessages": 10, "VisibilityTimeout": 30, "AttributeNames": ["All"]},
    "DeleteMessage": {"QueueUrl": "URL", "ReceiptHandle": "HANDLE"},
    "DeleteMessageBatch": {"QueueUrl": "URL", "Entries": [{"Id": "a", "ReceiptHandle": "HANDLE"}]},
    "ChangeMessageVisibility": {"QueueUrl": "URL", "ReceiptHandle": "HANDLE", "VisibilityTimeout": 0},
    "ChangeMessageVisibilityBatch": {"QueueUrl": "URL", "Entries": [{"Id": "a", "ReceiptHandle": "HANDLE", "VisibilityTimeout": 5}]},
    "GetQueueAttributes": {"QueueUrl": "URL", "AttributeNames": ["All"]},
    "SetQueueAttributes": {"QueueUrl": "URL", "Attributes": "ATTRIBUTES"},
    "PurgeQueue": {"QueueUrl": "URL"}, "DeleteQueue": {"QueueUrl": "URL"}, "ListQueueTags": {"QueueUrl": "URL"},
    "TagQueue": {"QueueUrl": "URL", "Tags": {"a": "b"}}, "UntagQueue": {"QueueUrl": "URL", "TagKeys": ["a"]},
    "ListDeadLetterSourceQueues": {"QueueUrl": "URL"}, "StartMessageMoveTask": {"SourceArn": "ARN"},
    "ListMessageMoveTasks": {"SourceArn": "ARN"}, "CancelMessageMoveTask": {"TaskHandle": "HANDLE"},
}
ATTRIBUTES = {"VisibilityTimeout": "30", "DelaySeconds": "0", "MessageRetentionPeriod": "345600", "MaximumMessageSize": "1024"}
PAGES = [
    "/", "/dead", "/messages", "/messages/1", "/messages/1/payload", "/queues/q", "/queues/q/log", "/queues/q/policy", "/queues/q/replay",
    "/queues", "/queues/new", "/workers", "/schedules", "/workflows", "/audit", "/doctor", "/metrics", "/healthz", "/readyz", "/nothing", "/login",
]
FORMS = {
    "/queues": ["name", "capacity"], "/queues/q/enqueue": ["payload", "key", "priority", "delay"], "/queues/q/policy": ["capacity"],
    "/queues/q/pause": [], "/queues/q/resume": [], "/queues/q/cancel": ["expected"], "/queues/q/groups/pause": ["group"],
    "/queues/w/delete": ["name"], "/queues/q/replay": ["messages", "state", "into"], "/messages/1/redrive": [],
    "/dead/redrive": ["queue", "example", "shown", "expected"], "/schedules/q/run": [], "/workflows/q/cancel": [],
    "/doctor": [],
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "M-SEARCH"]


@dataclass
class Request:
    method: str
    # In bytes, with its query, as it stands in the first line.
    target: bytes
    headers: list = field(default_factory=list)
    body: bytes = b""
    # What an error of this face looks like.
    face: str = "api"


class Requests:
    """Makes requests, the same ones from the same source of chance as long as the server answers the same."""

    def __init__(self, random, document, seen):
        self.random, self.seen = random, seen
        self.values = Values(random, document, seen)
        self.operations = [
            (path, method.upper(), operation) for path, methods in document["paths"].items()
            for method, operation in methods.items() if method in ("get", "put", "post", "patch", "delete")]

    def next(self):
        kind = self.random.random()
        request = self.of_api() if kind < 0.55 else self.of_sqs() if kind < 0.85 else self.of_dashboard()
        if self.random.random() < 0.3:
            self.disturb(request)
        return request

    def of_api(self):
        path, method, operation = self.random.choice(self.operations)
        query, headers = [], []
        for parameter in operation.get("parameters", []):
            parameter = self.values.resolved(parameter)
            where, name = parameter["in"], parameter["name"]
            if where != "path" and self.random.random() < 0.7:
                continue
            value = self.values.of(parameter.get("schema", {}), name)
            if self.random.random() < 0.2:
                value = self.values.hostile()
            if where == "path":
                if name == "sequence" and self.random.random() < 0.5:
                    value = self.random.randint(1, 50)
                path = path.replace("{%s}" % name, self.quoted(value))
            elif where == "query":
                # Waits cost time, and streams have no end.
                value = "10ms" if name == "wait" else "false" if name == "follow" else value
                query.append(f"{name}={self.quoted(value)}")
            else:
                headers.append((name, self.header_text(value)))
        body = b""
        content = operation.get("requestBody", {}).get("content", {})
        if content:
            type_, described = self.random.choice(list(content.items()))
            headers.append(("Content-Type", type_))
            body = self.body(type_, described.get("schema", {}))
        target = path + ("?" + "&".join(query) if query else "")
        return Request(method, target.encode(), headers, body)

    def body(self, type_, schema):
        if "octet" in type_:
            return self.random.choice([b"", b"hello", b'{"a":1}', b"\xff\0\x1b", self.random.randbytes(self.random.choice([10, 70_000]))])
        values = [self.values.of(schema) for _ in range(self.random.randint(1, 5) if "ndjson" in type_ else 1)]
        if self.random.random() < 0.5:
            values = [self.values.broken(value) for value in values]
        return b"\n".join(self.values.written(value) for value in values)

    def of_sqs(self):
        action = self.random.choice(list(SQS))
        given = {
            name: self.of_amazon(value) for name, value in SQS[action].items()
            if name in ("QueueUrl", "QueueName") or self.random.random() < 0.9}
        if self.random.random() < 0.4:
            given = self.values.broken(given)
        if isinstance(given, dict) and "WaitTimeSeconds" in given:
            given["WaitTimeSeconds"] = 0
        if self.random.random() < 0.05:
            action = self.random.choice(TEXTS)
        headers = [("X-Amz-Target", "AmazonSQS." + self.header_text(action)), ("Content-Type", "application/x-amz-json-1.0")]
        return Request("POST", b"/", headers, self.values.written(given), face="sqs")

    def of_amazon(self, value):
        if isinstance(value, list):
            return [self.of_amazon(part) for part in value]
        if isinstance(value, dict):
            return {name: self.of_amazon(part) for name, part in value.items()}
        name = self.random.choice(NAMES)
        return {
            "NAME": name, "URL": f"http://localhost/000000000000/{name}", "ARN": f"arn:aws:sqs:us-east-1:000000000000:{name}",
            "HANDLE": self.random.choice(self.seen.handles or ["none"]),
            "ATTRIBUTES": {key: self.random.choice([text, str(self.values.hostile())]) if self.random.random() < 0.3 else text
                           for key, text in ATTRIBUTES.items() if self.random.random() < 0.5},
            "MESSAGE_ATTRIBUTES": {"a": {"DataType": self.random.choice(["String", "Number", "Binary", "Number.x", "X"]),
                                         self.random.choice(["StringValue", "BinaryValue"]): base64.b64encode(b"1").decode()}},
        }.get(value, value) if isinstance(value, str) else value

    def of_dashboard(self):
        if self.random.random() < 0.6:
            names = ["queue", "state", "group", "key", "header", "text", "preceding", "after", "since", "before", "to", "limit"]
            query = urlencode({name: self.form_text() for name in self.random.sample(names, self.random.randrange(3))})
            path = self.random.choice(PAGES)
            return Request("GET", (path + ("?" + query if query else "")).encode(), face="page")
        path, names = self.random.choice(list(FORMS.items()))
        form = urlencode([(name, self.form_text()) for name in names if self.random.random() < 0.9])
        return Request("POST", path.encode(), [("Content-Type", "application/x-www-form-urlencoded")], form.encode(), face="page")

    def form_text(self):
        value = self.random.choice(NAMES) if self.random.random() < 0.5 else self.values.hostile()
        return str(value)[:3000].encode("utf-8", "surrogatepass")

    def quoted(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        # Now and then as it is: that is no target as HTTP has it.
        if self.random.random() < 0.02:
            return text[:2000]
        return quote(text[:3000].encode("utf-8", "surrogatepass"), safe="")

    def header_text(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        return text[:3000] if self.random.random() < 0.1 else "".join(c for c in text[:3000] if c.isprintable())

    def disturb(self, request):
        """Does one thing to a request that its face does not expect."""
        kind = self.random.randrange(9)
        if kind == 0:
            request.method = self.random.choice(METHODS)
        elif kind == 1:
            request.target = self.values.garbled(request.target)
        elif kind == 2:
            request.target += b"&" if b"?" in request.target else b"?"
            request.target += f"{self.quoted(self.random.choice(TEXTS))}={self.quoted(self.values.hostile())}".encode()
        elif kind == 3:
            request.headers.append((self.random.choice(
                ["Penstock-Delay", "Penstock-Priority", "Penstock-Key", "Penstock-Header-a", "Penstock-Expires", "Content-Type",
                 "Idempotency-Key", "ce-id", "traceparent", "Authorization", "Cookie", "Accept", "Last-Event-ID", "Origin", "Range",
                 "Expect", "Sec-Fetch-Site", "X-Amz-Target", "X-" + "y" * 300]), self.header_text(self.values.hostile())))
        elif kind == 4 and request.headers:
            request.headers.append(self.random.choice(request.headers))
        elif kind == 5 and request.headers:
            request.headers.remove(self.random.choice(request.headers))
        elif kind == 6:
            request.body = self.values.garbled(request.body)
        elif kind == 7:
            request.headers += [(f"X-{i}", "y" * self.random.choice([1, 500])) for i in range(self.random.choice([10, 99, 150, 300]))]
        else:
            request.headers.append(("Penstock-Priority", str(self.random.choice(NUMBERS))))
