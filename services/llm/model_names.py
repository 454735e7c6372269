"""Names of the models that a provider offers, as its ``/models`` lists them."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

from .. import text
from ..errors import LlmError, LlmNoApi, ResultTooLarge
from ..net import http
from ..specs import LlmSpec
from . import client, llm_errors
from .connections import Connections

MAX_BYTES = 4 * 1024 * 1024  # of a list; those of large brokers have half of it
MAX_NAMES = 2_000
MAX_NAME = 200  # characters
MAX_LENGTH = 100_000_000  # tokens; nobody means more
# vLLM, OpenRouter and Together, Groq, Mistral and LM Studio; llama.cpp in `meta`, what it runs with before what it may
LENGTHS = ("max_model_len", "context_length", "context_window", "max_context_length")
LENGTHS_OF_META = ("n_ctx", "n_ctx_train")
UNLISTED = (404, 405, 501)  # endpoints without such a list


async def read(spec: LlmSpec, connections: Connections) -> dict[str, int] | None:
    """:return: by name, sorted, how many tokens each model takes in a request, 0 where the list does not say it;
        None where the endpoint has no such list
    :raises LlmError: it cannot be asked, or does not accept the key
    """
    async with client.open_http(spec, connections) as web:
        request = web.build_request(
            "GET",
            f"{spec.base_url}/models",
            headers={**spec.request_headers, "Accept": "application/json"},
        )
        try:
            response = await web.send(request, stream=True)
            if response.status_code in UNLISTED:
                await response.aclose()
                return None
            if response.status_code != 200:
                raise await _refusal(response)
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                await response.aclose()  # its size on the wire says nothing
                return None
            return _listed(bytes(await http.read(response, MAX_BYTES)))
        except ResultTooLarge:
            return None
        except Exception as error:
            raise llm_errors.of_exception(error, spec.api_key) from error


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The names that somebody may have meant.

    >>> nearest("gpt4o-mini", ["gpt-4o-mini", "gpt-4o", "whisper-1"])
    ['gpt-4o-mini', 'gpt-4o']
    """
    return difflib.get_close_matches(name[:MAX_NAME], list(names), n=3, cutoff=0.5)


async def _refusal(response) -> LlmError:
    body = text.one_line((await http.error_body(response)).decode("utf-8", "replace"), 500)
    detail = f"GET {response.url.path}: HTTP {response.status_code} {body}".strip()
    return llm_errors.of_status(response.status_code, body, response.headers, detail)


def _listed(body: bytes) -> dict[str, int]:
    """``{"data": [{"id"}]}``.

    :raises LlmNoApi: it is something else
    """
    try:
        listed = json.loads(body)
        listed = listed["data"] if isinstance(listed, dict) else listed
        found = {text.one_line(str(one["id"]), MAX_NAME): _length(one) for one in listed}
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        start = text.one_line(body[:200].decode("utf-8", "replace"), 200)
        raise LlmNoApi(detail=f"/models answers: {start}") from error
    found.pop("", None)
    return dict(sorted(found.items())[:MAX_NAMES])


def _length(model: dict[str, Any]) -> int:
    """
    >>> _length({"id": "a", "context_length": 8192}), _length({"id": "a", "meta": {"n_ctx_train": 4096}})
    (8192, 4096)
    >>> _length({"id": "a", "context_window": "much"}), _length({"id": "a", "meta": None})
    (0, 0)
    """
    meta = model.get("meta")
    told = [
        *map(model.get, LENGTHS),
        *(map(meta.get, LENGTHS_OF_META) if isinstance(meta, dict) else ()),
    ]
    return next((n for n in told if type(n) is int and 0 < n <= MAX_LENGTH), 0)
