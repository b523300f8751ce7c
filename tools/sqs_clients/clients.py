"""Programs for Amazon SQS, with an endpoint URL and nothing else changed."""
import os
import subprocess
import sys
import tempfile
import threading
import time

import botocore.exceptions
import place


def check(is_so, what):
    if not is_so:
        sys.exit(f"sqs: {what}")


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except botocore.exceptions.ClientError as error:
        check(error.response["Error"]["Code"] == code, f"{code} was expected, not {error}")
    else:
        check(False, f"{code} was expected, and it was done")


def handles(program):
    """What becomes of receipt handles, and a long poll that is woken."""
    with place.penstock(program) as url:
        sqs = place.client(url)
        queue = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]

        def depth():
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
            return list(sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"].values())

        def receive(**arguments):
            return sqs.receive_message(QueueUrl=queue, **arguments)["Messages"][0]["ReceiptHandle"]

        sqs.send_message(QueueUrl=queue, MessageBody="late")
        first = receive()
        # A busy machine needs its time for what comes before the next end.
        second = receive(WaitTimeSeconds=20, VisibilityTimeout=60)
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=first)
        check(depth() == ["0", "1"], "a superseded handle has deleted")
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=second, VisibilityTimeout=1)
        third = receive(WaitTimeSeconds=20, VisibilityTimeout=60)
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=third, VisibilityTimeout=0)
        check(depth() == ["1", "0"], "a message was not given back")
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=second)
        check(depth() == ["1", "0"], "a superseded handle has deleted")
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=third)
        check(depth() == ["0", "0"], "the last handle has not deleted after its time")
        threading.Timer(0.5, lambda: place.client(url).send_message(QueueUrl=queue, MessageBody="x")).start()
        began = time.monotonic()
        receive(WaitTimeSeconds=20)
        check(time.monotonic() - began < 15, "a long poll was not woken")


def awscli(program):
    """Each action once through awscli."""
    with place.penstock(program) as url:
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}

        def aws(*arguments):
            command = ["aws", "--endpoint-url", url, "sqs", *arguments, "--output", "text"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            check(done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}")
            return done.stdout.strip()

        queue = ("--queue-url", aws("create-queue", "--queue-name", "cli", "--query", "QueueUrl"))
        aws("send-message", *queue, "--message-body", "one")
        aws("send-message-batch", *queue, "--entries", "Id=1,MessageBody=two")
        handle = aws("receive-message", *queue, "--query", "Messages[0].ReceiptHandle")
        aws("delete-message", *queue, "--receipt-handle", handle)
        aws("get-queue-attributes", *queue, "--attribute-names", "All")
        aws("delete-queue", *queue)


def signatures(program):
    """Tokens as access keys."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("ops 0123456789abcdef-ops read,produce,consume,operate\nshop 0123456789abcdef-shop produce orders\n")
        with place.penstock(program, "--token-file", tokens) as url:
            def keys(name, secret):
                return place.client(url, aws_access_key_id=name, aws_secret_access_key=secret, region_name="eu-west-1")

            ops, shop = keys("ops", "0123456789abcdef-ops"), keys("shop", "0123456789abcdef-shop")
            queue = ops.create_queue(QueueName="orders")["QueueUrl"]
            other = ops.create_queue(QueueName="other")["QueueUrl"]
            shop.send_message(QueueUrl=shop.get_queue_url(QueueName="orders")["QueueUrl"], MessageBody="x")
            refused("AccessDeniedException", shop.receive_message, QueueUrl=queue)
            refused("AccessDeniedException", shop.send_message, QueueUrl=other, MessageBody="x")
            refused("SignatureDoesNotMatch", keys("ops", "0123456789abcdef-opS").list_queues)
            refused("InvalidClientTokenId", keys("nobody", "0123456789abcdef-ops").list_queues)


def celery(program):
    """A worker of Celery and a task, the result through a file."""
    with tempfile.TemporaryDirectory() as folder, place.penstock(program) as url:
        with open(os.path.join(folder, "jobs.py"), "w") as file:
            file.write(
                "import celery, os\n"
                "app = celery.Celery('jobs', broker=os.environ['BROKER'])\n"
                "app.conf.broker_transport_options = {'region': 'us-east-1', 'wait_time_seconds': 2, 'polling_interval': 0.1}\n"
                "app.conf.broker_connection_retry_on_startup = True\n"
                "@app.task\ndef write(path, text):\n    open(path, 'w').write(text)\n")
        environment = {**os.environ, "BROKER": url.replace("http://", "sqs://a:b@"), "PYTHONPATH": folder}
        environment["CELERY_BROKER"] = environment["BROKER"]
        bin = os.path.dirname(sys.executable)
        worker = subprocess.Popen(
            [os.path.join(bin, "celery"), "-A", "jobs", "worker", "--pool", "solo", "--without-gossip", "--without-mingle"],
            cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        answer = os.path.join(folder, "answer")
        try:
            subprocess.run(
                [sys.executable, "-c", f"import jobs; jobs.write.delay({answer!r}, 'done')"], cwd=folder, env=environment, check=True)
            wait_for(lambda: os.path.exists(answer) and open(answer).read() == "done", "Celery has not run the task")
        finally:
            worker.terminate()
            try:
                worker.wait(10)
            except subprocess.TimeoutExpired:
                worker.kill()


def dramatiq(program):
    """A worker of dramatiq and an actor, in this process."""
    import dramatiq as library
    from dramatiq_sqs import SQSBroker

    with place.penstock(program) as url:
        broker = SQSBroker(endpoint_url=url, middleware=[], dead_letter=True, **place.KEYS)
        library.set_broker(broker)
        done = threading.Event()

        @library.actor(queue_name="mails", broker=broker)
        def send(text):
            if text == "hello":
                done.set()

        worker = library.Worker(broker, worker_timeout=100)
        worker.start()
        try:
            send.send("hello")
            check(done.wait(120), "dramatiq has not run the actor")
        finally:
            worker.stop()


def wait_for(is_so, otherwise):
    """Looks until it is so; files have no signal."""
    end = time.monotonic() + 120
    while not is_so():
        check(time.monotonic() < end, otherwise)
        time.sleep(0.05)
