from . import mcp_server_version
from . import mcp_server
