"""Vectors of texts, as an OpenAI-compatible endpoint gives them (``POST /embeddings``)."""

import asyncio
import json
import math
from array import array
from collections.abc import Sequence
from dataclasses import replace

from .. import large, metrics, text
from ..errors import LlmError, LlmNoEmbeddings, ResultTooLarge
from ..llm import client, llm_errors
from ..llm.answer import Answer, counted
from ..llm.connections import Connections
from ..money.counting import Account
from ..net import http
from ..specs import LlmSpec

MAX_TEXTS = 64  # of one request
MAX_TEXT = 1_500  # characters; small models read 256 to 512 tokens
MAX_SIZE = 4_096  # numbers of a vector; the largest well-known model has 3 072
MAX_BYTES = 8 * 1024 * 1024  # of an answer: 64 vectors of 4 096 numbers as text


async def embed(
    spec: LlmSpec,
    texts: Sequence[str],
    connections: Connections,
    timeout: float,
    account: Account,
) -> list[array]:
    """
    :param texts: `MAX_TEXTS` at most
    :param timeout: seconds
    :param account: counts the request
    :return: a vector of length 1 for each of them, all of one size
    :raises LlmError: the endpoint cannot be asked, or answers something else
    :raises EngineError: the request must not be sent
    """
    outcome = "cancelled"
    texts = [one[:MAX_TEXT] or " " for one in texts]
    answer, asked = Answer(), replace(spec, model=spec.embedding_model, max_tokens=0)
    sending = account.sending(asked, sum(map(text.tokens, texts)), answer)
    try:
        async with sending(False):
            made, answer.usage = await _embed(spec, texts, connections, timeout)
        outcome = "ok"
    except LlmError as error:
        outcome = error.code
        raise
    finally:
        metrics.add("embedding_requests", outcome=outcome)
    return made


async def _embed(
    spec: LlmSpec, texts: Sequence[str], connections: Connections, timeout: float
) -> tuple[list[array], dict[str, int]]:
    body = {
        "model": spec.embedding_model,
        "input": texts,
        "encoding_format": "float",
    }
    try:
        async with asyncio.timeout(timeout), client.open_http(spec, connections) as web:
            request = web.build_request(
                "POST",
                f"{spec.base_url}/embeddings",
                headers={**spec.request_headers, "Accept": "application/json"},
                json=body,
            )
            response = await web.send(request, stream=True)
            if response.status_code != 200:
                said = (await http.error_body(response)).decode("utf-8", "replace")
                said = text.one_line(said, 500)
                detail = f"POST /embeddings: HTTP {response.status_code} {said}".strip()
                raise llm_errors.of_status(response.status_code, said, response.headers, detail)
            await http.check_encoding(response)
            return await large.beside(
                _vectors, bytes(await http.read(response, MAX_BYTES)), len(texts)
            )
    except ResultTooLarge as error:
        raise LlmNoEmbeddings(detail=error.detail) from error
    except Exception as error:
        raise llm_errors.of_exception(error, spec.api_key) from error


async def size(spec: LlmSpec, connections: Connections, timeout: float, account: Account) -> int:
    """Number of dimensions of the model's vectors.

    :raises LlmError: see `embed`
    """
    (vector,) = await embed(spec, ["ready"], connections, timeout, account)
    return len(vector)


def _vectors(body: bytes, count: int) -> tuple[list[array], dict[str, int]]:
    """Vectors of ``{"data": [{"index", "embedding"}], "usage": {"prompt_tokens"}}``, and the provider's count.

    :raises LlmNoEmbeddings: it is something else
    """
    try:
        read = json.loads(body)
        data = sorted(read["data"], key=lambda one: one.get("index", 0))
        vectors = [_unit(one["embedding"]) for one in data]
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        start = text.one_line(body[:200].decode("utf-8", "replace"), 200)
        raise LlmNoEmbeddings(detail=f"/embeddings answers: {start}") from error
    if len(vectors) != count or len({len(vector) for vector in vectors}) != 1:
        raise LlmNoEmbeddings(detail=f"/embeddings: {len(vectors)} vectors for {count} texts")
    told = read.get("usage")
    tokens = counted(told.get("prompt_tokens")) if isinstance(told, dict) else 0
    return vectors, {"input_tokens": tokens} if tokens else {}


def _unit(numbers: list[float]) -> array:
    if not 0 < len(numbers) <= MAX_SIZE:
        raise ValueError(f"a vector of {len(numbers)} numbers")
    length = math.hypot(*numbers)
    if not 0 < length < math.inf:
        raise ValueError("a vector without direction")
    return array("f", [number / length for number in numbers])
