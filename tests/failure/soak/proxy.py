# SPDX-License-Identifier: Apache-2.0
"""A way to the broker that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from headrace.local.ports import HOST


class Proxy:
    """Passes connections on to a port of this machine, until it is told otherwise.

    Args:
        port: Where it listens.
        target: Where the connections go.
    """

    def __init__(self, port: int, target: int) -> None:
        self._port, self._target = port, target
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        threading.Thread(target=self._run, daemon=True).start()

    def cut(self) -> None:
        """Ends every connection, and each new one, until `mend`."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._end_all)

    def mend(self) -> None:
        self._is_cut = False

    def _end_all(self) -> None:
        for writer in self._open:
            # At once and without a farewell, as when a cable is pulled.
            writer.transport.abort()

    def _run(self) -> None:
        self._loop.run_until_complete(asyncio.start_server(self._pass_on, HOST, self._port))
        self._loop.run_forever()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The broker may be away.
        with contextlib.suppress(OSError):
            if not self._is_cut:
                there, back = await asyncio.open_connection(HOST, self._target)
                self._open |= {writer, back}
                await asyncio.gather(_pump(reader, back), _pump(there, writer))
                self._open -= {writer, back}
        writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    sink.close()
