"""The proxy's client: connections are used again, and not where the server closes them."""

from __future__ import annotations

import asyncio

import pytest

from anharmonic.serve.monitor.upstream import Upstream


@pytest.mark.parametrize(("closing", "connections"), [(False, 1), (True, 20)])
def test_a_connection_is_used_again_unless_the_server_closes_it(closing, connections):
    opened = 0

    async def answer(reader, writer):
        nonlocal opened
        opened += 1
        while not reader.at_eof():
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n"
            writer.write(head + (b"connection: close\r\n" if closing else b"") + b"\r\nok")
            if closing:
                break
        writer.close()
        await writer.wait_closed()

    async def ask():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        upstream = Upstream(f"http://127.0.0.1:{port}", 5)
        for _ in range(20):
            reply = await upstream.request("GET", "/v2/health/ready", [], b"")
            assert (reply.status, reply.body) == (200, b"ok")
            upstream.release(reply)
        upstream.close()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(ask(), 20))
    assert opened == connections
