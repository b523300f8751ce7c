"""Values for the members of requests: such as the document describes, and such as nobody should send."""
import json

NAMES = ["q", "w", "full", "groups", "a.b-c_d"]

TEXTS = [
    "", " ", "\0", "\n", "\r\nX-Injected: yes", "\x1b[31mred", "\x7f", "\u202eright to left", "\ufeff", "\U0001f9ea", "é", "e\u0301",
    "<script>alert(1)</script>", "' OR 1=1 --", "../../etc/passwd", "{{name}}", "%00", "%", "%zz", "%ff", "+", "*", ".", "..", "/",
    "null", "true", "NaN", "-0", "1e309", "0x10", "١٢", "penstock.audit", "-1s", "0", "1s", "61s", "99999999999999h",
    "2026-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "* * * * *", "60 * * * *",
]
LENGTHS = [1, 80, 180, 200, 255, 256, 500, 512, 1024, 4096, 65536, 262144, 1048576]
NUMBERS = [
    -1, 0, 1, 2, 10, 11, 60, 61, 100, 101, 201, 900, 901, 1000, 1001, 43200, 43201, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1,
    2**63, -(2**63), -(2**63) - 1, 2**64, 10**40, 0.5, -0.0, 1e-320, 1e308,
]


class Seen:
    """What answers have named: a request about something that is there gets further than one about nothing."""

    def __init__(self):
        self.leases = []
        self.handles = []

    def learn(self, value):
        """Remembers the leases and the receipt handles in an answer's JSON."""
        if isinstance(value, dict):
            if isinstance(value.get("token"), str) and isinstance(value.get("sequence"), int):
                self.leases = self.leases[-50:] + [(value["sequence"], value["token"])]
            if isinstance(value.get("ReceiptHandle"), str):
                self.handles = self.handles[-50:] + [value["ReceiptHandle"]]
            value = list(value.values())
        if isinstance(value, list):
            for part in value:
                self.learn(part)


class Values:
    """Makes values for the schemas of an OpenAPI document."""

    def __init__(self, random, document, seen):
        self.random, self.document, self.seen = random, document, seen

    def resolved(self, schema):
        while "$ref" in schema:
            found = self.document
            for part in schema["$ref"].split("/")[1:]:
                found = found[part]
            schema = found
        return schema

    def of(self, schema, name=""):
        """A value that the schema allows, or nearly."""
        schema = self.resolved(schema)
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self.of(self.random.choice(schema[choice]), name)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "object":
            return self.object(schema)
        if kind == "array":
            return [self.of(schema.get("items", {}), name) for _ in range(self.random.choice([0, 1, 1, 2, 3]))]
        if kind == "integer" or kind == "number":
            low = schema.get("minimum", 0)
            return self.random.randint(low, max(low, min(schema.get("maximum", 20), low + 20)))
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "null":
            return None
        return self.text(name)

    def object(self, schema):
        needed = schema.get("required", [])
        value = {
            name: self.of(part, name) for name, part in schema.get("properties", {}).items()
            if name in needed or self.random.random() < 0.4}
        if "token" in value and "sequence" in value and self.seen.leases:
            value["sequence"], value["token"] = self.random.choice(self.seen.leases)
        if isinstance(value.get("wait"), (int, float, str)):
            value["wait"] = self.random.choice([0, "10ms", 0.01])
        return value

    def text(self, name):
        if name in ("lease", "wait", "after", "delay", "retention", "expires"):
            return self.random.choice(["10ms", "1s", "30s", "1h"])
        if name == "token":
            return str(self.random.randint(1, 2**62))
        return self.random.choice(NAMES)

    def hostile(self):
        """A value that hardly any member allows."""
        kind = self.random.randrange(6)
        if kind == 0:
            return self.random.choice(NUMBERS)
        if kind == 1:
            return self.random.choice("aé\0🧪") * (self.random.choice(LENGTHS) + self.random.choice([-1, 0, 1]))
        if kind == 2:
            return self.random.choice([None, True, [], {}, [[]], {"": None}, [None] * 1001])
        return self.random.choice(TEXTS)

    def broken(self, value):
        """The value with something in it that is another, is missing, or is one too many."""
        if isinstance(value, (dict, list)) and value and self.random.random() < 0.8:
            key = self.random.choice(list(value) if isinstance(value, dict) else range(len(value)))
            kind = self.random.randrange(8)
            if kind == 0:
                del value[key]
            elif kind == 1 and isinstance(value, dict):
                value[self.random.choice(TEXTS + ["force", "queue"])] = self.hostile()
            elif kind == 2 and isinstance(value, list):
                value *= self.random.choice([2, 11, 1001])
            else:
                value[key] = self.broken(value[key])
            return value
        return self.hostile()

    def written(self, value):
        """JSON, now and then not as a library would write it."""
        text = json.dumps(value, ensure_ascii=self.random.random() < 0.5).encode("utf-8", "surrogatepass")
        kind = self.random.randrange(24)
        if kind == 0:
            depth = self.random.choice([10, 500, 513, 20_000, 200_000])
            return b'{"a":' * depth + b"1" if self.random.random() < 0.5 else b"[" * depth + b"]" * depth
        if kind == 1:
            return text[:self.random.randrange(len(text) + 1)]
        if kind == 2:
            return self.garbled(text)
        if kind == 3:
            return text.replace(b'"', b'"\\ud800', 1)
        if kind == 4 and text.startswith(b"{") and len(text) > 2:
            # Every member twice.
            return text[:-1] + b"," + text[1:]
        if kind == 5:
            return self.random.choice([b"\xef\xbb\xbf", b"\xff\xfe", b" \t\r\n", b"//\n"]) + text
        if kind == 6:
            return text + self.random.choice([b"\0", b"x", b"\n\n", text])
        return text

    def garbled(self, bytes_):
        """The bytes with some of them replaced, doubled or taken away."""
        changed = bytearray(bytes_)
        for _ in range(self.random.randint(1, 4)):
            place = self.random.randrange(len(changed) + 1)
            changed[place:place + self.random.randrange(3)] = self.random.randbytes(self.random.randrange(4))
        return bytes(changed)
