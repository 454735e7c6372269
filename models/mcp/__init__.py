from . import mcp_server
from . import mcp_server_discovery
from . import mcp_server_api
from . import mcp_server_actions
from . import mcp_check
from . import request_slot
from . import mcp_tool
from . import mcp_tool_api
