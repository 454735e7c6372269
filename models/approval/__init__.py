from . import mcp_tool_direct
from . import approval_rule
from . import ai_assistant
from . import tool_grant
from . import tool_call
from . import mcp_tool
from . import toolbox_operation
from . import ai_turn
