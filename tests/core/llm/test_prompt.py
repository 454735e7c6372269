"""What the engine adds to an assistant's instructions."""

from services.llm.transcript import with_language


def test_the_language_stands_last_and_instructions_stay_a_common_prefix():
    said = [with_language("Be kind.", name) for name in ("French / Français", "English (US)")]
    assert all(one.startswith("Be kind.\n\n") for one in said)
    assert "French / Français" in said[0]


def test_instructions_may_be_empty():
    assert with_language("", "English (US)").startswith("The person's language is English (US).")


def test_an_unknown_language_is_not_mentioned():
    assert with_language("Be kind.", "") == "Be kind."
