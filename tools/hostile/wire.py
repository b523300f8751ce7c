"""Requests as bytes, and answers read as strictly as RFC 9112 has them."""
import json
import re
import socket
import time
from dataclasses import dataclass


@dataclass
class Sent:
    """Bytes for a connection, and which requests of it have to be answered."""

    bytes: bytes
    # The requests that are whole, in their order.
    whole: list
    # Whether the end of it is no request, or none that is whole: then the connection may end without an answer.
    is_broken: bool


def written(request, random):
    """A request as bytes, and whether it is one as HTTP has it."""
    headers = list(request.headers)
    body, broken = request.body, False
    kind = random.random()
    if kind < 0.12:
        headers.append(("Transfer-Encoding", "chunked"))
        size = random.choice([1, 7, 1000, 100_000]) if len(body) < 2000 else random.choice([1000, 100_000])
        parts = [body[at:at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x%s\r\n%s\r\n" % (len(part), random.choice([b"", b"", b";a=b"]), part) for part in parts) + b"0\r\n\r\n"
        if random.random() < 0.2:
            body, broken = body.replace(b"\r\n", random.choice([b"\n", b"\r\nzz", b""]), 1), True
    elif kind < 0.16:
        headers.append(("Content-Length", random.choice(["-1", "+1", "1e3", "", " ", "99999999999999999999", f"{len(body)}, {len(body)}"])))
        broken = True
    elif kind < 0.18:
        headers += [("Content-Length", str(len(body))), ("Transfer-Encoding", "chunked")]
        broken = True
    elif kind < 0.20:
        headers.append(("Content-Length", str(len(body) + random.choice([1, 1000]))))
        broken = True
    elif body or random.random() < 0.5:
        headers.append(("Content-Length", str(len(body))))
    lines = [request.method.encode() + b" " + request.target + b" HTTP/1.1"]
    if random.random() > 0.02:
        lines.append(b"Host: localhost")
    lines += [f"{name}: {value}".encode("utf-8", "surrogatepass") for name, value in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body, broken


def is_plain(data):
    """Whether nothing before the body is doubtful, so that an answer has to come."""
    head = data.split(b"\r\n\r\n", 1)[0]
    # Of a CONNECT HTTP does not say what a body is.
    return not head.startswith(b"CONNECT") and re.fullmatch(
        rb"[A-Z]+ /[\x21-\x7e]* HTTP/1\.1(\r\n[A-Za-z0-9-]+:[ -~]*)*", head) is not None and len(head) < 60_000 and head.count(b"\n") < 100


class Broken(Exception):
    """An answer that is none, or none that is allowed."""


class Cut(Broken):
    """An answer that has begun and does not come to its end."""


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def type(self):
        return self.headers.get("content-type", "").split(";")[0]


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Reader:
    """Answers, one after the other, of one connection."""

    def __init__(self, connection):
        self.connection, self.buffer = connection, b""

    def more(self):
        try:
            received = self.connection.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError):
            received = b""
        self.buffer += received
        return bool(received)

    def answer(self, method, seconds):
        """The next answer; `None`: the connection has ended before its first byte, or nothing has come in time."""
        until = time.monotonic() + seconds
        while b"\r\n\r\n" not in self.buffer:
            self.connection.settimeout(max(0.001, until - time.monotonic()))
            try:
                if not self.more():
                    if self.buffer:
                        raise Broken(f"an answer ends in its head: {self.buffer[:200]}")
                    return None
            except TimeoutError:
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.split(b"\r\n")
        if not re.fullmatch(rb"HTTP/1\.1 [1-5][0-9][0-9] [ -~]*", lines[0]):
            raise Broken(f"no status line: {lines[0][:200]}")
        headers = {}
        for line in lines[1:]:
            if not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[\t\x20-\x7e\x80-\xff]*", line):
                raise Broken(f"no header: {line[:200]}")
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.lower()] = value.strip()
        status = int(lines[0].split(b" ")[1])
        self.connection.settimeout(60)
        return Answer(status, headers, b"" if method == "HEAD" or status in (204, 304) or status < 200 else self.body(headers))

    def body(self, headers):
        if headers.get("transfer-encoding") == "chunked":
            whole = b""
            while True:
                size = int(self.line(), 16)
                part = self.count(size)
                if self.line() != b"":
                    raise Broken("a chunk does not end where it says")
                if not size:
                    return whole
                whole += part
        if "content-length" not in headers:
            raise Broken("an answer does not say how long it is")
        return self.count(int(headers["content-length"]))

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.more():
                raise Cut("an answer ends within a chunk")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def count(self, size):
        while len(self.buffer) < size:
            if not self.more():
                raise Broken("an answer is shorter than it says")
        part, self.buffer = self.buffer[:size], self.buffer[size:]
        return part


def judge(request, answer):
    """Raises `Broken` when this is no answer for such a request; its JSON, if it has some."""
    if answer.status >= 500 and answer.status not in (501, 505):
        # Nobody holds the writer's lock for long here, so no answer of 503 has a cause either.
        raise Broken(f"status {answer.status}: {answer.body[:300]}")
    value = None
    if answer.type in ("application/json", "application/problem+json", "application/x-amz-json-1.0"):
        if not answer.body:
            return None
        try:
            value = json.loads(answer.body)
        except ValueError as error:
            raise Broken(f"no JSON ({error}): {answer.body[:200]}") from None
    if answer.status < 400 or request is None or not answer.body:
        return value
    if answer.type == "application/problem+json":
        wanted = {"type": str, "title": str, "status": int, "code": str, "detail": str}
        if any(not isinstance(value.get(name), kind) for name, kind in wanted.items()) or value["status"] != answer.status:
            raise Broken(f"no problem as RFC 9457 has it: {answer.body[:300]}")
    elif answer.type == "application/x-amz-json-1.0" and request.face == "sqs":
        if not value["__type"].startswith("com.amazonaws.sqs#") or ";" not in answer.headers.get("x-amzn-query-error", ""):
            raise Broken(f"no error of Amazon's: {answer.body[:300]}")
    elif not (answer.type == "text/html" and (request.face == "page" or not request.target.startswith(b"/v1"))):
        raise Broken(f"an error of type '{answer.type}': {answer.body[:300]}")
    return value
