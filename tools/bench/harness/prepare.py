"""Builds what is measured, and installs what it is compared with."""

import os
import pathlib
import shutil
import subprocess
import sys

from .place import FOLDER, ROOT, is_root, say

# Debian's packages by the program or file that tells whether they are there.
PACKAGES = {
    "redis-server": "redis-server",
    "beanstalkd": "beanstalkd",
    "nats-server": "nats-server",
    "strace": "strace",
}
PYTHON_PACKAGES = ["litequeue", "persist-queue", "huey", "celery[redis]", "boto3", "psycopg[binary]", "procrastinate",
                   "pgqueuer[asyncpg]", "pgmq"]


def _run(command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, **options)


def programs(place, wants_cli, wants_streams, wants_server, wants_postgres):
    """Penstock's own side, without which there is nothing to measure."""
    say("building the programs in C")
    sources = [FOLDER / "C" / f"{name}.c" for name in ["main", "run", "wire", "connections", "sqlite", "redis", "beanstalkd", "nats"]]
    command = ["cc", "-O2", "-D_GNU_SOURCE", "-o", place.peers, *sources, "-lsqlite3"]
    include = _postgres_headers()
    if include:
        command += ["-DWITH_POSTGRES", f"-I{include}", FOLDER / "C" / "postgres.c", FOLDER / "C" / "postgres_jobs.c", "-lpq"]
    if _rabbitmq_headers():
        command += ["-DWITH_RABBITMQ", FOLDER / "C" / "rabbitmq.c", "-lrabbitmq"]
    _run(command)
    if sys.platform == "linux":
        _run(["cc", "-O2", "-shared", "-fPIC", "-o", place.slow_disk, FOLDER / "C" / "slowdisk.c"])
    else:
        place.missing["slow disk"] = "the preloaded library is for Linux"
    if wants_server and sys.platform == "linux":
        _run(["cc", "-O2", "-D_GNU_SOURCE", "-o", place.sqs_floor, FOLDER / "C" / "sqs.c", "-lsqlite3"])
    else:
        place.missing["sqs-floor"] = "it is for Linux"
    say("building Penstock in release (minutes at first)")
    static = [] if sys.platform == "darwin" else ["--static-swift-stdlib"]
    build = ["nice", "swift", "build", "-c", "release", "--package-path", FOLDER, *static]
    # One build of Penstock serves all of them.
    _run([*build, "--product", "penstock-bench"], stdout=subprocess.DEVNULL)
    installed = ["penstock"] * wants_cli + ["penstock-server"] * wants_server
    if installed:
        _run(["nice", FOLDER.parent / "release", "--package-path", FOLDER, *installed], stdout=subprocess.DEVNULL)
    if wants_postgres and include:
        # libpq comes with libraries that are there to be shared.
        _run([word for word in build if word not in static] + ["--product", "postgres-bench"], stdout=subprocess.DEVNULL)
    if wants_streams:
        _run([*build, "--product", "streams-bench", *_curl(place)], stdout=subprocess.DEVNULL)


def _curl(place):
    """What to add to a build that links all of Foundation, as the port of Combine needs.

    That includes libcurl, which is on every machine with a toolchain, but under its plain name only with its headers.
    """
    if sys.platform == "darwin":
        return []
    folder = place.empty("lib")
    (folder / "libcurl.so").write_text("INPUT(libcurl.so.4)\n")
    return ["-Xlinker", f"-L{folder}"]


def peers(place):
    """Everything that a peer needs. What cannot be had is noted, and its rows say so."""
    missing = [package for program, package in PACKAGES.items() if not _find(program)]
    if not _postgres_headers():
        missing.append("libpq-dev")
    if not postgres_folder():
        missing.append("postgresql")
    if not rabbitmq_program():
        missing.append("rabbitmq-server")
    if not _rabbitmq_headers():
        missing.append("librabbitmq-dev")
    if missing:
        _install(missing)
    for program, package in PACKAGES.items():
        if not _find(program):
            place.missing[program] = f"Debian's package {package} could not be installed"
    if not postgres_folder() or not _postgres_headers():
        place.missing["postgres"] = "Debian's packages postgresql and libpq-dev could not be installed"
    if not rabbitmq_program() or not _rabbitmq_headers():
        place.missing["rabbitmq"] = "Debian's packages rabbitmq-server and librabbitmq-dev could not be installed"
    _python_queues(place)


def _install(names):
    say(f"installing {' '.join(names)}")
    as_root = [] if is_root() else ["sudo", "-n"]
    # No server of these is to start by itself.
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
    try:
        _run([*as_root, "apt-get", "update", "-qq"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        pass  # What is needed may be in the lists that are there.
    for name in names:
        try:
            _run(
                [*as_root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", name], env=environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            say(f"{name} could not be installed")


def _python_queues(place):
    venv = place.scratch / "venv"
    installed = venv / "installed"
    there = installed.read_text().splitlines() if installed.exists() else []
    missing = [name for name in PYTHON_PACKAGES if name not in there]
    if not missing:
        return
    say(f"installing {' '.join(missing)}")
    try:
        _run([sys.executable, "-m", "venv", venv])
    except (OSError, subprocess.CalledProcessError):
        shutil.rmtree(venv, ignore_errors=True)
    # Each by itself: one that wants a newer Python leaves the others.
    for name in missing:
        try:
            _run([place.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", name])
            there.append(name)
        except (OSError, subprocess.CalledProcessError):
            place.missing[name] = "its package could not be installed from PyPI"
    if venv.exists():
        installed.write_text("\n".join(there) + "\n")


def _find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def _postgres_headers():
    for folder in ["/usr/include/postgresql", "/usr/local/include", "/usr/include"]:
        if os.path.exists(f"{folder}/libpq-fe.h"):
            return folder
    return None


def postgres_folder():
    """The folder with PostgreSQL's server programs, of the newest version."""
    base = "/usr/lib/postgresql"
    versions = [name for name in (os.listdir(base) if os.path.isdir(base) else [])
                if os.path.exists(f"{base}/{name}/bin/initdb")]
    return f"{base}/{max(versions, key=float)}/bin" if versions else None


def _rabbitmq_headers():
    return os.path.exists("/usr/include/amqp_tcp_socket.h")


def rabbitmq_program():
    """The server itself, of the newest version: what is in the path changes the user first."""
    found = sorted(pathlib.Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
    return found[-1] if found else None
