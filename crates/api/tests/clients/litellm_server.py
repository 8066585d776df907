"""LiteLLM's proxy on a loopback port of its own. Its one argument is its configuration as JSON.
Prints its address once it answers."""

import json
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.request

# What it looks up elsewhere on its own account, and what its clients would ask a proxy for.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="ERROR", NO_PROXY="*")

# The library prints to stdout, so messages for the parent process use another descriptor.
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def tell_when_it_answers(url):
    while True:
        try:
            urllib.request.urlopen(f"{url}/health/liveliness", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    print(json.dumps({"url": url}), file=told, flush=True)
    # The parent process may end without a signal.
    sys.stdin.read()
    os._exit(0)


port = free_port()
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    # JSON is YAML.
    file.write(sys.argv[1])
    file.flush()
    threading.Thread(
        target=tell_when_it_answers, args=(f"http://127.0.0.1:{port}",), daemon=True
    ).start()
    from litellm.proxy.proxy_cli import run_server

    run_server(["--config", file.name, "--host", "127.0.0.1", "--port", str(port)])
