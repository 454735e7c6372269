from services.render import conversation_file

WORDS = conversation_file.Words("Incomplete", "Attached", "Tool", {"success": "done"})


def answer(*parts):
    """An answer as an export has it."""
    return {
        "role": "assistant",
        "author": "Office Assistant",
        "date": "2026-10-05T10:00:00Z",
        "text": "",
        "files": [],
        "records": [],
        "error": None,
        "calls": [],
        "parts": [{"type": kind, "text": said} for kind, said in parts],
    }


def test_what_the_person_said_meanwhile_is_quoted_under_the_heading_of_the_answer():
    exported = {
        "name": "Offer",
        "assistant": "Office Assistant",
        "cloud_service": None,
        "record": None,
        "exported_at": "2026-10-05",
        "incomplete": False,
        "messages": [
            answer(("text_block", "I look."), ("steered", "In euros.\n\nPlease."), ("steered", " "))
        ],
    }
    written = conversation_file.markdown(exported, WORDS)
    assert written.endswith(
        "## Office Assistant · 2026-10-05T10:00:00Z\n\nI look.\n\n> In euros.\n> \n> Please.\n"
    )
