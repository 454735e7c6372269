from . import mcp_server
from . import server_credential
