from . import mcp_server
from . import mcp_server_environment
from . import mcp_server_save
from . import mcp_template
from . import mcp_template_field
from . import mcp_template_file
