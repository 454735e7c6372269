"""An engine of a few lines for the runner."""

from services.specs import TurnResult


async def answer(_request, progress, journal, _stop):
    journal.emit("text", content="Hel", step=0)
    journal.emit("text", content="lo", step=0)
    progress.step = 1
    await journal.save_step(progress)
    return TurnResult(state="done", text="Hello")
