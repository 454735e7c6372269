"""Metadata: where the endpoints are, and what they take (RFC 9728, RFC 8414), and the challenge that leads there."""

from dataclasses import dataclass
from typing import Any

from . import client_secret, const, id_jag, registration

RESOURCE = "/mcp"
ISSUER = "/woow/oauth"
AUTHORIZE = f"{ISSUER}/authorize"
TOKEN = f"{ISSUER}/token"
REVOKE = f"{ISSUER}/revoke"
REGISTER = f"{ISSUER}/register"
WELL_KNOWN = "/.well-known/oauth-protected-resource"  # RFC 9728, 3.1
OF_RESOURCE = WELL_KNOWN + RESOURCE
OF_SERVER = f"/.well-known/oauth-authorization-server{ISSUER}"  # RFC 8414, 3.1


def gateway_in(path: str) -> str:
    """Code of the gateway that a request is for, empty if it is for none.

    :param path: of the request

    >>> gateway_in("/mcp/sales"), gateway_in("/mcp"), gateway_in("/mcp/../web")
    ('sales', '', '')
    """
    before, _, code = path.rpartition("/")
    return code if before == RESOURCE and const.CODE.fullmatch(code) else ""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of one host.

    :ivar base: scheme, host and port, without a slash at the end
    :ivar gateway: code of a gateway, empty for the user's personal one
    """

    base: str
    gateway: str = ""

    @property
    def path(self) -> str:
        """Path that clients call."""
        return f"{RESOURCE}/{self.gateway}" if self.gateway else RESOURCE

    @property
    def resource(self) -> str:
        """Address that clients call, and the audience of their tokens."""
        return self.base + self.path

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

    def of_server(self, takes_assertions: bool = False) -> dict[str, Any]:
        """Metadata of the authorization server (RFC 8414, 2; RFC 9207, 3).

        :param takes_assertions: an identity provider is set up
        """
        grant_types, profiles = registration.GRANT_TYPES, {}
        if takes_assertions:
            grant_types = [*grant_types, id_jag.GRANT_TYPE]
            profiles = {"authorization_grant_profiles_supported": [id_jag.PROFILE]}
        return {
            **profiles,
            "issuer": self.issuer,
            "authorization_endpoint": self.base + AUTHORIZE,
            "token_endpoint": self.base + TOKEN,
            "registration_endpoint": self.base + REGISTER,
            "revocation_endpoint": self.base + REVOKE,
            "scopes_supported": list(const.SCOPES),
            "response_types_supported": registration.RESPONSE_TYPES,
            "response_modes_supported": ["query"],
            "grant_types_supported": grant_types,
            "token_endpoint_auth_methods_supported": list(client_secret.METHODS),
            "revocation_endpoint_auth_methods_supported": list(client_secret.METHODS),
            "client_id_metadata_document_supported": True,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    def challenge(self, error: str = "", scope: str = "") -> str:
        """Value of ``WWW-Authenticate`` that leads a client to the sign-in (RFC 9728, 5.1).

        A stranger must not learn which gateways there are, so any code has metadata, and all scopes are named.

        :param error: of RFC 6750, empty for a request without a token
        :param scope: needed scopes, separated by blanks; empty for those of the address
        """
        scope = scope or " ".join(const.SCOPES if self.gateway else const.TOOLS)
        leads_to = f"{self.base}{WELL_KNOWN}{self.path}"
        values = {"resource_metadata": leads_to, "scope": scope}
        if error:
            values = {"error": error, **values}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in values.items())
