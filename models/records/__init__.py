from . import base
from . import ai_assistant
from . import ai_turn
from . import discuss_channel
from . import rehearsed
from . import res_users
from . import tool_call
from . import tool_grant
