"""The same calls to Penstock and to moto. What differs is to be one of the decisions in docs/sqs.md, each named here."""
import re

import botocore.exceptions

# Where the answers differ, and why Penstock's is as it is. docs/sqs.md has the table.
DECIDED = {
    "attributes": "SqsManagedSseEnabled is false: nothing is encrypted unless the file's disk is",
    "dead-letter queue missing": "a code that Amazon gives: InvalidParameterValue",
    "wait too long": "the message",
    "delete batch empty": "the message",
    "receive attributes": "no SenderId: nobody's account is known",
    "visibility after delete": "Amazon's answer: InvalidParameterValue; moto says ReceiptHandleIsInvalid or nothing",
    "delete garbage": "garbage is refused in either way",
    "fifo without group": "which code a parameter is missed by",
    "batch ids": "which of the checks comes first",
    "attributes unknown": "the message",
    "list dead-letter sources": "the order",
    "fifo send 1": "SequenceNumber is told, as by Amazon; moto tells it of batches only",
    "fifo send 2": "the same",
    "fifo send 3": "the same",
    "batch delay": "SenderFault is a boolean, as in Amazon's model; moto has a text",
    "no XML": "refused, as by Amazon; moto takes it",
    "receive batch": "moto has taken what is no XML",
}


class Side:
    """One server: handles and URLs by names, so that both sides can be told the same."""

    def __init__(self, client):
        self.client = client
        self.known = {}

    def call(self, action, **arguments):
        arguments = {name: self.resolve(value) for name, value in arguments.items()}
        try:
            answer = getattr(self.client, action)(**arguments)
        except botocore.exceptions.ClientError as error:
            return {"error": error.response["Error"]["Code"], "status": error.response["ResponseMetadata"]["HTTPStatusCode"]}
        answer.pop("ResponseMetadata")
        return answer

    def resolve(self, value):
        if isinstance(value, str) and value.startswith("$"):
            return self.known[value]
        if isinstance(value, list):
            return [self.resolve(one) for one in value]
        if isinstance(value, dict):
            return {name: self.resolve(one) for name, one in value.items()}
        return value


def plain(value, name=""):
    """An answer without what two servers cannot have in common."""
    if isinstance(value, dict):
        return {key: plain(one, key) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return [plain(one, name) for one in value]
    if name in ("ReceiptHandle", "MessageId", "SequenceNumber", "TaskHandle", "Message") or "Timestamp" in name:
        return f"<{name}>"
    if isinstance(value, str):
        return re.sub(r"http://[\w.:]+/\d{12}/", "URL/", re.sub(r":\d{12}:", ":account:", value))
    return value


def script(call):
    """Each step is a name, an action and its arguments; `call` returns Penstock's answer after it has compared both."""
    call("create", "create_queue", QueueName="a", Attributes={"VisibilityTimeout": "60"}, keep={"$a": "QueueUrl"})
    call("create again", "create_queue", QueueName="a", Attributes={"VisibilityTimeout": "60"})
    call("create otherwise", "create_queue", QueueName="a", Attributes={"VisibilityTimeout": "61"})
    call("create bad name", "create_queue", QueueName="a b")
    call("url", "get_queue_url", QueueName="a")
    call("url of none", "get_queue_url", QueueName="none")
    call("list", "list_queues")
    call("list prefix", "list_queues", QueueNamePrefix="b")
    call("attributes", "get_queue_attributes", QueueUrl="$a", AttributeNames=["All"])
    call("attributes unknown", "get_queue_attributes", QueueUrl="$a", AttributeNames=["Nothing"])
    call("set", "set_queue_attributes", QueueUrl="$a", Attributes={"VisibilityTimeout": "30"})
    call("attribute set", "get_queue_attributes", QueueUrl="$a", AttributeNames=["VisibilityTimeout"])
    call("tag", "tag_queue", QueueUrl="$a", Tags={"team": "shop", "stage": "test"})
    call("untag", "untag_queue", QueueUrl="$a", TagKeys=["stage"])
    call("tags", "list_queue_tags", QueueUrl="$a")
    call("receive nothing", "receive_message", QueueUrl="$a")
    attributes = {"kind": {"DataType": "String", "StringValue": "mail"}, "Kind": {"DataType": "Number", "StringValue": "7"},
                  "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\x01\xff"}}
    call("send", "send_message", QueueUrl="$a", MessageBody="hello é", MessageAttributes=attributes)
    call("receive", "receive_message", QueueUrl="$a", MessageAttributeNames=["All"], MaxNumberOfMessages=10,
         keep={"$h": "Messages.0.ReceiptHandle"})
    call("receive hidden", "receive_message", QueueUrl="$a")
    call("visibility", "change_message_visibility", QueueUrl="$a", ReceiptHandle="$h", VisibilityTimeout=0)
    call("receive attributes", "receive_message", QueueUrl="$a", MessageSystemAttributeNames=["All"],
         keep={"$h": "Messages.0.ReceiptHandle"})
    call("delete", "delete_message", QueueUrl="$a", ReceiptHandle="$h")
    call("delete again", "delete_message", QueueUrl="$a", ReceiptHandle="$h")
    call("visibility after delete", "change_message_visibility", QueueUrl="$a", ReceiptHandle="$h", VisibilityTimeout=5)
    call("delete garbage", "delete_message", QueueUrl="$a", ReceiptHandle="garbage")
    call("visibility too long", "change_message_visibility", QueueUrl="$a", ReceiptHandle="$h", VisibilityTimeout=43201)
    call("wait too long", "receive_message", QueueUrl="$a", WaitTimeSeconds=21)
    call("too many", "receive_message", QueueUrl="$a", MaxNumberOfMessages=11)
    call("send empty batch", "send_message_batch", QueueUrl="$a", Entries=[])
    entries = [{"Id": str(number), "MessageBody": f"m{number}"} for number in range(3)]
    call("send batch", "send_message_batch", QueueUrl="$a", Entries=entries)
    call("batch delay", "send_message_batch", QueueUrl="$a",
         Entries=[{"Id": "ok", "MessageBody": "x", "DelaySeconds": 900}, {"Id": "no", "MessageBody": "x", "DelaySeconds": 901}])
    call("batch ids", "send_message_batch", QueueUrl="$a", Entries=[{"Id": "1", "MessageBody": "x"}] * 2)
    call("batch of eleven", "send_message_batch", QueueUrl="$a",
         Entries=[{"Id": str(number), "MessageBody": "x"} for number in range(11)])
    call("too large", "send_message", QueueUrl="$a", MessageBody="x" * (1024 * 1024 + 1))
    call("no XML", "send_message", QueueUrl="$a", MessageBody="\x01")
    call("receive batch", "receive_message", QueueUrl="$a", MaxNumberOfMessages=10,
         keep={"$0": "Messages.0.ReceiptHandle", "$1": "Messages.1.ReceiptHandle", "$2": "Messages.2.ReceiptHandle"})
    call("visibility batch", "change_message_visibility_batch", QueueUrl="$a",
         Entries=[{"Id": "0", "ReceiptHandle": "$0", "VisibilityTimeout": 100}])
    call("delete batch", "delete_message_batch", QueueUrl="$a",
         Entries=[{"Id": number, "ReceiptHandle": "$" + number} for number in "012"])
    call("delete batch empty", "delete_message_batch", QueueUrl="$a", Entries=[])
    call("purge", "purge_queue", QueueUrl="$a")
    call("depth", "get_queue_attributes", QueueUrl="$a", AttributeNames=["ApproximateNumberOfMessages"])
    call("create dead", "create_queue", QueueName="dead", keep={"$dead": "QueueUrl"})
    redrive = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:%s:%s","maxReceiveCount":"1"}'
    call("dead-letter queue missing", "set_queue_attributes", QueueUrl="$a",
         Attributes={"RedrivePolicy": redrive % ("ACCOUNT", "none")})
    call("redrive policy", "set_queue_attributes", QueueUrl="$a", Attributes={"RedrivePolicy": redrive % ("ACCOUNT", "dead")})
    call("list dead-letter sources", "list_dead_letter_source_queues", QueueUrl="$dead")
    call("send to die", "send_message", QueueUrl="$a", MessageBody="dies")
    call("receive and give back", "receive_message", QueueUrl="$a", VisibilityTimeout=0)
    call("receive dead", "receive_message", QueueUrl="$a")
    call("receive from dead", "receive_message", QueueUrl="$dead", keep={"$h": "Messages.0.ReceiptHandle"})
    call("delete dead", "delete_message", QueueUrl="$dead", ReceiptHandle="$h")
    fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    call("create fifo", "create_queue", QueueName="f.fifo", Attributes=fifo, keep={"$f": "QueueUrl"})
    call("fifo without group", "send_message", QueueUrl="$f", MessageBody="x")
    for body, group in (("1", "g"), ("2", "g"), ("1", "g"), ("3", "h")):
        call(f"fifo send {body}", "send_message", QueueUrl="$f", MessageBody=body, MessageGroupId=group)
    call("fifo receive", "receive_message", QueueUrl="$f", keep={"$h": "Messages.0.ReceiptHandle"})
    call("fifo other group", "receive_message", QueueUrl="$f", keep={"$o": "Messages.0.ReceiptHandle"})
    call("fifo blocked", "receive_message", QueueUrl="$f", MaxNumberOfMessages=10)
    call("fifo delete", "delete_message", QueueUrl="$f", ReceiptHandle="$h")
    call("fifo next", "receive_message", QueueUrl="$f")
    call("delete queue", "delete_queue", QueueUrl="$a")
    call("send to none", "send_message", QueueUrl="$a", MessageBody="x")


def run(penstock, moto):
    """Compares; returns the differences that nobody has decided."""
    sides = [Side(penstock), Side(moto)]
    accounts = ["000000000000", "123456789012"]
    found = []

    def call(name, action, keep=None, **arguments):
        answers = []
        for side, account in zip(sides, accounts):
            given = dict(arguments)
            if "Attributes" in given:
                given["Attributes"] = {key: value.replace("ACCOUNT", account) for key, value in given["Attributes"].items()}
            answer = side.call(action, **given)
            for key, path in (keep or {}).items():
                value = answer
                for part in path.split("."):
                    value = value[int(part)] if part.isdigit() else value[part]
                side.known[key] = value
            answers.append(plain(answer))
        if answers[0] != answers[1]:
            decision = DECIDED.get(name)
            print(f"{'decided' if decision else 'DIFFERS'}: {name}\n  penstock {answers[0]}\n  moto     {answers[1]}")
            if not decision:
                found.append(name)

    script(call)
    return found
