"""One client of Amazon SQS: each message is sent, received and deleted before the next one. boto_messages.py PORT COUNT"""

import sys

import boto3


def main():
    port, count = sys.argv[1:]
    client = boto3.client("sqs", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="bench",
                          aws_secret_access_key="bench")
    url = client.create_queue(QueueName="sqs")["QueueUrl"]
    for _ in range(int(count)):
        client.send_message(QueueUrl=url, MessageBody="x" * 200)
        [message] = client.receive_message(QueueUrl=url)["Messages"]
        client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    main()
