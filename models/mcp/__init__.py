from . import mcp_server
from . import mcp_server_secrets
from . import mcp_server_source
from . import mcp_server_state
from . import mcp_tool
from . import mcp_sign_in
from . import mcp_template
from . import mcp_check
