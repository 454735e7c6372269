"""System prompt: what the engine itself adds to an assistant's instructions."""

LANGUAGE = "\n\nThe person's language is "


def with_language(instructions: str, language: str) -> str:
    """The system prompt, last the person's language, so that what is the same for everybody stays a common prefix.

    Models guess from a name or a tool's result otherwise, where a message is written alike in two languages.

    :param language: its English name, ``""`` if nobody knows it
    """
    if not language:
        return instructions
    last = f"{LANGUAGE}{language}. Answer in the language of the question; where that is not clear, in this one."
    return (instructions + last).lstrip()
