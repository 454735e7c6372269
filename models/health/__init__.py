from . import cloud_service
from . import mcp_server
from . import mcp_server_process
from . import mcp_server_state
