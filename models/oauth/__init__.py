from . import mcp_server
from . import mcp_sign_in
from . import mcp_sign_in_request
