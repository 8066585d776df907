"""llama.cpp's server on a loopback port of its own, with a small random model that it creates and
that prefers a few words. Takes the format of its chats, and prints its address once it answers."""

import json
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.request

import gguf
import numpy

WIDTH = 64
HEADS = 4
LAYERS = 2
INNER = 128
CONTEXT = 16_384
FIRST_BYTE = 3
WORDS = "so it goes on and while nobody minds the rain or counts hours until morning".split()

# The library prints to stdout, so messages for the parent process use another descriptor.
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def vocabulary():
    """Every byte is a token, so that every text can be read; and there are some words."""
    kind = gguf.TokenType
    tokens = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    assert len(tokens) == FIRST_BYTE
    tokens += [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    first_word = len(tokens)
    return tokens + [(f"▁{word}", kind.NORMAL) for word in WORDS], first_word


def byte(letter):
    return FIRST_BYTE + ord(letter)


def write_model(path):
    tokens, first_word = vocabulary()
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)

    def weights(*shape):
        return random.normal(0, 0.2, shape).astype(numpy.float32)

    # The first number of a state says nothing but that there is one. What the layers add leaves it
    # alone, and at the end it speaks for the words and against all else: the model never ends.
    states = weights(len(tokens), WIDTH)
    states[:, 0] = 4
    opinions = weights(len(tokens), WIDTH)
    opinions[:first_word, 0] = -8
    opinions[first_word:, 0] = 8
    # Where it has to choose between a message and a call of a function, it calls; and what it puts
    # in quotation marks comes to an end.
    opinions[byte("f"), 0] = -7
    opinions[byte('"'), 0] = 8
    writer.add_tensor("token_embd.weight", states)
    writer.add_tensor("output.weight", opinions)
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    for layer in range(LAYERS):
        for name in ["attn_norm", "ffn_norm"]:
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(WIDTH, numpy.float32))
        for name in ["attn_q", "attn_k", "attn_v"]:
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(WIDTH, WIDTH))
        for name in ["ffn_gate", "ffn_up"]:
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights(INNER, WIDTH))
        for name, width in [("attn_output", WIDTH), ("ffn_down", INNER)]:
            added = weights(WIDTH, width)
            added[0] = 0
            writer.add_tensor(f"blk.{layer}.{name}.weight", added)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def tell_when_it_answers(url):
    while True:
        try:
            urllib.request.urlopen(f"{url}/v1/models", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    print(json.dumps({"url": url}), file=told, flush=True)
    # The parent process may end without a signal.
    sys.stdin.read()
    os._exit(0)


port = free_port()
with tempfile.TemporaryDirectory() as folder:
    model = f"{folder}/tiny.gguf"
    write_model(model)
    threading.Thread(
        target=tell_when_it_answers, args=(f"http://127.0.0.1:{port}",), daemon=True
    ).start()
    from llama_cpp.server.__main__ import main

    arguments = {
        "--model": model,
        "--model_alias": "tiny",
        "--host": "127.0.0.1",
        "--port": str(port),
        "--n_ctx": str(CONTEXT),
        "--n_threads": "1",
        "--chat_format": sys.argv[1],
        "--verbose": "False",
    }
    sys.argv[1:] = [word for pair in arguments.items() for word in pair]
    main()
