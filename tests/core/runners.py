"""An engine of a few lines for the runner."""

from services import events
from services.specs import TurnResult


async def answer(_request, progress, journal, _stop):
    journal.emit(events.text("Hel", 0))
    journal.emit(events.text("lo", 0))
    progress.step = 1
    await journal.save_step(progress)
    return TurnResult(state="done", text="Hello")
