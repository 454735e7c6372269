import base64

from services.mcp.discovery.content import read

PNG = base64.b64encode(b"\x89PNG....").decode()


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
        {"type": "audio", "data": PNG, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "file:///a/../b\u202e.pdf",
                "blob": PNG,
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
