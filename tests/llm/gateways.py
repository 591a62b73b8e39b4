"""A real gateway before a real server, and a chat that is sent through it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from anharmonic.llm.clients import Endpoint
from anharmonic.llm.recipe import Recipe
from anharmonic.serve.llm.gateway import Gateway
from anharmonic.serve.llm.scorer import Scorer
from tests.llm.servers import Reply, Server, words

KEY = "sk-behind-1234567890"
CHAT = {
    "model": "some-model",
    "temperature": 0,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "first?"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "really?"},
    ],
}


def touchy(asked, count):
    """Changes its mind when the last message is touched."""
    return Reply("yes" if asked["messages"][-1]["content"] == "really?" else "no no no")


@contextmanager
def gateway(behaviour, share=0.0, repeats=0, watch=None, embed=words, **options):
    with Server(behaviour) as behind, Endpoint(behind.url, "as asked", key="BEHIND") as client:
        scores = []
        recipe = Recipe(count=4, repeats=repeats)

        def told(score):
            scores.append(score)
            if watch is not None:
                watch.update(score)

        scorer = Scorer(client, embed, recipe, share, told)
        app = Gateway(behind.url, scorer, watch=watch, key="BEHIND", **options)
        config = uvicorn.Config(app, port=0, log_level="error", ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as caller:
                yield caller, behind, scores, app
        finally:
            server.should_exit = True
            thread.join()


def post(caller, chat=CHAT, **headers):
    return caller.post("/v1/chat/completions", json=chat, headers=headers)


def raw(caller, data, shut=True, wait=3.0):
    """What comes back for some bytes on a line of their own."""
    url = caller.base_url
    with socket.create_connection((url.host, url.port), timeout=wait) as line:
        line.sendall(data)
        if shut:
            line.shutdown(socket.SHUT_WR)
        try:
            return line.recv(65536)
        except OSError:
            return b""
