"""An event loop that never waits: the world's scheduler steps it, and its time is the process's."""

import asyncio
import heapq

SHORTEST = 1e-6  # s


class SimLoop(asyncio.base_events.BaseEventLoop):
    """:param process: gives the time, and takes what would go to a thread"""

    def __init__(self, process):
        super().__init__()
        self._process = process
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self):
        return self._process.clock()

    def call_at(self, when, callback, *args, context=None):
        """The shortest wait takes time, or a wait for a remainder of rounding would never end."""
        when = max(when, self.time() + SHORTEST)
        return super().call_at(when, callback, *args, context=context)

    def run_in_executor(self, executor, method, *args):
        return self._process.in_thread(executor, method, args)

    def step(self):
        """Run what is ready, and what gets ready by that."""
        ready, timers = self._ready, self._scheduled
        now = self.time() + self._clock_resolution
        self._thread_id = 1
        asyncio.events._set_running_loop(self)
        try:
            while True:
                while timers and timers[0]._when <= now:
                    ready.append(heapq.heappop(timers))
                if not ready:
                    return
                for _ in range(len(ready)):
                    handle = ready.popleft()
                    if not handle._cancelled:
                        handle._run()
        finally:
            asyncio.events._set_running_loop(None)
            self._thread_id = None

    def next_time(self):
        """When it wants to go on, by its own clock; None if it waits for others."""
        if self._ready:
            return self.time()
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)
        return timers[0]._when if timers else None

    def kill(self):
        """It is not stepped again; what its tasks would still clean up has no effect on anything."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False

    def __del__(self):
        pass

    def _timer_handle_cancelled(self, _handle):
        pass

    def _write_to_self(self):
        pass
