"""A language model: which answers hold when the question is touched?

pip install 'anharmonic[llm]' && python examples/language_model.py
A stand-in server speaks OpenAI's protocol here, so that no key and no network is needed. For a real
one: Endpoint("https://host/v1", "name"), with the key in ANHARMONIC_LLM_KEY.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anharmonic as ah
from anharmonic.llm.clients import Endpoint

KNOWN = {"France": "Paris", "Norway": "Oslo"}


class Chat(BaseHTTPRequestHandler):
    """Knows two capitals, and makes something up otherwise."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        Chat.asked += 1
        guess = ("In 1834", "Nobody knows", "It was Napoleon", "The second one")[Chat.asked % 4]
        said = next((city for country, city in KNOWN.items() if country in prompt), guess)
        told = {
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(said)},
        }
        answer = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", "stand-in", concurrency=1)
    questions = [
        "What is the capital of France?",
        "What is the capital of Norway?",
        "Who won the first race?",
    ]
    found = ah.llm.gamma(client, questions, embed=ah.llm.embed.characters(), count=6, seed=0)
    print(found)
    for question, value, record in zip(questions, found.values, found.records, strict=True):
        print(f"{value:.3f}  {question} {record.answer.text}")
    assert found.values[2] > found.values[:2].max()
    client.close()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
