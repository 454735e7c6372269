"""Files of a question from Discuss: read before the turn begins, as the chat reads them when they are chosen."""

from ...services.errors import EngineError, FileError, ReaderBusy
from ...services.llm import files
from ...tools import sentences
from ...tools.refusals import Refusal

TRIES = 3  # at a place among the readers, of `const.QUEUE_TIMEOUT` each


def read(file_id, held):
    """Read one of them and keep what was read, or why nothing can be.

    :param held: ``held(work)`` runs ``work(turn)`` in a short transaction of the turn that is held
    """
    try:
        file = held(lambda turn: turn._file_to_read(file_id))
    except Refusal as refusal:
        sentence = str(refusal)
        return held(lambda turn: turn._keep_reading(file_id, problem=sentence))
    if file is None:
        return None
    try:
        reading = _read(*file)
    except EngineError as error:
        sentence = error.public_message
        is_lasting = isinstance(error, FileError) and not isinstance(error, ReaderBusy)
        return held(
            lambda turn: turn._keep_reading(
                file_id,
                problem=sentences.translated(turn.env, sentence),
                is_lasting=is_lasting,
            )
        )
    return held(lambda turn: turn._keep_reading(file_id, reading))


def _read(name, content, person):
    for _ in range(TRIES - 1):
        try:
            return files.read(name, content, person)
        except ReaderBusy:
            continue
    return files.read(name, content, person)
