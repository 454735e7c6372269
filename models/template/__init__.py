from . import mcp_server
from . import mcp_template
from . import mcp_template_field
