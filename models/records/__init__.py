from . import ai_turn
from . import res_users
from . import tool_call
from . import tool_grant
