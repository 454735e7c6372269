import base64

import pytest

from services.llm import files
from services.mcp.discovery.content import read


def encoded(data):
    return base64.b64encode(data).decode()


PNG = encoded(b"\x89PNG\r\n\x1a\n....")
HUGE = encoded(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2)
SOUND = encoded(b"RIFF....WAVEfmt ")
PDF = encoded(b"%PDF-1.7")
PAGE = encoded(b"<html>503 Service Unavailable</html>")


def content(*blocks, **more):
    return read({"content": list(blocks), **more}, llm_cap=24_000, ui_cap=262_144)


def test_text_is_cleaned_and_shown_as_it_is():
    result = content(
        {"type": "text", "text": "\x1b[1m台北 21°C\x1b[0m"}, {"type": "text", "text": "humid"}
    )
    assert result.text == result.display == "台北 21°C\nhumid"
    assert not result.truncated and not result.attachments


def test_long_text_has_head_and_tail():
    lines = "\n".join(f"row {i}" for i in range(3000))
    result = read({"content": [{"type": "text", "text": lines}]}, llm_cap=2_000, ui_cap=10_000)
    assert len(result.text) <= 2_000 and len(result.display) <= 10_000
    assert result.truncated and "row 0" in result.text and "row 2999" in result.text


def test_image_audio_and_blob_become_files_and_a_line():
    result = content(
        {"type": "text", "text": "look"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": SOUND, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "file:///a/../b\u202e.pdf",
                "blob": PDF,
                "mimeType": "application/pdf",
            },
        },
    )
    assert [a["mimetype"] for a in result.attachments] == [
        "image/png",
        "audio/wav",
        "application/pdf",
    ]
    assert [a["name"] for a in result.attachments][::2] == ["image-1.png", "b.pdf"]
    assert result.text.count("\n") == 3 and PNG not in result.text


@pytest.mark.parametrize(
    ("claimed", "data", "mimetype", "said"),
    [
        (
            "image/png",
            encoded(b"\xff\xd8\xff\xe0"),
            "image/jpeg",
            "[image image-1.jpg, image/jpeg, ",
        ),
        ("image/jpg", encoded(b"GIF89a"), "image/gif", "[image image-1.gif, image/gif, "),
        (None, encoded(b"RIFF....WEBPVP8 "), "image/webp", "[image image-1.webp, image/webp, "),
        ("image/png", PAGE, "application/octet-stream", "no picture"),
        ("image/jpeg", PDF, "application/octet-stream", "no picture"),
        ("image/png", "", None, "cannot be read"),
        ("image/png", HUGE, "image/png", "not to the model: it has too many pixels"),
    ],
)
def test_the_content_decides_what_picture_it_is(claimed, data, mimetype, said):
    result = content({"type": "image", "data": data, "mimeType": claimed})
    assert [file["mimetype"] for file in result.attachments] == [mimetype] * bool(mimetype)
    assert said in result.text
    seen = files.pictures_of(result.attachments)
    is_seen = bool(mimetype) and mimetype in files.PICTURES and data != HUGE
    assert [file["mimetype"] for file in seen] == [mimetype] * is_seen


def test_a_resource_is_no_picture_because_its_server_says_so():
    def resource(data, claimed):
        blob = {"uri": "file:///cat.png", "blob": data, "mimeType": claimed}
        return content({"type": "resource", "resource": blob})

    assert resource(PNG, "binary/octet-stream").attachments[0]["mimetype"] == "image/png"
    result = resource(PAGE, "image/png")
    (file,) = result.attachments
    assert (file["name"], file["mimetype"]) == ("cat.png", "application/octet-stream")
    assert "no picture" in result.text and not files.pictures_of(result.attachments)


def test_broken_blocks_cost_nothing_else():
    result = content(
        "nonsense",
        {"type": "image", "data": "%%%", "mimeType": "image/png"},
        {"type": "image", "data": 5},
        {"type": "hologram"},
        {"type": "text"},
        {"type": "resource", "resource": []},
        {"type": "text", "text": "fine"},
    )
    assert result.text.endswith("fine") and not result.attachments


def test_resource_text_and_links():
    result = content(
        {"type": "resource", "resource": {"uri": "note://1", "text": "remember"}},
        {"type": "resource_link", "uri": "https://example.com/r", "name": "report"},
    )
    assert result.text == "[resource note://1]\nremember\n[link] report <https://example.com/r>"


def test_structured_content():
    data = {"temp": 21, "city": "台北"}
    assert content(structuredContent=data).display == data
    assert "台北" in content(structuredContent=data).text
    assert (
        content(
            {"type": "text", "text": '{"city": "台北", "temp": 21}'}, structuredContent=data
        ).display
        == data
    )
    assert content({"type": "text", "text": "warm"}, structuredContent=data).display == {
        "text": "warm",
        "structured": data,
    }


def test_result_without_content():
    assert read({}, llm_cap=10, ui_cap=10).text == ""
    assert read({"content": "text"}, llm_cap=10, ui_cap=10).text == ""
