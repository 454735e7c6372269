"""An OpenAI-compatible endpoint on the loopback around a GGUF file; runs in the environment that has xllamacpp."""

import argparse
import os
import signal
import threading
from pathlib import Path

import xllamacpp

# Prompt caches beside the running one; llama.cpp's own default is 8192.
CACHE_MIB = 768  # what the three assistants' questions begin with
MAX_ANSWER = 1024  # tokens; a small model can repeat itself without end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("template", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens")
    options = parser.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_ctx = options.context
    params.n_predict = MAX_ANSWER
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 2
    params.use_jinja = True
    params.chat_template = options.template.read_text()
    # The same question gives the same answer, unless a request says otherwise.
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    # Weights are not repacked: half a gigabyte less memory and a faster first token.
    params.no_extra_bufts = True
    params.cache_ram_mib = CACHE_MIB
    params.ui = False
    params.offline = True

    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    server = xllamacpp.Server(params)  # stops when it is garbage-collected
    print("listening", server.listening_address, flush=True)
    done.wait()


if __name__ == "__main__":
    main()
