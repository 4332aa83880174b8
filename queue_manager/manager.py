"""The loop of one database: take the lock, look, wait, look again; reconnect for as long as it takes."""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext

from core.errors import DatabaseFault
from core.program.stopping import Stop
from queue_manager.commons import Commons
from queue_manager.dispatcher import Dispatcher, Look
from queue_manager.lock import wait_for_lock
from queue_manager.metrics import DatabaseNumbers
from queue_manager.observer import observing
from queue_manager.outage import Outage
from queue_manager.pulse import measuring
from queue_manager.sender import Sender
from sql.held import HeldConnection
from sql.ledger import CHANNEL
from sql.migrate import migrate
from sql.session import Database

AFTER_SENDING_SECONDS = 0.01  # lets some tasks end, so that a look sends more than one
BARRIER_SECONDS = 0.02  # nothing is pending and one task runs: the phase is about to end
BUSY_SECONDS = 0.1  # tasks run, and each slot has its next one waiting at the broker
IDLE_SECONDS = 0.5

log = logging.getLogger(__name__)


def pause_after(look: Look, before: float) -> float:
    """Seconds until the next look, unless a notification comes; `before` is the pause before this look.

    While looks find nothing to do the pauses double, so that waiting for long tasks costs no processor.
    """
    if look.changed or (look.sent and look.sent >= look.slots):
        return 0.0
    if look.sent:
        return AFTER_SENDING_SECONDS
    if look.out and not look.pending:
        # A phase of milliseconds is seen to its end at once; while many tasks of a long one run, the end is not near.
        return min(BUSY_SECONDS, BARRIER_SECONDS * look.out, max(BARRIER_SECONDS, 2 * before))
    return min(BUSY_SECONDS if look.out else IDLE_SECONDS, max(AFTER_SENDING_SECONDS, 2 * before))


class Manager:
    """Dispatches one database's tasks until `stop` is set."""

    def __init__(
        self,
        database: Database,
        broker_url: str,
        stop: Stop,
        commons: Commons | None = None,
        numbers: DatabaseNumbers | None = None,
        *,
        observe: bool = True,
        apart: bool = False,
        run: str = "",
    ) -> None:
        """`commons`: shared with the managers of the other databases; None: there are no others.

        `numbers`: where to say what was done. `observe`: as the settings say. `apart`: tasks may name a host
        that is not to do them. `run`: as `core.settings.Settings.run`.
        """
        self._apart = apart
        self._run_id = run
        self._observe = observe
        self._numbers = numbers or DatabaseNumbers()
        self._database = database
        self._broker_url = broker_url
        self._stop = stop
        self._commons = commons or Commons()
        self._outage = Outage(f"database {database.name}")

    def run(self) -> None:
        """Until stopped. Raises UsageError when the schema is newer than this code."""
        observed = observing(self._database, self._numbers) if self._observe else nullcontext()
        with measuring(self._database), observed:
            self._run()
        self._database.dispose()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                migrate(self._database)
                with self._database.listen() as held:
                    self._outage.over()
                    if wait_for_lock(held, self._database.name, self._stop):
                        self._dispatch(held)
            except DatabaseFault as fault:
                self._stop.wait(self._outage.failed(fault, time.monotonic()))

    def _dispatch(self, held: HeldConnection) -> None:
        sender = Sender(self._broker_url, self._database.name, self._run_id)
        try:
            held.subscribe(CHANNEL)
            names = (self._database.name, self._commons, self._numbers)
            dispatcher = Dispatcher(held, sender, *names, apart=self._apart)
            dispatcher.begin()
            self._numbers.active = True
            log.info("database %s: dispatching", self._database.name)
            pause = 0.0
            while not self._stop.is_set():
                look = dispatcher.look()
                pause = pause_after(look, pause)
                if held.wait(pause):
                    dispatcher.count_slots()
        finally:
            self._numbers.active = False
            self._commons.forget(self._database.name)
            sender.close()
