from . import mcp_server
