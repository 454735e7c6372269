from . import mcp_server
from . import mcp_server_lock
from . import mcp_server_opt_out
from . import mcp_tool_lock
from . import server_opt_out
