"""Sentences of the engine in a reader's language.

`services/` knows no Odoo and so no translations; what it says passes through here on its way to a person.
"""

from dataclasses import dataclass
from pathlib import Path

from odoo import fields
from odoo.tools import formatLang
from odoo.tools.translate import LazyGettext, code_translations, get_translation

from ..services import errors
from ..services import sentence as engine_sentence
from ..services.errors import EngineError

MODULE = "woow_paas_platform"
LANGUAGES = {path.stem for path in Path(__file__).parents[1].glob("i18n/*.po")}


class SentenceField(fields.Char):
    """A sentence of the engine, kept with its source and values: a `Sentence` for code, translated for readers.

    Text without a source, also of former versions, is translated where it is a source itself.
    """

    def convert_to_cache(self, value, record, validate=True):
        return (
            engine_sentence.dump(value)
            if isinstance(value, str)
            else super().convert_to_cache(value, record)
        )

    def convert_to_record(self, value, record):
        return engine_sentence.load(value) if value else False

    def convert_to_read(self, value, record, use_display_name=True):
        return value and translated(record.env, value)

    def convert_to_write(self, value, record):
        return value and engine_sentence.dump(value)

    def convert_to_export(self, value, record):
        return translated(record.env, value) if value else ""


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of an error.

    :ivar lang: code of a language, None for English
    :ivar manages: manages the server, provider or file that the error is about
    :ivar administers: administers all of them, so may read of our network's inside
    """

    lang: str | None = None
    manages: bool = False
    administers: bool = False

    @classmethod
    def manager(cls, env):
        """The user of `env`, who manages what errors are about."""
        return cls(env.lang, True, env.user.has_group("woow_paas_platform.group_admin"))


def for_reader(error: EngineError, reader: Reader) -> str:
    """The error's sentence in the reader's language, with as much of its inside as the reader may know."""
    if not reader.manages:
        return in_language(reader.lang, error.public_message)
    sentence = in_language(reader.lang, error.full_message())
    return (
        f"{sentence} ({error.network_detail})"
        if error.network_detail and reader.administers
        else sentence
    )


def for_managers(env, sentence: str) -> str:
    """Translate for a person who can mend it, so is not sent to an administrator."""
    return translated(env, errors.for_managers(sentence))


def with_network_detail(env, sentence: str, inside: str) -> str:
    """The sentence, with `inside` in brackets behind it for an administrator."""
    if inside and env.user.has_group("woow_paas_platform.group_admin"):
        return f"{sentence} ({inside})"
    return sentence


def in_language(lang: str | None, sentence: str | LazyGettext) -> str:
    """The sentence in a language; what has no translation stays as it is.

    :param lang: None for English
    """
    if isinstance(sentence, LazyGettext):
        return sentence._translate(lang or "en_US")
    if not isinstance(sentence, engine_sentence.Sentence):
        sentence = engine_sentence.Sentence(sentence)
    return sentence.translated(
        lambda source, values: get_translation(MODULE, lang or "en_US", source, values)
    )


def shown(lang: str | None, value):
    """The result of a call for people: a sentence of the engine translated, anything of a tool as it is.

    :param lang: None for English
    :param value: JSON, or a sentence
    """
    return in_language(lang, value) if isinstance(value, engine_sentence.Sentence) else value


def translated(env, sentence: str) -> str:
    """The sentence in the language of `env`; what has no translation stays as it is."""
    return in_language(env.lang, sentence)


def knows(sentence: str) -> bool:
    """Tell whether the sentence has a source, or is one, so that it can be translated."""
    has_source = isinstance(sentence, engine_sentence.Sentence) and bool(sentence.values)
    return has_source or sentence in code_translations.get_python_translations(MODULE, "zh_TW")


def duration(env, ms: int) -> str:
    """A duration in milliseconds as the client's `formatDuration` writes it: `312 ms`, `1.2 s`, `2 min 5 s`.

    :param ms: milliseconds
    """
    if ms < 1_000:
        return env._("%(ms)s ms", ms=ms)
    if ms < 60_000:
        return env._("%(seconds)s s", seconds=formatLang(env, ms / 1000, digits=1))
    minutes, seconds = divmod(round(ms / 1000), 60)
    return env._("%(minutes)s min %(seconds)s s", minutes=minutes, seconds=seconds)
