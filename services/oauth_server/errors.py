"""Refusals of the authorization server, by the codes of OAuth."""

from typing import Any

STATUS = {"invalid_client": 401, "temporarily_unavailable": 429}  # any other is 400


class OAuthError(Exception):
    """A refusal to a client.

    :param code: of RFC 6749, 7591 or 8707
    :param description: English sentence for the client's developer
    :param retry_after: s, None where trying again does not help
    """

    def __init__(self, code: str, description: str, *, retry_after: int | None = None):
        super().__init__(description)
        self.code = code
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        """Status of HTTP."""
        return STATUS.get(self.code, 400)

    def body(self) -> dict[str, Any]:
        """JSON of the answer (RFC 6749, 5.2)."""
        return {"error": self.code, "error_description": str(self)}
