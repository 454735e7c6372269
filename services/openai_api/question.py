"""Request of a chat completion, as far as an assistant answers it.

https://platform.openai.com/docs/api-reference/chat/create
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_MESSAGES = 200
MAX_CHARS = 400_000  # characters of all messages
SYSTEM = ("system", "developer")
ROLES = (*SYSTEM, "user", "assistant")

# Settings of the model are the assistant's own, so they are not looked at. These change what an answer is.
REFUSED = {
    "tools": "The assistant has its own tools; those of a client cannot be used. Leave out “tools”.",
    "functions": "The assistant has its own tools; those of a client cannot be used. Leave out “functions”.",
    "logprobs": "Log probabilities are not available. Leave out “logprobs”.",
    "audio": "Answers are text. Leave out “audio”.",
}
TEXT_PARTS = ("text", "input_text", "output_text")
PICTURE_PARTS = ("image_url", "input_image")
DATA, BASE64 = "data:", ";base64"


class BadRequest(ValueError):
    """Refusal of a request.

    :ivar param: name of the field that is wrong, or None
    :ivar code: stable, for programs
    """

    def __init__(self, message: str, param: str | None = None, code: str = "invalid_value"):
        super().__init__(message)
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """
    :ivar model: name that the client gives the assistant
    :ivar prompt: the last message, of the user
    :ivar earlier: messages before it as ``{"role", "content"}``, with the roles system, user and assistant
    :ivar pictures: contents of pictures, of which the messages have the names, see `picture_name`
    :ivar has_usage: whether a stream ends with the numbers of tokens
    :ivar service: id of the cloud service that the question is about, or None
    """

    model: str
    prompt: str
    earlier: tuple[dict[str, str], ...]
    pictures: tuple[bytes, ...]
    is_stream: bool
    has_usage: bool
    service: int | None

    @classmethod
    def plain(cls, prompt: str) -> "ChatRequest":
        """A question alone."""
        return cls("", prompt, (), (), is_stream=False, has_usage=False, service=None)


def read(body: Mapping[str, Any]) -> ChatRequest:
    """Read the JSON body of a request.

    :raises BadRequest: it is not one, or asks for what an assistant cannot do

    >>> read({"model": "helper-1", "messages": [{"role": "user", "content": "Hello"}]}).prompt
    'Hello'
    """
    model = model_of(body)
    _check_options(body)
    pictures: list[bytes] = []
    said = [
        message(one, f"messages[{n}]", pictures) for n, one in enumerate(listed(body, "messages"))
    ]
    prompt, earlier = asked_last(said, "messages")
    stream_options = body.get("stream_options")
    if not isinstance(stream_options, dict | None):
        raise BadRequest("“stream_options” must be an object.", "stream_options")
    return ChatRequest(
        model=model,
        prompt=prompt,
        earlier=earlier,
        pictures=tuple(pictures),
        is_stream=flag(body, "stream"),
        has_usage=flag(stream_options or {}, "include_usage"),
        service=service(body),
    )


def model_of(body: Mapping[str, Any]) -> str:
    """Name of the assistant that is asked, from the `body` of a request."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise BadRequest("“model” must be the id of an assistant, see GET /v1/models.", "model")
    return model


def listed(body: Mapping[str, Any], name: str) -> list[Any]:
    """List of messages in the field `name` of the `body`, neither empty nor too long."""
    messages = body.get(name)
    if not isinstance(messages, list) or not messages:
        raise BadRequest(f"“{name}” must be a list of at least one message.", name)
    if len(messages) > MAX_MESSAGES:
        raise BadRequest(f"At most {MAX_MESSAGES} messages can be sent.", name, "too_many_messages")
    return messages


def asked_last(said: Sequence[dict[str, str]], name: str) -> tuple[str, tuple[dict[str, str], ...]]:
    """Split what the client sends into the question and the messages before it.

    :param said: messages as of `message`, the question last
    :param name: of the field that has them
    """
    if sum(len(one["content"]) for one in said) > MAX_CHARS:
        raise BadRequest(
            f"The messages can have at most {MAX_CHARS} characters.", name, "string_too_long"
        )
    *earlier, last = said
    if last["role"] != "user" or not last["content"].strip():
        raise BadRequest("The last message must be one of the user, with text.", name)
    return last["content"].strip(), tuple(one for one in earlier if one["content"].strip())


def refuse(body: Mapping[str, Any], refused: Mapping[str, str]) -> None:
    """Refuse fields that change what an answer is.

    :param refused: a sentence for each
    """
    for name, sentence in refused.items():
        if body.get(name):
            raise BadRequest(sentence, name, "unsupported_parameter")


def _check_options(body):
    refuse(body, REFUSED)
    if body.get("n") not in (None, 1):
        raise BadRequest("Only one answer is given: leave out “n”.", "n", "unsupported_value")
    if body.get("modalities") not in (None, ["text"]):
        raise BadRequest("Only text is supported.", "modalities", "unsupported_value")
    wanted = body.get("response_format")
    if wanted is not None and (not isinstance(wanted, dict) or wanted.get("type") != "text"):
        raise BadRequest(
            "Answers are text: leave out “response_format”.", "response_format", "unsupported_value"
        )


def picture_name(number: int) -> str:
    """Name of the picture of this number in a request, from 1."""
    return f"picture-{number}"


def message(sent: Any, param: str, pictures: list[bytes]) -> dict[str, str]:
    """Message of a client as ``{"role", "content"}``, with the roles system, user and assistant.

    :param param: place of the message in the request
    :param pictures: those of the request so far, gets those of the message
    """
    if not isinstance(sent, dict):
        raise BadRequest("Each message must be an object.", param)
    role = sent.get("role")
    if role not in ROLES:
        raise BadRequest(f"The role must be one of {', '.join(ROLES)}.", f"{param}.role")
    if sent.get("tool_calls") or sent.get("function_call"):
        raise BadRequest(
            "Messages with calls of a client's tools cannot be used.", param, "unsupported_value"
        )
    return {
        "role": "system" if role in SYSTEM else role,
        "content": _text(sent.get("content"), param, pictures if role == "user" else None),
    }


def _text(content, param, pictures):
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list) or len(content) > MAX_MESSAGES:
        raise BadRequest("The content must be text or a list of text parts.", f"{param}.content")
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind in PICTURE_PARTS and pictures is not None:
            pictures.append(_picture(part, f"{param}.content"))
            texts.append(f"[{picture_name(len(pictures))}]")
        else:
            raise BadRequest(
                "Only text can be sent, and pictures of the user.",
                f"{param}.content",
                "unsupported_content",
            )
    return "\n".join(texts)


def _picture(part, param):
    """Bytes of a picture that stands in the request itself; no address is asked for one."""
    given = part.get("image_url")
    url = given.get("url") if isinstance(given, dict) else given
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.lower().startswith(DATA) or not head.lower().endswith(BASE64):
        raise BadRequest(
            "Send pictures as “data:image/png;base64,…”. None is fetched from the web.",
            param,
            "invalid_image_url",
        )
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The picture is not valid base64.", param, "invalid_base64") from error


def flag(values: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Switch `name` among the `values`, `default` where it is left out."""
    value = values.get(name)
    if not isinstance(value, bool | None):
        raise BadRequest(f"“{name}” must be true or false.", name)
    return default if value is None else value


def service(body: Mapping[str, Any]) -> int | None:
    """Id of the cloud service that the client names in the metadata of the `body`, whose values are text."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict | None):
        raise BadRequest("“metadata” must be an object.", "metadata")
    given = (metadata or {}).get("cloud_service_id")
    if given is None:
        return None
    if not isinstance(given, str) or not given.isascii() or not given.isdigit() or len(given) > 9:
        raise BadRequest(
            "“cloud_service_id” must be the number of a cloud service, as text.",
            "metadata.cloud_service_id",
        )
    return int(given)
