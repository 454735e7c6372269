"""Metadata: where the endpoints are, and what they take (RFC 9728, RFC 8414), and the challenge that leads there."""

from dataclasses import dataclass
from typing import Any

from . import const, registration

RESOURCE = "/mcp"
ISSUER = "/woow/oauth"
AUTHORIZE = f"{ISSUER}/authorize"
TOKEN = f"{ISSUER}/token"
REVOKE = f"{ISSUER}/revoke"
REGISTER = f"{ISSUER}/register"
OF_RESOURCE = f"/.well-known/oauth-protected-resource{RESOURCE}"  # RFC 9728, 3.1
OF_SERVER = f"/.well-known/oauth-authorization-server{ISSUER}"  # RFC 8414, 3.1


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of one host.

    :ivar base: scheme, host and port, without a slash at the end
    """

    base: str

    @property
    def resource(self) -> str:
        """Address that clients call, and the audience of their tokens."""
        return self.base + RESOURCE

    @property
    def issuer(self) -> str:
        """Name of the authorization server."""
        return self.base + ISSUER

    def of_resource(self) -> dict[str, Any]:
        """Metadata of the protected resource (RFC 9728, 2)."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": list(const.SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Odoo",
        }

    def of_server(self) -> dict[str, Any]:
        """Metadata of the authorization server (RFC 8414, 2; RFC 9207, 3)."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": self.base + AUTHORIZE,
            "token_endpoint": self.base + TOKEN,
            "registration_endpoint": self.base + REGISTER,
            "revocation_endpoint": self.base + REVOKE,
            "scopes_supported": list(const.SCOPES),
            "response_types_supported": registration.RESPONSE_TYPES,
            "response_modes_supported": ["query"],
            "grant_types_supported": registration.GRANT_TYPES,
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    def challenge(self, error: str = "", scope: str = " ".join(const.TOOLS)) -> str:
        """Value of ``WWW-Authenticate`` that leads a client to the sign-in (RFC 9728, 5.1).

        :param error: of RFC 6750, empty for a request without a token
        :param scope: needed scopes, separated by blanks
        """
        values = {"resource_metadata": self.base + OF_RESOURCE, "scope": scope}
        if error:
            values = {"error": error, **values}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in values.items())
