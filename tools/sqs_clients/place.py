"""Servers in a folder of their own, that end with the test."""
import contextlib
import os
import subprocess
import sys
import tempfile

import boto3

KEYS = {"aws_access_key_id": "anyone", "aws_secret_access_key": "anything", "region_name": "us-east-1"}


@contextlib.contextmanager
def penstock(program, *arguments):
    """A server with an empty file; its URL."""
    with tempfile.TemporaryDirectory() as folder:
        file = ["--db", os.path.join(folder, "queues.db")]
        # A server serves what is there; the command makes a file with its first queue.
        for act in ("create", "delete"):
            made = os.path.join(os.path.dirname(program), "penstock")
            subprocess.run([made, "queue", act, "first", *file], check=True, capture_output=True)
        command = [program, *file, "--listen", "127.0.0.1:0", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            line = process.stdout.readline()
            if " serves at " not in line:
                sys.exit(f"the server did not start: {line}")
            yield line.split(" serves at ")[1].strip().rstrip("/")
        finally:
            process.terminate()
            process.wait(60)


@contextlib.contextmanager
def moto():
    """moto's server in this process; its URL."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def client(url, **keys):
    """A client of boto3 that tries once."""
    from botocore.config import Config

    return boto3.client("sqs", endpoint_url=url, config=Config(retries={"total_max_attempts": 1}), **(keys or KEYS))
