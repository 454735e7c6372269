from . import mcp_tool
from . import mcp_tool_review
