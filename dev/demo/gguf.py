"""Reads the metadata of a GGUF model file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md)."""

import struct
from pathlib import Path
from typing import BinaryIO

_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}


def text_of(model: Path, key: str) -> str:
    """The string that the model's metadata has under ``key``; ``KeyError`` when it has none."""
    with model.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError(f"{model.name} is not a GGUF file")
        _version, _tensors, entries = struct.unpack("<IQQ", file.read(20))
        for _ in range(entries):
            name = _string(file).decode()
            kind = _scalar(file, "I")
            if name == key and kind == _STRING:
                return _string(file).decode()
            _skip(file, kind)
    raise KeyError(key)


def _scalar(file: BinaryIO, code: str) -> int:
    return int(struct.unpack(f"<{code}", file.read(struct.calcsize(code)))[0])


def _string(file: BinaryIO) -> bytes:
    return file.read(_scalar(file, "Q"))


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        file.seek(_scalar(file, "Q"), 1)
    elif kind == _ARRAY:
        item = _scalar(file, "I")
        count = _scalar(file, "Q")
        if item in _SCALARS:
            file.seek(struct.calcsize(_SCALARS[item]) * count, 1)
            return
        for _ in range(count):
            _skip(file, item)
    else:
        file.seek(struct.calcsize(_SCALARS[kind]), 1)
