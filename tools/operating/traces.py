#!/usr/bin/env python3
"""Reads the spans of one message as OpenTelemetry's own definition of them has it: traces.py PENSTOCK, with a file in PENSTOCK_DB."""

import base64
import http.server
import os
import subprocess
import sys
import threading

import packages

requests = []


def definition():
    """OpenTelemetry's definition of what is sent to a collector, and a reader of its JSON."""
    service = packages.imported("opentelemetry.proto.collector.trace.v1.trace_service_pb2", "opentelemetry-proto==1.45.2")
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import Span
    return json_format, service.ExportTraceServiceRequest, Span


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        requests.append((self.path, self.headers["Content-Type"], body))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def number(field):
    """An id: hexadecimal digits in OTLP's JSON, which a reader of plain protobuf takes for base64."""
    return base64.b64encode(field).decode()


def main():
    penstock = sys.argv[1]
    json_format, ExportTraceServiceRequest, Span = definition()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
    subprocess.run([penstock, "queue", "create", "traced"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([penstock, "enqueue", "traced", "x"], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run([penstock, "work", "traced", "--drain", "--", "sh", "-c", "exit 65"], env=environment, check=True)
    server.shutdown()
    spans = {}
    for path, kind, body in requests:
        assert (path, kind) == ("/v1/traces", "application/json"), (path, kind)
        # A member that is none of the definition's is an error.
        request = json_format.Parse(body, ExportTraceServiceRequest())
        for resource in request.resource_spans:
            names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            assert names["service.name"] == "penstock", names
            spans.update({span.name: span for scope in resource.scope_spans for span in scope.spans})
    send, process = spans["send traced"], spans["process traced"]
    assert send.kind == Span.SPAN_KIND_PRODUCER and process.kind == Span.SPAN_KIND_CONSUMER
    assert [(link.trace_id, link.span_id) for link in process.links] == [(send.trace_id, send.span_id)]
    assert len(number(send.trace_id)) == 32 and len(number(send.span_id)) == 16, (send.trace_id, send.span_id)
    assert process.status.code == 2 and send.start_time_unix_nano <= send.end_time_unix_nano
    print(f"kit: {len(spans)} spans are what OpenTelemetry's definition says")


main()
