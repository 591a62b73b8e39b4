"""Alarms to somebody else's address: signed, tried again until taken, the same id each time.

The alarms table is the outbox, so one that a crash interrupts is delivered after the restart. Of
several services on a PostgreSQL store one delivers for all; another takes over when it ends.
Headers and signature follow the Standard Webhooks specification: HMAC-SHA256 of
"id.timestamp.body" under the shared secret, which is base64 after `whsec_`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from typing import TYPE_CHECKING

from sqlalchemy import update

from anharmonic.errors import first_line
from anharmonic.monitor.alarms import direction_word
from anharmonic.serve.http.problems import ServiceError
from anharmonic.serve.monitor.locks import Duty
from anharmonic.serve.monitor.metrics import Metrics
from anharmonic.serve.monitor.queries import AlarmRow, Queries
from anharmonic.serve.monitor.schema import alarms
from anharmonic.serve.monitor.settings import Settings, signing_key
from anharmonic.serve.monitor.stored_monitor import Outcome, StoredMonitor

if TYPE_CHECKING:
    import httpx

__all__ = ["Webhook", "signature"]

LOG = logging.getLogger("anharmonic.serve.monitor")
ATTEMPTS = 20
LOOK_SECONDS = 5.0
"""Between two looks for alarms that other services have raised."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
SECONDS = 10.0
INTERNAL = ("attempts", "delivered", "cleared", "acknowledged", "acknowledged_by", "note")
"""Columns that are not sent."""


def signature(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """The webhook-signature header, which the receiver computes again and compares.

    >>> signature("secret", "a", 1, b"{}")
    'v1,DH9+vItb05LF5AmGVxmIk2XJE76uu57Vhud93LDFWM4='
    >>> signature("whsec_c2VjcmV0", "a", 1, b"{}") == signature("secret", "a", 1, b"{}")
    True
    """
    signed = f"{id}.{timestamp}.".encode() + body
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


class Webhook:
    """Writes every alarm of a monitor to the log, and posts it where the settings say."""

    def __init__(self, stored_monitor: StoredMonitor, metrics: Metrics, settings: Settings) -> None:
        self.store, self.metrics = stored_monitor.store, metrics
        self.pause = FIRST_PAUSE
        self.url, self.secret = settings.webhook, settings.webhook_secret
        self.queries = Queries(stored_monitor.store, stored_monitor.name)
        self._duty = Duty(self.store.engine, f"webhook of {stored_monitor.name}")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._new_alarms = asyncio.Event()
        if self.url:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await asyncio.to_thread(self._duty.release)

    def notice(self, outcome: Outcome) -> None:
        """Log the alarms of an outcome of the pipeline, and start their delivery."""
        for alarm in outcome.alarms:
            LOG.warning(
                "alarm %s: %s %s%s since event %d, seen at event %d (log evidence %.2f, line %.2f)",
                alarm.id,
                alarm.watched,
                direction_word(alarm.direction),
                "" if alarm.segment is None else f" in segment {alarm.segment!r}",
                alarm.since,
                alarm.sequence,
                alarm.log_evidence,
                alarm.threshold,
            )
        if outcome.alarms:
            self._new_alarms.set()

    async def _run(self) -> None:
        import httpx

        pause = self.pause
        async with httpx.AsyncClient(timeout=SECONDS, follow_redirects=False) as client:
            while True:
                self._new_alarms.clear()
                try:
                    late = await self._deliver_due(client)
                except ServiceError:
                    late = True
                except Exception:
                    LOG.exception("alarms could not be delivered: trying again")
                    late = True
                pause = min(2 * pause, LONGEST_PAUSE) if late else self.pause
                try:
                    async with asyncio.timeout(pause if late else LOOK_SECONDS):
                        await self._new_alarms.wait()
                except TimeoutError:
                    continue

    async def _deliver_due(self, client: httpx.AsyncClient) -> bool:
        """Try everything that is due once; whether something has to be tried again."""
        due = await asyncio.to_thread(self._due)
        left = 0
        for alarm in due:
            accepted = await self._post(client, alarm)
            moment = time.time() if accepted else None
            attempts = alarm["attempts"] + 1
            await asyncio.to_thread(self._record_attempt, alarm["id"], attempts, moment)
            left += not accepted
            if not accepted and attempts >= ATTEMPTS:
                LOG.error("alarm %s was not taken in %d attempts", alarm["id"], ATTEMPTS)
        self.metrics.undelivered.set(left)
        return left > 0

    def _due(self) -> list[AlarmRow]:
        """What this service has to deliver: nothing where another one does."""
        with self.store.translate_errors():
            held = self._duty.held()
        return self.queries.undelivered(ATTEMPTS) if held else []

    async def _post(self, client: httpx.AsyncClient, alarm: AlarmRow) -> bool:
        import httpx

        data = {name: value for name, value in alarm.items() if name not in INTERNAL}
        body = json.dumps({"type": "anharmonic.alarm", "data": data}).encode()
        now = int(time.time())
        headers = {
            "content-type": "application/json",
            "webhook-id": alarm["id"],
            "webhook-timestamp": str(now),
        }
        if self.secret:
            headers["webhook-signature"] = signature(self.secret, alarm["id"], now, body)
        try:
            # The status is the answer: what follows it is not read, however long.
            async with client.stream(
                "POST", str(self.url), content=body, headers=headers
            ) as response:
                accepted, status = bool(response.is_success), response.status_code
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as problem:
            LOG.warning("the webhook does not answer: %s", first_line(problem))
            return False
        if not accepted:
            LOG.warning("the webhook answered %d", status)
        return accepted

    def _record_attempt(self, id: str, attempts: int, delivered: float | None) -> None:
        with self.store.writing() as connection:
            connection.execute(
                update(alarms)
                .where(alarms.c.id == id)
                .values(attempts=attempts, delivered=delivered)
            )
