"""A `Ledger` in memory."""

from typing import Any

from ..errors import EngineError
from ..money.counting import Account
from ..specs import ModelRequest, Payer


class MemoryLedger:
    """
    :ivar rows: ``[{"database", "payer", "request", "spent"}]``; None is spent while a request has not ended
    :ivar refusal: raised instead of a reservation
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.refusal: EngineError | None = None

    async def reserve(self, database: str, payer: Payer, request: ModelRequest) -> None:
        if self.refusal:
            raise self.refusal
        self.rows.append({"database": database, "payer": payer, "request": request, "spent": None})

    async def settle(self, database: str, spent: dict[str, Any]) -> None:
        (row,) = (row for row in self.rows if row["request"].key == spent["key"])
        row["spent"] = spent

    def account(self, kind: str = "answer") -> Account:
        return Account(self, kind, Payer(), "")
