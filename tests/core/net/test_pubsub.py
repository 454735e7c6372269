"""What Redis and NATS send to who listens, in whatever pieces it comes."""

import pytest

from services.net.pubsub import MAX_LINE, MAX_MESSAGE, BadAnswer, NatsDecoder, RedisDecoder

REDIS = (
    b"+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n:2\r\n"
    b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\na\r\nb\xc3\xa9\r\n$-1\r\n"
)
REDIS_TOLD = [[b"OK"], [b"subscribe", b"c", 1], [2], [b"message", b"c", b"a\r\nb\xc3\xa9"], [b""]]
NATS = b'INFO {"server_id":"x"}\r\nPONG\r\nMSG c 1 3\r\na\r\n\r\nMSG c 1 reply 0\r\n\r\nPING\r\n+OK\r\n'
NATS_TOLD = [
    ("INFO", b'{"server_id":"x"}'),
    ("PONG", b""),
    ("MSG", b"a\r\n"),
    ("MSG", b""),
    ("PING", b""),
    ("+OK", b""),
]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("decoder", "sent", "told"),
    [(RedisDecoder, REDIS, REDIS_TOLD), (NatsDecoder, NATS, NATS_TOLD)],
)
def test_it_is_the_same_in_any_pieces(decoder, sent, told, size):
    decoding, found = decoder(), []
    for start in range(0, len(sent), size):
        found += decoding.feed(sent[start : start + size])
    assert found == told


@pytest.mark.parametrize(
    ("decoder", "sent", "says"),
    [
        (RedisDecoder, b"-WRONGPASS invalid\r\n", "WRONGPASS invalid"),
        (NatsDecoder, b"-ERR 'Authorization Violation'\r\n", "Authorization Violation"),
        (RedisDecoder, b"HTTP/1.1 400 Bad Request\r\n", "protocol of Redis"),
        (NatsDecoder, b"HTTP/1.1 400 Bad Request\r\n", "protocol of NATS"),
        (RedisDecoder, b"*1\r\n*1\r\n:1\r\n", "protocol of Redis"),
        (RedisDecoder, b"*4\r\n", "more than"),
        (RedisDecoder, b"$%d\r\n" % (MAX_MESSAGE + 1), "more than"),
        (NatsDecoder, b"MSG c 1 %d\r\n" % (MAX_MESSAGE + 1), "more than"),
        (RedisDecoder, b"+" + b"a" * (MAX_LINE + 2), "more than"),
        (NatsDecoder, b"INFO " + b"a" * (MAX_LINE + 2), "more than"),
        (RedisDecoder, b":" + b"9" * 5000 + b"\r\n", "number"),
        (NatsDecoder, b"MSG c 1 x\r\n", "number"),
        (NatsDecoder, b"MSG\r\n", "number"),
    ],
)
def test_what_is_refused_or_foreign_ends_the_connection(decoder, sent, says):
    with pytest.raises(BadAnswer, match=says):
        decoder().feed(sent)
