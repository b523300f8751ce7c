"""Runs the programs that are measured, and reads what they print."""

import json
import mmap
import os
import pathlib
import select
import struct
import subprocess
import time


class Trace:
    """Counts the flushes of everything that is started through it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()
        self.files = []

    def prefix(self, preload=None):
        path = self.folder / str(len(self.files))
        self.files.append(path)
        given = ["-E", f"LD_PRELOAD={preload}"] if preload else []
        return ["strace", "-f", "-c", "--seccomp-bpf", "-e", "trace=fdatasync,fsync,msync,sync_file_range", *given,
                "-o", str(path)]

    def flushes(self):
        total = 0
        for path in self.files:
            for line in path.read_text().splitlines() if path.exists() else []:
                words = line.split()
                if len(words) >= 5 and words[-1] in ("fdatasync", "fsync", "msync", "sync_file_range"):
                    total += int(words[3])
        return total


def command_line(command, trace=None, preload=None):
    """The words of `command` as they are started, and its environment."""
    words = [str(word) for word in command]
    environment = dict(os.environ)
    if trace:
        words = trace.prefix(preload) + words
    elif preload:
        environment["LD_PRELOAD"] = str(preload)
    return words, environment


def call(command, trace=None, preload=None, timeout=240):
    """Runs a program to its end, and gives what its last line says as JSON."""
    words, environment = command_line(command, trace, preload)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{os.path.basename(str(command[0]))}: {(done.stderr or done.stdout).strip()[-300:]}")
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}


class Running:
    """A program that says when it is ready, goes on when it is told to, and then prints its result."""

    def __init__(self, command, trace=None, preload=None):
        self.words, environment = command_line(command, trace, preload)
        self.process = subprocess.Popen(
            self.words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    @property
    def pid(self):
        return self.process.pid

    def wait_until_ready(self, timeout=60):
        if self._line(timeout) != "ready":
            raise RuntimeError(f"{self.words[:3]} did not get ready")

    def go_on(self):
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def result(self, timeout=240):
        line = self._line(timeout)
        self.process.stdin.close()
        self.process.wait(timeout=30)
        return json.loads(line)

    def end(self):
        """Ends it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def _line(self, timeout):
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise RuntimeError(f"{self.words[:3]} said nothing for {timeout} s")
        return self.process.stdout.readline().strip()


class Board:
    """The counters that processes share: how many messages are done, and when the goal was reached."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.write_bytes(bytes(16))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 16)

    def read(self):
        return struct.unpack("qq", self.memory[:16])

    def wait(self, goal, timeout):
        """When the goal was reached, in nanoseconds."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            done, end = self.read()
            if done >= goal and end:
                return end
            time.sleep(0.01)
        raise RuntimeError(f"only {self.read()[0]} of {goal} messages were done in {timeout} s")


def merged(latencies):
    """One set of percentiles of several histograms."""
    counts = {}
    for latency in latencies:
        for value, count in latency["histogram"]:
            counts[value] = counts.get(value, 0) + count
    total = sum(counts.values())
    ordered = sorted(counts.items())
    result = {"histogram": ordered}
    for name, part in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        left = part * total
        for value, count in ordered:
            left -= count
            if left <= 0:
                result[name] = value / 1000
                break
    result["max"] = max(latency["max"] for latency in latencies)
    return result


def resident_bytes(pid, kind="VmRSS"):
    """What a process has in memory; of the kind RssAnon without pages of files, its program's among them."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the kernel does not say what process {pid} has in memory")


def cpu_seconds(pid):
    """Processor time of all threads that a process has and had."""
    # The clock that clock_getcpuclockid(3) names; a sum over the threads falls when one of them ends.
    return time.clock_gettime((~pid << 3) | 2)
